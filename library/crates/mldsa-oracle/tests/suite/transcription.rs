//! Checks of the oracle's parts that end-to-end vectors reach only here and there.

use mldsa_oracle as oracle;
use mldsa_oracle::{ML_DSA_44, ML_DSA_65, PARAMETER_SETS, Q};
use shake::{ExtendableOutput, Shake128, Update, XofReader};
use std::fmt::Write;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The accumulated field vector of C2SP's CCTV: twelve values for every element of Z_q.
#[test]
fn rounding_of_all_of_z_q() {
    let mut hash = Shake128::default();
    let mut lines = String::new();
    for r in 0..Q {
        lines.clear();
        let (r1, r0) = oracle::power2_round(r);
        let centred = oracle::mod_pm(r, Q);
        let norm = oracle::infinity_norm(&[r]);
        writeln!(lines, "{centred}\n{norm}\n{r1}\n{}", r0.rem_euclid(Q)).unwrap();
        for p in [&ML_DSA_44, &ML_DSA_65] {
            let low = oracle::low_bits(p, r);
            writeln!(
                lines,
                "{}\n{}\n{low}\n{}",
                oracle::high_bits(p, r),
                oracle::use_hint(p, true, r),
                low.abs()
            )
            .unwrap();
        }
        hash.update(lines.as_bytes());
    }
    let mut digest = [0; 32];
    hash.finalize_xof().read(&mut digest);
    assert_eq!(
        hex(&digest),
        "f930663417278156ab05d940294a77210a809c924d8ab63ec72f4526247602c7"
    );
}

/// Table 2 of FIPS 204.
#[test]
fn sizes() {
    let sizes = PARAMETER_SETS.map(|p| (p.pk_bytes(), p.sk_bytes(), p.sig_bytes()));
    assert_eq!(
        sizes,
        [(1312, 2560, 2420), (1952, 4032, 3309), (2592, 4896, 4627)]
    );
}

/// NTT(a)·NTT(b) is the negacyclic product, computed here from its definition.
#[test]
fn ntt_multiplies_polynomials() {
    let poly = |seed: u8| oracle::rej_ntt_poly(&[seed; 34]);
    for seed in 0..4 {
        let (a, b) = (poly(seed), poly(seed + 100));
        let mut product = vec![0; 256];
        for i in 0..256 {
            for j in 0..256 {
                let sign = if i + j < 256 { 1 } else { -1 };
                product[(i + j) % 256] += sign * (a[i] * b[j] % Q);
            }
        }
        let product: Vec<i64> = product.iter().map(|c| c.rem_euclid(Q)).collect();
        let by_ntt = oracle::multiply_ntt(&oracle::ntt(&a), &oracle::ntt(&b));
        assert_eq!(oracle::inverse_ntt(&by_ntt), product);
    }
}

#[test]
fn montgomery_reduction() {
    for i in -1000..=1000 {
        let a = i * ((1 << 31) / 1000) * Q;
        let r = oracle::montgomery_reduce(a);
        assert!(r.abs() < Q);
        assert_eq!((r << 32).rem_euclid(Q), a.rem_euclid(Q));
    }
}

/// A hint survives packing, whatever its shape; what is not the packing of a hint is refused.
#[test]
fn hint_packing() {
    for p in PARAMETER_SETS {
        let mut hint = vec![vec![0; 256]; p.k];
        assert_eq!(
            oracle::hint_bit_unpack(p, &oracle::hint_bit_pack(p, &hint)).unwrap(),
            hint
        );
        for i in 0..p.omega {
            hint[i % p.k][(i * 37) % 256] = 1;
        }
        let packed = oracle::hint_bit_pack(p, &hint);
        assert_eq!(oracle::hint_bit_unpack(p, &packed).unwrap(), hint);
        for position in p.omega..p.omega + p.k {
            for change in [p.omega as u8 + 1, 255] {
                let mut bad = packed.clone();
                bad[position] = change;
                assert_eq!(oracle::hint_bit_unpack(p, &bad), None);
            }
        }
        let mut swapped = packed.clone();
        swapped.swap(0, 1);
        assert_eq!(oracle::hint_bit_unpack(p, &swapped), None);
        let mut repeated = packed;
        repeated[1] = repeated[0];
        assert_eq!(oracle::hint_bit_unpack(p, &repeated), None);
    }
}

/// A signature whose z alone is too large: refused, and accepted by the verifier that does not
/// look at z, so that the signature is otherwise right.
#[test]
fn z_violation() {
    for p in PARAMETER_SETS {
        let (pk, sk) = oracle::keygen(p, &[7; 32]);
        let m_prime = oracle::pure_m_prime(b"message", b"").unwrap();
        let signature = oracle::sign_z_violation(p, &sk, &m_prime, &[0; 32], 1000).unwrap();
        assert!(!oracle::verify_internal(p, &pk, &m_prime, &signature));
        assert!(oracle::verify_without_z_check(p, &pk, &m_prime, &signature));
        assert!(!oracle::verify_without_z_check(
            p, &pk, b"other", &signature
        ));
        assert_eq!(
            oracle::sign_z_violation(p, &sk, &m_prime, &[0; 32], 0),
            None
        );
    }
}
