//! What became of an operation, by the literal transcription of the standard: it shares no code with
//! what is disturbed.

use mldsa_oracle::{
    D, Params, Poly, Q, add_vector_ntt, expand_a, infinity_norm, inverse_ntt, low_bits,
    matrix_vector_ntt, mod_pm, multiply_ntt, ntt, pk_decode, sample_in_ball, sig_decode, sk_decode,
    verify_mu,
};

/// What a signature is that is not the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The right one.
    Same,
    /// It is valid, and keeps the bounds of the signer.
    Other,
    /// It is valid, but passes a bound that the signer alone checks.
    Unbounded,
    /// It is not valid.
    Wrong,
    /// Valid or not, with the right one it gives a row of s1 away, or by itself.
    Revealing,
}

/// A key and a message, to the judge.
pub struct Truth {
    pub params: &'static Params,
    pub pk: Vec<u8>,
    pub sk: Vec<u8>,
    pub mu: [u8; 64],
    pub signature: Vec<u8>,
}

impl Truth {
    pub fn judge(&self, signature: &[u8]) -> Verdict {
        if signature == self.signature {
            return Verdict::Same;
        }
        let p = self.params;
        if signature.len() != self.signature.len() {
            return Verdict::Wrong;
        }
        let (Some(right), Some(given)) = (sig_decode(p, &self.signature), sig_decode(p, signature))
        else {
            unreachable!("a pair of the right length")
        };
        if reveals(p, &right.1, &given.1) {
            return Verdict::Revealing;
        }
        if !verify_mu(p, &self.pk, &self.mu, signature) {
            return Verdict::Wrong;
        }
        if self.keeps_bounds(&given.0, &given.1) {
            Verdict::Other
        } else {
            Verdict::Unbounded
        }
    }

    /// Steps 21 to 28 of Algorithm 7 of a valid signature: ‖r0‖∞ and ‖c·t0‖∞.
    fn keeps_bounds(&self, c_tilde: &[u8], z: &[Poly]) -> bool {
        let p = self.params;
        let key = sk_decode(p, &self.sk);
        let c = ntt(&sample_in_ball(p, c_tilde));
        let times_c =
            |v: &[Poly]| -> Vec<Poly> { v.iter().map(|s| multiply_ntt(&c, &ntt(s))).collect() };
        // w − c·s2 = A·z − c·t, with t = t1·2^d + t0.
        let Some((rho, t1)) = pk_decode(p, &self.pk) else {
            return false;
        };
        let halves = t1.iter().zip(&key.t0);
        let minus_t: Vec<Poly> = halves
            .map(|(t1, t0)| t1.iter().zip(t0).map(|(h, l)| -((h << D) + l)).collect())
            .collect();
        let z_hat: Vec<Poly> = z.iter().map(|z| ntt(z)).collect();
        let product = matrix_vector_ntt(&expand_a(p, &rho), &z_hat);
        let rest = add_vector_ntt(&product, &times_c(&minus_t));
        let r0_kept = rest.iter().all(|row| {
            let row = inverse_ntt(row);
            row.iter()
                .all(|r| low_bits(p, *r).abs() < p.gamma2 - p.beta)
        });
        let ct0_kept = times_c(&key.t0).iter().all(|row| {
            let row: Poly = inverse_ntt(row).iter().map(|x| mod_pm(*x, Q)).collect();
            infinity_norm(&row) < p.gamma2
        });
        r0_kept && ct0_kept
    }
}

/// Whether two z of one key give linear equations for s1, or the second does by itself. Coefficients of
/// independent masks y are nearly never that near: a row gives itself away if half its coefficients
/// are near in two signatures (the same y), near 0 (no y) or near those of another row (a y used
/// twice). A row in which few coefficients differ says nothing of s1 but what was disturbed: one
/// coefficient of s1 changes as many of c·s1 as c has ones, at most 60.
pub fn reveals(p: &Params, right: &[Poly], given: &[Poly]) -> bool {
    let near = |a: &[i64], b: &[i64], bound: i64| {
        let distances = a.iter().zip(b).map(|(a, b)| mod_pm(a - b, Q).abs());
        let distances: Vec<i64> = distances.collect();
        let near = distances.iter().filter(|d| **d <= bound).count();
        let differing = distances.iter().filter(|d| **d != 0).count();
        near >= 128 && differing > 60
    };
    let none = vec![0; 256];
    given.iter().enumerate().any(|(i, row)| {
        near(row, &right[i], 2 * p.beta)
            || near(row, &none, p.beta)
            || given[..i].iter().any(|other| near(row, other, 2 * p.beta))
    })
}

/// The row of s1 from two signatures with the same y: (z − z′)/(c − c′). `None` where the difference of
/// the challenges has no inverse.
#[cfg(test)]
fn solve(p: &Params, one: (&[u8], &Poly), other: (&[u8], &Poly)) -> Option<Poly> {
    let power = |base: i64| {
        let (mut result, mut square, mut rest) = (1, base.rem_euclid(Q), Q - 2);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result * square % Q;
            }
            (square, rest) = (square * square % Q, rest / 2);
        }
        result
    };
    let minus = |a: &Poly, b: &Poly| a.iter().zip(b).map(|(a, b)| a - b).collect::<Poly>();
    let c = minus(&sample_in_ball(p, one.0), &sample_in_ball(p, other.0));
    let c: Poly = ntt(&c).iter().map(|x| x.rem_euclid(Q)).collect();
    if c.contains(&0) {
        return None;
    }
    let inverse: Poly = c.iter().map(|x| power(*x)).collect();
    let s = inverse_ntt(&multiply_ntt(&inverse, &ntt(&minus(one.1, other.1))));
    Some(s.iter().map(|x| mod_pm(*x, Q)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mldsa_oracle::{ML_DSA_44, ML_DSA_65, ML_DSA_87, keygen_internal, sig_encode, sign_mu};

    fn truth(params: &'static Params) -> Truth {
        let (pk, sk) = keygen_internal(params, &[3; 32]);
        let mu = [5; 64];
        let (signature, _) = sign_mu(params, &sk, &mu, &[0; 32]);
        Truth {
            params,
            pk,
            sk,
            mu,
            signature,
        }
    }

    /// z of the same y, or of none, for another challenge.
    fn bent(truth: &Truth, c_tilde: &[u8], keep_y: bool) -> Vec<Poly> {
        let p = truth.params;
        let (old, z, _) = sig_decode(p, &truth.signature).unwrap();
        let s1 = sk_decode(p, &truth.sk).s1;
        let times = |c: &[u8], s: &Poly| {
            let product = inverse_ntt(&multiply_ntt(&ntt(&sample_in_ball(p, c)), &ntt(s)));
            product.iter().map(|x| mod_pm(*x, Q)).collect::<Poly>()
        };
        z.iter()
            .zip(&s1)
            .map(|(z, s)| {
                let (old, new) = (times(&old, s), times(c_tilde, s));
                let all = z.iter().zip(old).zip(new);
                all.map(|((z, old), new)| if keep_y { z - old + new } else { new })
                    .collect()
            })
            .collect()
    }

    /// A y that serves twice is seen, and gives s1 indeed; so is one that is left out.
    #[test]
    fn a_mask_used_twice_gives_s1() {
        for params in [&ML_DSA_44, &ML_DSA_65, &ML_DSA_87] {
            let truth = truth(params);
            let (c, z, hint) = sig_decode(params, &truth.signature).unwrap();
            let other = vec![9; c.len()];
            let again = bent(&truth, &other, true);
            let s1 = sk_decode(params, &truth.sk).s1;
            let rows = (0..params.l)
                .filter_map(|i| Some((i, solve(params, (&c, &z[i]), (&other, &again[i]))?)));
            let solved: Vec<_> = rows.collect();
            assert!(!solved.is_empty(), "no challenge has an inverse");
            for (i, row) in solved {
                assert_eq!(row, s1[i], "row {i}");
            }
            let encoded = sig_encode(params, &other, &again, &hint.unwrap());
            assert_eq!(truth.judge(&encoded), Verdict::Revealing);
            assert!(reveals(params, &z, &bent(&truth, &other, false)));
            let mut twice = z.clone();
            twice[1] = bent(&truth, &c, true)[0].iter().map(|x| x + 1).collect();
            assert!(reveals(params, &z, &twice));
        }
    }

    /// What is no more than wrong, or right in another way.
    #[test]
    fn other_signatures_are_told_apart() {
        let truth = truth(&ML_DSA_44);
        assert_eq!(truth.judge(&truth.signature), Verdict::Same);
        let (hedged, _) = sign_mu(&ML_DSA_44, &truth.sk, &truth.mu, &[1; 32]);
        assert_eq!(truth.judge(&hedged), Verdict::Other);
        let (others, _) = sign_mu(&ML_DSA_44, &truth.sk, &[6; 64], &[0; 32]);
        assert_eq!(truth.judge(&others), Verdict::Wrong);
        let mut bit = truth.signature.clone();
        bit[100] ^= 4;
        assert_eq!(truth.judge(&bit), Verdict::Wrong);
        assert_eq!(truth.judge(&bit[1..]), Verdict::Wrong);
    }

    /// An attempt that r0 alone rejects gives a valid signature often enough: the verifier does not
    /// see that bound.
    #[test]
    fn a_bound_of_the_signer_alone_is_seen() {
        let truth = truth(&ML_DSA_44);
        let p = truth.params;
        let mut signer = mldsa_oracle::Signer::new(p, &truth.sk, &truth.mu, &[2; 32]);
        let found = (0..200).any(|_| {
            let candidate = signer.attempt();
            if candidate.attempt.failed != 2 {
                return false;
            }
            let encoded = sig_encode(p, &candidate.c_tilde, &candidate.z, &candidate.h);
            truth.judge(&encoded) == Verdict::Unbounded
        });
        assert!(found);
    }
}
