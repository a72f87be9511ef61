//! Sixteen coefficients, or eight Keccak states, in 512-bit registers.

mod keccak;
mod keccak_one;
mod lanes;
mod memory;
mod unpack;

use core::arch::x86_64::*;

use super::{first, first_mut, kernels};
use crate::kernels::small::ByteLanes;
use lanes::I32x16;

/// A module of its own, so that nothing else can make the tokens.
mod token {
    use core::arch::x86_64::{__cpuid, CpuidResult};
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use crate::backend::avx2::Avx2;

    // Each feature that the entry points have, implied ones too (a test compares). DQ is left out
    // on purpose: with it LLVM turns the Montgomery product's multiplication by a constant, whose
    // low half alone is used, into `vpmullq`, which costs three multiplications.
    cpufeatures::new!(cpu_has_avx512, "fma", "avx512f", "avx512bw", "avx512vl");

    /// An answer of CPUID, read once: a hypervisor may take long.
    struct Asked(AtomicU8);

    impl Asked {
        const UNKNOWN: u8 = 2;
        const fn new() -> Self {
            Asked(AtomicU8::new(Self::UNKNOWN))
        }
        fn get(&self, ask: impl FnOnce() -> bool) -> bool {
            let mut answer = self.0.load(Relaxed);
            if answer == Self::UNKNOWN {
                answer = ask().into();
                self.0.store(answer, Relaxed);
            }
            answer == 1
        }
    }

    fn cpuid(leaf: u32) -> CpuidResult {
        #[allow(unused_unsafe)] // Safe since Rust 1.94.
        // SAFETY: every x86-64 CPU has CPUID.
        unsafe {
            __cpuid(leaf)
        }
    }

    /// F16C, which comes with AVX-512 F and which `cpufeatures` does not know.
    fn cpu_has_f16c() -> bool {
        static F16C: Asked = Asked::new();
        F16C.get(|| cpuid(1).ecx >> 29 & 1 == 1)
    }

    /// Proof that this CPU has AVX-512 F, BW and VL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Avx512(Avx2);

    impl Avx512 {
        pub(crate) fn detect() -> Option<Self> {
            let has_avx512 =
                cpu_has_avx512::get() && (cfg!(target_feature = "f16c") || cpu_has_f16c());
            Avx2::detect().filter(|_| has_avx512).map(Avx512)
        }

        /// The token, for a function that is called by a pointer and so cannot have it as an argument.
        ///
        /// # Safety
        /// The pointer came from a token.
        #[inline(always)]
        pub(super) unsafe fn of_pointer() -> Self {
            // SAFETY: that token has this one within.
            Avx512(unsafe { Avx2::of_pointer() })
        }

        /// Whether Intel made this CPU.
        pub(in crate::backend) fn is_intel(self) -> bool {
            static INTEL: Asked = Asked::new();
            // "GenuineIntel", of which EBX has the beginning.
            INTEL.get(|| cpuid(0).ebx == u32::from_le_bytes(*b"Genu"))
        }

        #[inline(always)]
        pub(in crate::backend) fn avx2(self) -> Avx2 {
            self.0
        }
    }
}
pub(crate) use token::Avx512;

impl Avx512 {
    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

kernels!(
    Avx512,
    I32x16,
    U8x64,
    8,
    target_feature(enable = "avx512f,avx512bw,popcnt,bmi1,bmi2")
);

/// Calls intrinsics on registers, none that takes a pointer: those are in [`memory`]. With a type,
/// puts the result and the token in a value of it.
macro_rules! avx512 {
    ($token:expr, $expression:expr) => {{
        let _: $crate::backend::avx512::Avx512 = $token;
        // SAFETY: the token proves AVX-512, which is all that an intrinsic without a pointer asks.
        unsafe { $expression }
    }};
    ($token:expr, $type:ident, $expression:expr) => {
        $type(avx512!($token, $expression), $token)
    };
}
use avx512;

/// 64 bytes and the token.
#[derive(Clone, Copy)]
pub(crate) struct U8x64(__m512i, Avx512);

impl ByteLanes for U8x64 {
    type Token = Avx512;
    const COUNT: usize = 64;
    #[inline(always)]
    fn zero(token: Avx512) -> Self {
        avx512!(token, U8x64, _mm512_setzero_si512())
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let more = memory::load(self.1, first::<_, 64>(from));
        avx512!(self.1, U8x64, _mm512_add_epi8(self.0, more))
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        memory::store(self.1, self.0, first_mut::<_, 64>(to));
    }
}
