//! Which backend a key uses: what the CPU has, less what was taken away.

use core::ffi::CStr;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
use super::{Kernels, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::kernels::keccak::Permutation;

/// Which compiled kernels a key uses. [`Backend::detect`] is the default of every constructor; the
/// others are for tests and measurements.
///
/// `portable` is on every CPU; `avx2` and `avx512` (F, BW and VL) on x86-64; `neon` and `neon-sha3` (with the SHA3 extension) on 64-bit Arm, little-endian.
/// The backends that need a [`Feature`] can be taken away, by [`Backend::disable_for_process`] or, where the
/// program asks for it, by the environment (`Backend::use_environment`, feature `std`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Kind);

/// Writes what differs from backend to backend from one table, slowest first: the name, the token
/// and the features that can be taken away. Neither a code nor a name proves a CPU feature, so what
/// is found by one asks for the token anew, which costs one read.
macro_rules! backends {
    ($(#[$only:meta] $kind:ident($token:ty) $name:literal needs $($feature:ident)+;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            Portable(portable::Portable),
            $(#[$only] $kind($token),)*
        }

        /// Numbers from 1 to 15 for the state word; which is whose does not matter outside it.
        #[repr(u32)]
        enum Code {
            Portable = 1,
            $(#[$only] $kind,)*
        }

        impl Backend {
            /// `portable`; `avx2` or `avx512`; `neon` or `neon-sha3`.
            pub fn name(self) -> &'static str {
                match self.0 {
                    Kind::Portable(_) => "portable",
                    $(#[$only] Kind::$kind(_) => $name,)*
                }
            }

            /// The same for the C interfaces, which cannot keep a copy without a lock.
            #[doc(hidden)]
            pub fn c_name(self) -> &'static CStr {
                let name = match self.0 {
                    Kind::Portable(_) => "portable\0",
                    $(#[$only] Kind::$kind(_) => concat!($name, "\0"),)*
                };
                CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default()
            }

            /// The backends that the CPU can run, slowest first.
            fn present() -> impl Iterator<Item = Self> {
                let kinds = [
                    Some(Kind::Portable(portable::Portable)),
                    $(#[$only] <$token>::detect().map(Kind::$kind),)*
                ];
                kinds.into_iter().flatten().map(Backend)
            }

            fn code(self) -> u32 {
                match self.0 {
                    Kind::Portable(_) => Code::Portable as u32,
                    $(#[$only] Kind::$kind(_) => Code::$kind as u32,)*
                }
            }

            fn of_code(code: u32) -> Option<Self> {
                let kind = match code {
                    code if code == Code::Portable as u32 => Some(Kind::Portable(portable::Portable)),
                    $(#[$only] code if code == Code::$kind as u32 => <$token>::detect().map(Kind::$kind),)*
                    _ => None,
                };
                kind.map(Backend)
            }

            /// The bits of the features that the backend needs.
            fn needs(self) -> u32 {
                match self.0 {
                    Kind::Portable(_) => 0,
                    $(#[$only] Kind::$kind(_) => 0 $(| Feature::$feature.bit())+,)*
                }
            }
        }
    };
}

backends! {
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2) "avx2" needs Avx2;
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512) "avx512" needs Avx2 Avx512;
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(neon::Neon) "neon" needs Neon;
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    NeonSha3(neon::NeonSha3) "neon-sha3" needs Neon Sha3;
}

/// Evaluates `$body` with `$engine` bound to the backend's engine: one copy of the scheme each.
macro_rules! with_engine {
    (@ $engine:ident $body:expr) => {{
        #[cfg(mldsa_shares)]
        let $engine = crate::backend::shares::Timed($engine);
        $body
    }};
    ($backend:expr, $engine:ident => $body:expr) => {
        match $backend.kind() {
            crate::backend::Kind::Portable($engine) => with_engine!(@ $engine $body),
            #[cfg(target_arch = "x86_64")]
            crate::backend::Kind::Avx2($engine) => with_engine!(@ $engine $body),
            #[cfg(target_arch = "x86_64")]
            crate::backend::Kind::Avx512($engine) => with_engine!(@ $engine $body),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            crate::backend::Kind::Neon($engine) => with_engine!(@ $engine $body),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            crate::backend::Kind::NeonSha3($engine) => with_engine!(@ $engine $body),
        }
    };
}
pub(crate) use with_engine;

/// A CPU feature, or a group of them, that backends can be denied. Every name is known on every
/// architecture, so that one setting serves all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// `avx2`: without it no x86-64 backend but the portable one is left.
    Avx2,
    /// `avx512`: F, BW and VL.
    Avx512,
    /// `neon`: without it no Arm backend but the portable one is left.
    Neon,
    /// `sha3`: Arm's SHA3 extension.
    Sha3,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 4] = [Feature::Avx2, Feature::Avx512, Feature::Neon, Feature::Sha3];

    /// `avx2`, `avx512`, `neon` or `sha3`.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Avx2 => "avx2",
            Feature::Avx512 => "avx512",
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
    /// [`Backend::portable`] for constants.
    pub(crate) const PORTABLE: Self = Backend(Kind::Portable(portable::Portable));

    /// Plain Rust, on every CPU.
    pub const fn portable() -> Self {
        Self::PORTABLE
    }

    /// The backend of new keys: the fastest of [`Backend::available`], or the one that the
    /// environment names if the program asked it (`Backend::use_environment`).
    ///
    /// The first call asks the CPU; later ones read one variable in memory.
    pub fn detect() -> Self {
        Self::of_code(state::get() >> CHOSEN & CODE).unwrap_or_else(|| {
            let mut chosen = Self::portable();
            state::update(|state| {
                let named = Self::of_code(state >> NAMED & CODE).filter(|named| named.left(state));
                chosen = named
                    .or_else(|| Self::present().filter(|backend| backend.left(state)).last())
                    .unwrap_or(Self::portable());
                state & !(CODE << CHOSEN) | chosen.code() << CHOSEN
            });
            chosen
        })
    }

    /// The backends that this CPU can run and that nobody took away, slowest first. `portable` is
    /// always the first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::left_of(state::get())
    }

    /// The backend of that name, if it is [available](Backend::available).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::available().find(|backend| backend.name() == name)
    }

    /// **For the whole process, and it cannot be undone**: from now on acts as if the CPU lacked `feature`: no backend that needs
    /// it is detected, listed or found by name, and a key that is made with a `Backend` saved from
    /// before gets [`Backend::detect`]'s instead. Keys that exist keep theirs, and so does what is
    /// derived from them.
    pub fn disable_for_process(feature: Feature) {
        Self::choose_anew(|state| state | feature.bit());
    }

    /// Takes `features` away (their [bits](Feature::bit)) and makes `named` the choice, in one step.
    #[cfg(feature = "std")]
    pub(super) fn follow(features: u32, named: Option<Self>) {
        let named = named.map_or(0, Self::code) << NAMED;
        Self::choose_anew(|state| (state | features) & !(CODE << NAMED) | named);
    }

    fn choose_anew(change: impl Fn(u32) -> u32) {
        state::update(|state| change(state) & !(CODE << CHOSEN));
    }

    /// The backend that a key made now gets if its maker asks for this one.
    pub(crate) fn granted(self) -> Self {
        if self.left(state::get()) {
            self
        } else {
            Self::detect()
        }
    }

    /// The permutation of one Keccak state in this backend.
    pub(crate) fn permutation(self) -> Permutation {
        with_engine!(self, e => e.permutation())
    }

    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// The available backends that need none of `features`.
    #[cfg(feature = "std")]
    pub(super) fn available_without(features: u32) -> impl Iterator<Item = Self> {
        Self::left_of(state::get() | features)
    }

    fn left_of(state: u32) -> impl Iterator<Item = Self> {
        Self::present().filter(move |backend| backend.left(state))
    }

    /// Whether no feature that the backend needs was taken away.
    fn left(self, state: u32) -> bool {
        self.needs() & state == 0
    }
}

/// Where the code of the backend that the environment names begins; 0: none.
const NAMED: u32 = 16;
/// Where the code of the backend in use begins; 0: not chosen yet.
const CHOSEN: u32 = 20;
/// A code's bits.
const CODE: u32 = 15;

/// The process's choices in one word, so that no thread sees half of a change: a bit for each
/// feature taken away, then the two codes. Relaxed order is enough, as nothing else is published
/// with it.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
))]
mod state {
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    static STATE: AtomicU32 = AtomicU32::new(0);

    pub(super) fn get() -> u32 {
        STATE.load(Relaxed)
    }

    pub(super) fn update(mut change: impl FnMut(u32) -> u32) {
        let _ = STATE.fetch_update(Relaxed, Relaxed, |state| Some(change(state)));
    }
}

/// With one backend there is nothing to remember, and some of these CPUs cannot compare and swap.
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
)))]
mod state {
    pub(super) fn get() -> u32 {
        0
    }

    pub(super) fn update(mut change: impl FnMut(u32) -> u32) {
        change(0);
    }
}
