//! The secrets of a key and of its signatures in every form in which the library holds them, and
//! the search for them in a piece of memory.
//!
//! All come from the oracle. A window of a secret is found wherever it lies, so a part of a secret
//! is found too: 8 bytes of a string, 4 coefficients that fill Z_q, 16 or 24 of [-η, η]. A window
//! has more than 48 bits of entropy, most have 64 and more, so none is found by chance.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::operations::{Given, SIGNED};
use mldsa_oracle as oracle;
use mldsa_oracle::{Params, Poly, Q};

/// What a window is of.
pub type Kind = &'static str;

/// Multiplies and folds; the keys come from no adversary.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are whole numbers")
    }
    fn write_u64(&mut self, x: u64) {
        let wide = u128::from(self.0 ^ x) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }
    fn write_u128(&mut self, x: u128) {
        self.write_u64(x as u64);
        self.write_u64((x >> 64) as u64);
    }
}

/// Bytes of a block of SHAKE256.
const RATE: usize = 136;

type Map<K> = HashMap<K, Kind, BuildHasherDefault<Fold>>;

#[derive(Default)]
pub struct Needles {
    /// 8 bytes.
    bytes: Map<u64>,
    /// 4 coefficients modulo q, 32 bits each.
    coefficients: Map<u128>,
    /// `window` coefficients of [-η, η], with η added: 4 bits each.
    small: Map<u128>,
    window: usize,
    eta: i64,
}

/// A place where a secret was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub kind: Kind,
    /// In bytes.
    pub at: usize,
}

/// Keccak-f[1600] by the text of FIPS 202, section 3; tells `each` the words before χ and at the end
/// of every round, with the round's number.
pub fn keccak_f(a: &mut [u64; 25], mut each: impl FnMut(usize, &[u64; 25])) {
    let mut lfsr = 1u8;
    for round in 0..24 {
        let c: [u64; 5] = std::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ a[x + 5 * y]));
        for (i, word) in a.iter_mut().enumerate() {
            *word ^= c[(i + 4) % 5] ^ c[(i + 1) % 5].rotate_left(1);
        }
        // ρ and π.
        let mut b = [0; 25];
        b[0] = a[0];
        let (mut x, mut y) = (1, 0);
        for t in 0..24 {
            let to = (y, (2 * x + 3 * y) % 5);
            b[to.0 + 5 * to.1] = a[x + 5 * y].rotate_left((t + 1) * (t + 2) / 2 % 64);
            (x, y) = to;
        }
        each(round, &b);
        for (i, word) in a.iter_mut().enumerate() {
            let row = i / 5 * 5;
            *word = b[i] ^ (!b[row + (i + 1) % 5] & b[row + (i + 2) % 5]);
        }
        for j in 0..7 {
            a[0] ^= u64::from(lfsr & 1) << ((1u32 << j) - 1);
            lfsr = lfsr << 1 ^ if lfsr & 0x80 != 0 { 0x71 } else { 0 };
        }
        each(round, a);
    }
}

/// The state of SHAKE256 that has absorbed `block`, which is shorter than the rate, padded; not
/// permuted yet.
pub fn absorbed(block: &[u8]) -> [u64; 25] {
    let mut state = [0; 25];
    absorb(&mut state, block);
    state
}

/// Adds a block to the state of SHAKE256, and the padding if the block is shorter than the rate.
fn absorb(state: &mut [u64; 25], block: &[u8]) {
    let mut bytes = [0; 200];
    bytes[..block.len()].copy_from_slice(block);
    if block.len() < RATE {
        bytes[block.len()] = 0x1f;
        bytes[RATE - 1] |= 0x80;
    }
    for (word, bytes) in state.iter_mut().zip(bytes.chunks_exact(8)) {
        *word ^= u64::from_le_bytes(bytes.try_into().unwrap());
    }
}

/// The state of SHAKE256 after the last block of a string; tells `each` the state with each block, not
/// permuted yet.
pub fn hashed(string: &[u8], mut each: impl FnMut(&[u64; 25])) -> [u64; 25] {
    let padding = string.len().is_multiple_of(RATE).then_some(&[][..]);
    let mut state = [0; 25];
    for block in string.chunks(RATE).chain(padding) {
        absorb(&mut state, block);
        each(&state);
        keccak_f(&mut state, |_, _| ());
    }
    state
}

fn residue(x: i64) -> u128 {
    x.rem_euclid(Q) as u128
}

/// The last `count` values of `bits` bits each, one after the other.
struct Rolling {
    key: u128,
    length: usize,
}

impl Rolling {
    const NEW: Self = Rolling { key: 0, length: 0 };

    fn push(&mut self, value: u128, bits: usize, count: usize) -> Option<u128> {
        self.key = self.key << bits | value;
        if bits * count < 128 {
            self.key &= (1 << (bits * count)) - 1;
        }
        self.length += 1;
        (self.length >= count).then_some(self.key)
    }
}

impl Needles {
    /// Every secret of `given`'s key and of the signatures that the operations make with it.
    pub fn new(p: &Params, given: &Given) -> Self {
        let mut needles = Needles {
            window: if p.eta == 2 { 24 } else { 16 },
            eta: p.eta,
            ..Default::default()
        };
        let sizes = [p.k as u8, p.l as u8];
        let seeds = oracle::h(&[&given.xi, &sizes], 128);
        let (rho, rest) = seeds.split_at(32);
        let (rho_prime, k) = rest.split_at(64);
        needles.add_sponge(
            "state of H(xi)",
            absorbed(&[&given.xi, &sizes[..]].concat()),
            1,
            24,
        );
        for nonce in 0..p.k + p.l {
            let block = [rho_prime, &(nonce as u16).to_le_bytes()].concat();
            needles.add_sponge("state of ExpandS", absorbed(&block), 3, 3);
        }
        // A lane without a polynomial, where their number is no multiple of the lanes.
        let mut idle = absorbed(rho_prime);
        idle[8] = 0;
        needles.add_sponge("state of ExpandS", idle, 3, 3);

        // The hardened mode's, of a key with its seed and of one without.
        for seed in [&given.xi[..], &[]] {
            needles.add_hash("state of the digest", &[&given.sk, seed].concat());
        }

        let parts = oracle::sk_decode(p, &given.sk);
        let start = 128;
        let eta_bytes = if p.eta == 2 { 96 } else { 128 };
        let (s1, s2) = given.sk[start..][..eta_bytes * (p.k + p.l)].split_at(eta_bytes * p.l);
        needles.add_bytes("s1 packed", s1);
        needles.add_bytes("s2 packed", s2);
        for (kind, hat, s) in [("s1", "NTT(s1)", &parts.s1), ("s2", "NTT(s2)", &parts.s2)] {
            for poly in s {
                needles.add_small(kind, poly);
                needles.add_coefficients(hat, &oracle::ntt(poly));
            }
        }
        let a_hat = oracle::expand_a(p, rho);
        for (mu, with_rnd) in SIGNED {
            let (mu, rnd) = (given.mus[mu].as_bytes(), given.rnd(with_rnd));
            needles.add_signature(p, given, k, &a_hat, mu, rnd);
        }
        needles.add_bytes("xi", &given.xi);
        needles.add_bytes("rho'", rho_prime);
        needles.add_bytes("K", k);
        needles.add_bytes("rnd", &given.rnd);
        // Public: ρ is the first output of H(ξ).
        for window in rho.windows(8) {
            needles
                .bytes
                .remove(&u64::from_le_bytes(window.try_into().unwrap()));
        }
        needles
    }

    fn add_signature(
        &mut self,
        p: &Params,
        given: &Given,
        k: &[u8],
        a_hat: &[Vec<Poly>],
        mu: &[u8; 64],
        rnd: &[u8; 32],
    ) {
        let rho_second = oracle::h(&[k, rnd, mu], 64);
        self.add_sponge("state of H(K)", absorbed(&[k, rnd, mu].concat()), 1, 24);
        self.add_bytes("rho''", &rho_second);
        let mut signer = oracle::Signer::new(p, &given.sk, mu, rnd);
        let mut nonce = 0;
        loop {
            let y = oracle::expand_mask(p, &rho_second, nonce);
            nonce += p.l;
            let y_hat: Vec<Poly> = y.iter().map(|y| oracle::ntt(y)).collect();
            for w in oracle::matrix_vector_ntt(a_hat, &y_hat) {
                let w = oracle::inverse_ntt(&w);
                let low: Poly = w.iter().map(|w| oracle::low_bits(p, *w)).collect();
                self.add_coefficients("w", &w);
                self.add_coefficients("w0", &low);
            }
            for (y, y_hat) in y.iter().zip(&y_hat) {
                self.add_coefficients("y", y);
                self.add_coefficients("NTT(y)", y_hat);
            }
            let candidate = signer.attempt();
            if candidate.attempt.failed == 0 {
                break;
            }
            for z in &candidate.z {
                self.add_coefficients("z of a rejected attempt", z);
            }
        }
        // Masks are sampled up to a group ahead.
        for nonce in 0..nonce + 8 {
            let block = [&rho_second[..], &(nonce as u16).to_le_bytes()].concat();
            self.add_sponge("state of ExpandMask", absorbed(&block), 5, 3);
        }
    }

    fn add_bytes(&mut self, kind: Kind, secret: &[u8]) {
        for window in secret.windows(8) {
            self.bytes
                .insert(u64::from_le_bytes(window.try_into().unwrap()), kind);
        }
    }

    /// The states of a sponge, `blocks` of them, each with those of the last `rounds` rounds: what a
    /// permutation leaves is the end of a round, or words before χ. The output is words of states.
    fn add_sponge(&mut self, kind: Kind, mut state: [u64; 25], blocks: usize, rounds: usize) {
        for _ in 0..blocks {
            keccak_f(&mut state, |round, words| {
                if round + rounds >= 24 {
                    self.bytes.extend(words.iter().map(|word| (*word, kind)));
                }
            });
        }
    }

    /// The states of a sponge that absorbs a whole string, as absorbed and as permuted. The first block is
    /// left out until it is permuted: it has public parts.
    fn add_hash(&mut self, kind: Kind, string: &[u8]) {
        let mut states = Vec::new();
        hashed(string, |state| states.push(*state));
        for (number, state) in states.into_iter().enumerate() {
            if number > 0 {
                self.bytes.extend(state.map(|word| (word, kind)));
            }
            self.add_sponge(kind, state, 1, 3);
        }
    }

    fn add_coefficients(&mut self, kind: Kind, poly: &Poly) {
        let mut rolling = Rolling::NEW;
        let windows = poly.iter().filter_map(|x| rolling.push(residue(*x), 32, 4));
        self.coefficients
            .extend(windows.map(|window| (window, kind)));
    }

    /// s and −s.
    fn add_small(&mut self, kind: Kind, s: &Poly) {
        for sign in [1, -1] {
            let mut rolling = Rolling::NEW;
            let values = s.iter().map(|x| (self.eta + sign * x) as u128);
            let windows: Vec<u128> = values
                .filter_map(|x| rolling.push(x, 4, self.window))
                .collect();
            self.small
                .extend(windows.into_iter().map(|window| (window, kind)));
        }
    }

    /// Every window of a secret in `memory`.
    pub fn search(&self, memory: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut found = |kind: Option<&Kind>, end: usize, bytes: usize| {
            hits.extend(kind.map(|kind| Hit {
                kind,
                at: end - bytes,
            }));
        };
        for (at, window) in memory.windows(8).enumerate() {
            let key = u64::from_le_bytes(window.try_into().unwrap());
            found(self.bytes.get(&key), at, 0);
        }
        // The rotations of kernels/small.rs: η + coefficient, a byte each.
        let mut small = Rolling::NEW;
        for (at, byte) in memory.iter().enumerate() {
            if i64::from(*byte) <= 2 * self.eta {
                let key = small.push(u128::from(*byte), 4, self.window);
                found(
                    key.and_then(|key| self.small.get(&key)),
                    at + 1,
                    self.window,
                );
            } else {
                small = Rolling::NEW;
            }
        }
        // Coefficients of 32 bits.
        let mut small = Rolling::NEW;
        let mut any = Rolling::NEW;
        for (i, word) in memory.chunks_exact(4).enumerate() {
            let end = 4 * (i + 1);
            let x = i64::from(i32::from_le_bytes(word.try_into().unwrap()));
            let key = any.push(residue(x), 32, 4);
            found(key.and_then(|key| self.coefficients.get(&key)), end, 16);
            let centered = oracle::mod_pm(x, Q);
            if centered.abs() <= self.eta {
                let key = small.push((centered + self.eta) as u128, 4, self.window);
                found(
                    key.and_then(|key| self.small.get(&key)),
                    end,
                    4 * self.window,
                );
            } else {
                small = Rolling::NEW;
            }
        }
        hits
    }
}
