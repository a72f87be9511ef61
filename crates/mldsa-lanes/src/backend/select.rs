//! Which backend a key uses: what the CPU has, less what was taken away.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
use super::{Engine, portable, with_engine};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::kernels::keccak::Permutation;

/// Which compiled kernels a key uses. [`Backend::detect`] is the default of every constructor; the
/// others are for tests and measurements.
///
/// `portable` is on every CPU; `avx2`, `avx512` (F and BW) and `avx512-vbmi` (with VBMI and
/// VBMI2) on x86-64; `neon` and `neon-sha3` (with the SHA3 extension)
/// on 64-bit Arm. The backends that need a [`Feature`] can be taken away, by [`Backend::disable`] or
/// by the environment ([`Backend::from_environment`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Portable(portable::Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi(avx512::Avx512Vbmi),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(neon::Neon),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    NeonSha3(neon::NeonSha3),
}

/// A CPU feature, or a group of them, that backends can be denied. Every name is known on every
/// architecture, so that one setting serves all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// `avx2`: without it no x86-64 backend but the portable one is left.
    Avx2,
    /// `avx512`: F and BW.
    Avx512,
    /// `vbmi`: AVX-512 VBMI and VBMI2.
    Vbmi,
    /// `neon`: without it no Arm backend but the portable one is left.
    Neon,
    /// `sha3`: Arm's SHA3 extension.
    Sha3,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 5] = [
        Feature::Avx2,
        Feature::Avx512,
        Feature::Vbmi,
        Feature::Neon,
        Feature::Sha3,
    ];

    /// `avx2`, `avx512`, `vbmi`, `neon` or `sha3`.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Avx2 => "avx2",
            Feature::Avx512 => "avx512",
            Feature::Vbmi => "vbmi",
            Feature::Neon => "neon",
            Feature::Sha3 => "sha3",
        }
    }

    /// The feature of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl Backend {
    /// Plain Rust, on every CPU.
    pub fn portable() -> Self {
        Backend(Kind::Portable(portable::Portable))
    }

    /// The backend of new keys: the one that the environment names (feature `std`, see
    /// [`Backend::from_environment`]), else the fastest of [`Backend::available`].
    ///
    /// The first call asks the CPU and the environment; later ones read one variable in memory. A
    /// word in the environment that names nothing, or nothing that this CPU can run, changes
    /// nothing, and the first call says so in one line on standard error.
    pub fn detect() -> Self {
        let mut state = settled();
        loop {
            if let Some(chosen) = Self::of_code(state >> CHOSEN & CODE) {
                return chosen;
            }
            let named = Self::of_code(state >> NAMED & CODE).filter(|named| named.left(state));
            let chosen = named
                .or_else(|| Self::present().filter(|backend| backend.left(state)).last())
                .unwrap_or(Self::portable());
            match STATE.compare_exchange(state, state | chosen.code() << CHOSEN, Relaxed, Relaxed) {
                Ok(_) => return chosen,
                Err(newer) => state = newer,
            }
        }
    }

    /// The backends that this CPU can run and that nobody took away, slowest first. `portable` is
    /// always the first.
    pub fn available() -> impl Iterator<Item = Self> {
        let state = settled();
        Self::present().filter(move |backend| backend.left(state))
    }

    /// The backend of that name, if it is [available](Backend::available).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::available().find(|backend| backend.name() == name)
    }

    /// From now on, in the whole process, acts as if the CPU lacked `feature`: no backend that needs
    /// it is detected, listed or found by name. Keys that exist keep theirs. It cannot be undone.
    pub fn disable(feature: Feature) {
        settled();
        let update = |state| Some((state | feature.bit()) & !(CODE << CHOSEN));
        let _ = STATE.fetch_update(Relaxed, Relaxed, update);
    }

    /// `portable`; `avx2`, `avx512` or `avx512-vbmi`; `neon` or `neon-sha3`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vbmi(_) => "avx512-vbmi",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::Neon(_) => "neon",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::NeonSha3(_) => "neon-sha3",
        }
    }

    /// The permutation of one Keccak state in this backend.
    pub(crate) fn permutation(self) -> Permutation {
        with_engine!(self, e => e.permutation())
    }

    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// What the CPU can run, slowest first.
    pub(super) fn present() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let fast = [
            avx2::Avx2::detect().map(Kind::Avx2),
            avx512::Avx512::detect().map(Kind::Avx512),
            avx512::Avx512Vbmi::detect().map(Kind::Avx512Vbmi),
        ];
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        let fast = [
            neon::Neon::detect().map(Kind::Neon),
            neon::NeonSha3::detect().map(Kind::NeonSha3),
        ];
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_endian = "little")
        )))]
        let fast = [];
        core::iter::once(Self::portable()).chain(fast.into_iter().flatten().map(Backend))
    }

    /// A number from 1 to 15 for the state word; which one does not matter outside it.
    pub(super) fn code(self) -> u32 {
        match self.0 {
            Kind::Portable(_) => 1,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => 2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(_) => 3,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vbmi(_) => 4,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::Neon(_) => 2,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::NeonSha3(_) => 3,
        }
    }

    /// The backend of that number. It asks for the token anew, which costs one read: a number is no
    /// proof of CPU features.
    fn of_code(code: u32) -> Option<Self> {
        match code {
            1 => Some(Self::portable()),
            #[cfg(target_arch = "x86_64")]
            2 => avx2::Avx2::detect().map(Kind::Avx2).map(Backend),
            #[cfg(target_arch = "x86_64")]
            3 => avx512::Avx512::detect().map(Kind::Avx512).map(Backend),
            #[cfg(target_arch = "x86_64")]
            4 => avx512::Avx512Vbmi::detect()
                .map(Kind::Avx512Vbmi)
                .map(Backend),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            2 => neon::Neon::detect().map(Kind::Neon).map(Backend),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            3 => neon::NeonSha3::detect().map(Kind::NeonSha3).map(Backend),
            _ => None,
        }
    }

    /// The bits of the features that the backend needs.
    fn needs(self) -> u32 {
        match self.0 {
            Kind::Portable(_) => 0,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => Feature::Avx2.bit(),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(_) => Feature::Avx2.bit() | Feature::Avx512.bit(),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512Vbmi(_) => {
                Feature::Avx2.bit() | Feature::Avx512.bit() | Feature::Vbmi.bit()
            }
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::Neon(_) => Feature::Neon.bit(),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kind::NeonSha3(_) => Feature::Neon.bit() | Feature::Sha3.bit(),
        }
    }

    /// Whether no feature that the backend needs was taken away.
    pub(super) fn left(self, state: u32) -> bool {
        self.needs() & state == 0
    }
}

/// The process's choices in one word, so that no thread sees half of a change: a bit for each
/// feature taken away, then these. Relaxed order is enough, as nothing else is published with it.
static STATE: AtomicU32 = AtomicU32::new(0);
/// Set once the environment has been read.
const SETTLED: u32 = 1 << 31;
/// Where the code of the backend that the environment names begins; 0: none.
pub(super) const NAMED: u32 = 16;
/// Where the code of the backend in use begins; 0: not chosen yet.
const CHOSEN: u32 = 20;
/// A code's bits.
const CODE: u32 = 15;

/// The state, after the environment has had its say.
fn settled() -> u32 {
    let state = STATE.load(Relaxed);
    if state & SETTLED != 0 {
        return state;
    }
    #[cfg(feature = "std")]
    let wishes = super::environment::Wishes::read();
    #[cfg(feature = "std")]
    let bits = wishes.bits();
    #[cfg(not(feature = "std"))]
    let bits = 0;
    match STATE.compare_exchange(state, state | bits | SETTLED, Relaxed, Relaxed) {
        Ok(_) => {
            #[cfg(feature = "std")]
            wishes.complain();
            state | bits | SETTLED
        }
        // Another thread read the environment first; nothing else writes before that.
        Err(newer) => newer,
    }
}
