//! Where a value computed from secrets becomes public. In an ordinary build these functions are
//! nothing. Built with `--cfg mldsa_ct` they tell Valgrind, which `make ct` uses to look for
//! branches and indices that depend on anything else (library/evidence/constant-time.md, which has each place
//! in a table).
//!
//! Rule: results are declassified (a decision, a hash, a part of the output), never the values
//! from which they come.

macro_rules! sites {
    ($($(#[doc = $reason:literal])* $site:ident,)*) => {
        /// A place where FIPS 204 makes a value public.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[cfg_attr(not(mldsa_ct), allow(dead_code))]
        pub enum Site { $($(#[doc = $reason])* $site,)* }

        #[cfg(mldsa_ct)]
        impl Site {
            /// All of them.
            pub const ALL: &[Site] = &[$(Site::$site),*];
        }
    };
}
sites! {
    /// ρ: it is the head of the public key (Algorithm 6, step 8).
    Rho,
    /// t1: it is the rest of the public key (Algorithm 6, step 8).
    PublicKey,
    /// Which half-bytes RejBoundedPoly refuses (Algorithm 31): each is refused or accepted by
    /// itself, so the refused ones say nothing of those that become s1 and s2.
    RefusedHalfBytes,
    /// Whether a private key read from bytes is one, or is equal to another: the caller is told.
    KeyImport,
    /// c_tilde of every attempt, rejected ones too, and so c: the output of a hash, a random oracle
    /// to the scheme's proof, on w1, which has the entropy of y (Dilithium 3.1, section 5.5).
    Challenge,
    /// Whether a polynomial of r0 rejects the attempt (Algorithm 7, step 23): where the bound is
    /// passed is independent of the secrets (Dilithium 3.1, section 5.5).
    RejectedByR0,
    /// Whether a polynomial of z rejects the attempt (Algorithm 7, step 23): as for r0.
    RejectedByZ,
    /// Whether a polynomial of c·t0 rejects the attempt (Algorithm 7, step 28): c is public, and
    /// t0 need not be secret (FIPS 204, section 6.1).
    RejectedByCt0,
    /// Whether the hints up to a polynomial are more than ω (Algorithm 7, step 28): z and r0 have
    /// passed, so the hints follow from a z that could be published and from t.
    RejectedByHint,
    /// h of the accepted attempt: it is a part of the signature (Algorithm 7, step 33).
    Hint,
    /// Whether two computations of the same agree, and the signature when they do: they always do but
    /// for a fault, of which the caller is told.
    Agreement,
}

/// `value`, public from here on.
#[inline(always)]
pub(crate) fn public<T: Copy>(site: Site, value: T) -> T {
    let mut value = [value];
    public_slice(site, &mut value);
    value[0]
}

/// `values`, public from here on.
#[inline(always)]
pub(crate) fn public_slice<T: Copy>(site: Site, values: &mut [T]) {
    #[cfg(mldsa_ct)]
    if !ct::withheld(site) {
        crate::backend::memcheck::make_defined(values);
    }
    let _ = (site, values);
}

/// Interface for the program behind `make ct`.
#[cfg(mldsa_ct)]
pub mod ct {
    use core::sync::atomic::{AtomicU8, Ordering};

    pub use super::Site;
    use crate::backend::memcheck;

    const NONE: u8 = u8::MAX;
    static WITHHELD: AtomicU8 = AtomicU8::new(NONE);

    /// Leaves out the declassifications of one site, so that Valgrind must complain there.
    pub fn withhold(site: Option<Site>) {
        WITHHELD.store(site.map_or(NONE, |site| site as u8), Ordering::Relaxed);
    }

    pub(super) fn withheld(site: Site) -> bool {
        WITHHELD.load(Ordering::Relaxed) == site as u8
    }

    /// Marks bytes as secret.
    pub fn secret(bytes: &mut [u8]) {
        memcheck::make_undefined(bytes);
    }

    /// Marks bytes as public: for what an operation gives its caller.
    pub fn publish(bytes: &mut [u8]) {
        memcheck::make_defined(bytes);
    }

    /// Whether Valgrind runs the program.
    pub fn running_under_valgrind() -> bool {
        memcheck::running()
    }

    /// How many errors Valgrind has found so far, repetitions included.
    pub fn errors() -> u64 {
        memcheck::errors()
    }
}
