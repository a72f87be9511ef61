//! Section 4, Table 1: the constants of the scheme and of its three parameter sets.

/// The modulus, 2^23 - 2^13 + 1.
pub const Q: i64 = 8_380_417;
/// Coefficients per polynomial.
pub const N: usize = 256;
/// A 512th root of unity modulo q.
pub const ZETA: i64 = 1753;
/// Number of bits that Power2Round drops from t.
pub const D: u32 = 13;

/// One row of Table 1 (one column, as printed).
#[derive(Debug, PartialEq, Eq)]
pub struct Params {
    /// `ML-DSA-44`, `ML-DSA-65` or `ML-DSA-87`.
    pub name: &'static str,
    /// Number of ±1 coefficients of the challenge c.
    pub tau: usize,
    /// Collision strength of c_tilde in bits.
    pub lambda: usize,
    /// Coefficients of y lie in `-gamma1 + 1 ..= gamma1`.
    pub gamma1: i64,
    /// Low-order rounding range.
    pub gamma2: i64,
    /// Rows of A.
    pub k: usize,
    /// Columns of A.
    pub l: usize,
    /// Coefficients of s1 and s2 lie in `-eta..=eta`.
    pub eta: i64,
    /// tau * eta.
    pub beta: i64,
    /// Most ones in the hint h.
    pub omega: usize,
}

/// ML-DSA-44.
pub const ML_DSA_44: Params = Params {
    name: "ML-DSA-44",
    tau: 39,
    lambda: 128,
    gamma1: 1 << 17,
    gamma2: (Q - 1) / 88,
    k: 4,
    l: 4,
    eta: 2,
    beta: 78,
    omega: 80,
};

/// ML-DSA-65.
pub const ML_DSA_65: Params = Params {
    name: "ML-DSA-65",
    tau: 49,
    lambda: 192,
    gamma1: 1 << 19,
    gamma2: (Q - 1) / 32,
    k: 6,
    l: 5,
    eta: 4,
    beta: 196,
    omega: 55,
};

/// ML-DSA-87.
pub const ML_DSA_87: Params = Params {
    name: "ML-DSA-87",
    tau: 60,
    lambda: 256,
    gamma1: 1 << 19,
    gamma2: (Q - 1) / 32,
    k: 8,
    l: 7,
    eta: 2,
    beta: 120,
    omega: 75,
};

/// The three sets, smallest first.
pub const PARAMETER_SETS: [&Params; 3] = [&ML_DSA_44, &ML_DSA_65, &ML_DSA_87];

/// The set called `name` (`ML-DSA-44`, `ML-DSA-65`, `ML-DSA-87`).
pub fn by_name(name: &str) -> Option<&'static Params> {
    PARAMETER_SETS.into_iter().find(|p| p.name == name)
}

/// bitlen of the standard: bits needed for `a`; 0 for 0.
pub(crate) fn bitlen(a: i64) -> usize {
    (i64::BITS - a.leading_zeros()) as usize
}

impl Params {
    /// Bytes of a public key (Table 2).
    pub fn pk_bytes(&self) -> usize {
        32 + 32 * self.k * (bitlen(Q - 1) - D as usize)
    }

    /// Bytes of an encoded private key (Table 2).
    pub fn sk_bytes(&self) -> usize {
        32 + 32 + 64 + 32 * ((self.l + self.k) * bitlen(2 * self.eta) + D as usize * self.k)
    }

    /// Bytes of a signature (Table 2).
    pub fn sig_bytes(&self) -> usize {
        self.lambda / 4 + self.l * 32 * (1 + bitlen(self.gamma1 - 1)) + self.omega + self.k
    }
}
