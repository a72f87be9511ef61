//! Every backend's kernels against the portable ones, at the edges of their ranges and at random,
//! and the portable ones against schoolbook arithmetic.

use std::collections::BTreeSet;
use std::string::String;
use std::vec::Vec;

use super::Engine;
use super::portable::Portable;
use crate::kernels::keccak::{StateGroup, permute_one};
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball_steps;
use crate::kernels::sampling_each::Target;
use crate::kernels::small::{Offsets, SmallPoly, Terms};
use crate::kernels::sponge::{Reader, Shadow, ShadowHash, Shake128, Shake256, Sponge, h};
use crate::params::{MlDsa44, MlDsa65, MlDsa87, N, Parameters, Q};

/// A stream of test values from SHAKE128.
struct Values(Reader<168, 0x1f>);

impl Values {
    fn new(label: &str) -> Self {
        Values(Shake128::new(permute_one).absorb(label.as_bytes()).finish())
    }

    /// A polynomial with coefficients in [low, high]: one in four at an end of the range.
    fn poly(&mut self, low: i32, high: i32) -> Poly {
        let mut p = Poly([0; N]);
        for x in &mut p.0 {
            let word = u64::from_le_bytes(self.0.read());
            *x = match word & 7 {
                0 => low,
                1 => high,
                _ => low + ((word >> 3) % (i64::from(high) - i64::from(low) + 1) as u64) as i32,
            };
        }
        p
    }
}

const ROUNDS: usize = 40;

fn negacyclic(a: &Poly, b: &Poly) -> Vec<i64> {
    let mut out = std::vec![0i64; N];
    for i in 0..N {
        for j in 0..N {
            let product = i64::from(a.0[i]) * i64::from(b.0[j]) % i64::from(Q);
            if i + j < N {
                out[i + j] += product;
            } else {
                out[i + j - N] -= product;
            }
        }
    }
    out.iter().map(|x| x.rem_euclid(i64::from(Q))).collect()
}

fn transforms_multiply<E: Engine>(e: E) {
    let mut values = Values::new("multiply");
    for _ in 0..8 {
        let (a, b) = (values.poly(-Q + 1, Q - 1), values.poly(-Q + 1, Q - 1));
        let (mut a_hat, mut b_hat, mut c) = (a, b, Poly([0; N]));
        e.ntt(&mut a_hat);
        e.ntt(&mut b_hat);
        assert!(a_hat.0.iter().all(|x| x.abs() < 9 * Q));
        e.product(&a_hat, &b_hat, &mut c);
        e.inverse_ntt(&mut c);
        assert!(c.0.iter().all(|x| x.abs() < Q));
        let got: Vec<i64> = c.0.iter().map(|x| i64::from(x.rem_euclid(Q))).collect();
        assert_eq!(got, negacyclic(&a, &b));
    }
}

fn same<T: PartialEq + std::fmt::Debug>(label: &str, ours: T, portable: T) {
    assert_eq!(ours, portable, "{label}");
}

/// Runs `f` on both engines and compares.
macro_rules! agree {
    ($e:ident, $label:literal, |$engine:ident| $body:expr) => {{
        let ours = {
            let $engine = $e;
            $body
        };
        let portable = {
            let $engine = Portable;
            $body
        };
        same($label, ours, portable);
    }};
}

fn arithmetic_agrees<E: Engine>(e: E) {
    let mut values = Values::new("arithmetic");
    for _ in 0..ROUNDS {
        let p = values.poly(-2 * Q, 2 * Q);
        agree!(e, "ntt", |e| {
            let mut p = p;
            e.ntt(&mut p);
            p
        });
        let p = values.poly(-Q + 1, Q - 1);
        agree!(e, "inverse_ntt", |e| {
            let mut p = p;
            e.inverse_ntt(&mut p);
            p
        });
        for length in 1..=7 {
            let row: Vec<_> = (0..length).map(|_| values.poly(0, Q - 1)).collect();
            let v: Vec<_> = (0..length)
                .map(|_| values.poly(-10 * Q + 1, 10 * Q - 1))
                .collect();
            let (c, t) = (
                values.poly(-9 * Q + 1, 9 * Q - 1),
                values.poly(-9 * Q + 1, 9 * Q - 1),
            );
            agree!(e, "dot", |e| {
                let mut out = Poly([0; N]);
                e.dot(&row, &v, &mut out);
                assert!(out.0.iter().all(|x| x.abs() < Q));
                out
            });
            agree!(e, "dot_minus", |e| {
                let mut out = Poly([0; N]);
                e.dot_minus(&row, &v, &c, &t, &mut out);
                assert!(out.0.iter().all(|x| x.abs() < Q));
                out
            });
            agree!(e, "product", |e| {
                let mut out = Poly([0; N]);
                e.product(&c, &t, &mut out);
                out
            });
        }
    }
}

fn rounding_agrees<P: Parameters, E: Engine>(e: E) {
    let mut values = Values::new(P::NAME);
    for _ in 0..ROUNDS {
        let p = values.poly(-Q + 1, Q - 1);
        agree!(e, "split", |e| {
            let (mut w, mut w1) = (p, Poly([0; N]));
            e.split::<P>(&mut w, &mut w1);
            (w, w1)
        });
        agree!(e, "power2round", |e| {
            let (mut t, mut t1) = (p, Poly([0; N]));
            e.power2round(&mut t, &mut t1);
            (t, t1)
        });
        let hints = values.poly(0, 1);
        agree!(e, "use_hint", |e| {
            let mut w = p;
            e.use_hint::<P>(&mut w, &hints);
            w
        });
        let low = values.poly(-2 * P::GAMMA2, 2 * P::GAMMA2);
        let high = values.poly(0, (Q - 1) / (2 * P::GAMMA2) - 1);
        agree!(e, "make_hint", |e| {
            let mut low = low;
            e.make_hint::<P>(&mut low, &high);
            low
        });
        let low = values.poly(-P::GAMMA2 - P::BETA, P::GAMMA2 + P::BETA);
        let ct0 = values.poly(-(P::TAU as i32) << 12, (P::TAU as i32) << 12);
        agree!(e, "make_hint_any", |e| {
            let mut low = low;
            e.make_hint_any::<P>(&mut low, &ct0, &high);
            low
        });
        // Bounds just at, below and above the largest value there is.
        let a = values.poly(-P::GAMMA1 + 1, P::GAMMA1);
        let b = values.poly(-P::BETA, P::BETA);
        for bound in [
            P::GAMMA1 - P::BETA,
            P::GAMMA1,
            P::GAMMA1 + 1,
            P::GAMMA1 + P::BETA + 1,
        ] {
            for shift in [-Q, 0, Q] {
                let mut b = b;
                for x in &mut b.0 {
                    *x += if *x * shift <= 0 { shift } else { 0 };
                }
                agree!(e, "add_center", |e| {
                    let mut a = a;
                    (e.add_center(&mut a, &b, bound), a)
                });
                agree!(e, "subtract_center", |e| {
                    let mut a = a;
                    (e.subtract_center(&mut a, &b, bound), a)
                });
                agree!(e, "center", |e| {
                    let mut b = b;
                    (e.center(&mut b, P::BETA), b)
                });
            }
            agree!(e, "exceeds", |e| e.exceeds(&a, bound));
        }
    }
    // One coefficient at the bound, in each place.
    for place in 0..N {
        for value in [-P::GAMMA1, -P::GAMMA1 + 1, P::GAMMA1 - 1, P::GAMMA1] {
            let mut p = Poly([0; N]);
            p.0[place] = value;
            assert_eq!(e.exceeds(&p, P::GAMMA1), value.abs() >= P::GAMMA1);
            assert_eq!(e.center(&mut p, P::GAMMA1), value.abs() >= P::GAMMA1);
        }
    }
}

/// Sparse products against schoolbook multiplication, with secrets at the ends of their range.
fn small_products_are_exact<P: Parameters, E: Engine>(e: E) {
    let mut values = Values::new(P::NAME);
    for round in 0..12u8 {
        let s = if round == 0 {
            Poly([P::ETA; N])
        } else {
            values.poly(-P::ETA, P::ETA)
        };
        let mut c = Poly([0; N]);
        let mut reader = Shake256::new(permute_one).absorb(&[round; 64]).finish();
        let mut offsets = Offsets::zero();
        let mut terms = Terms::new(&mut offsets);
        in_ball_steps::<P>(&mut reader, &mut c, |i, j, sign| terms.step(i, j, sign));
        let mut sorted = Offsets::zero();
        sorted.set(&c);
        assert_eq!(offsets.sorted::<P>(), sorted.sorted::<P>());
        let mut small = SmallPoly::zero();
        small.set(&s, P::ETA);
        let mut out = Poly([0; N]);
        e.small_product::<P>(&offsets, &small, &mut out);
        assert!(out.0.iter().all(|x| x.abs() <= P::BETA));
        let got: Vec<i64> = out.0.iter().map(|x| i64::from(x.rem_euclid(Q))).collect();
        assert_eq!(got, negacyclic(&c, &s));
        sums_near_a_bound::<P, E>(e, &offsets, &small, &out);
    }
}

/// One sum just below or at the bound, in each place, others where the product cannot decide.
fn sums_near_a_bound<P: Parameters, E: Engine>(e: E, c: &Offsets, s: &SmallPoly, product: &Poly) {
    for bound in [P::GAMMA1 - P::BETA, P::GAMMA2 - P::BETA] {
        for place in 0..N {
            assert_eq!(c.coefficient::<P>(s, place), product.0[place]);
            for target in [-bound, 1 - bound, bound - 1, bound] {
                let mut a = Poly([bound - P::BETA - 1; N]);
                // Near the bound, and no further.
                a.0[place ^ 5] = 1 - bound - product.0[place ^ 5];
                a.0[place] = target - product.0[place];
                let beyond = target.abs() == bound;
                assert_eq!(e.sum_exceeds::<P>(&a, c, s, bound), beyond);
                a.0[place ^ 5] = bound - 1 + product.0[place ^ 5];
                a.0[place] = target + product.0[place];
                assert_eq!(e.difference_exceeds::<P>(&a, c, s, bound), beyond);
            }
        }
    }
}

fn sampling_agrees<P: Parameters, E: Engine>(e: E) {
    // Down from the largest.
    let nonces: [u16; 56] = core::array::from_fn(|i| u16::MAX - i as u16 * 1170);
    for seed in 0..4u8 {
        for count in (1..=17).chain([56]) {
            agree!(e, "uniform", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                e.uniform(&[seed; 32], &nonces[..count], &mut out, None);
                out
            });
            agree!(e, "bounded", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                e.bounded::<P>(&[seed; 64], &nonces[..count], &mut out.iter_mut());
                assert!(out.iter().all(|p| p.0.iter().all(|x| x.abs() <= P::ETA)));
                out
            });
            agree!(e, "mask", |e| {
                let mut out = std::vec![Poly([0; N]); count];
                let mut bytes = [[0; 680]; 8];
                e.mask::<P>(
                    &[seed; 64],
                    &nonces[..count],
                    &mut bytes[..E::STATES],
                    &mut out,
                    None,
                );
                out
            });
        }
    }
}

/// Strings against their definition, bit by bit, and back.
fn packing_agrees<E: Engine>(e: E) {
    use crate::kernels::packing::Map;
    let mut values = Values::new("packing");
    let maps = |bits: usize| {
        [
            (Map::Same, 0),
            (Map::Below(1 << (bits - 1)), 1 << (bits - 1)),
        ]
    };
    for bits in [1, 3, 4, 6, 10, 13, 18, 20] {
        for _ in 0..ROUNDS {
            for (map, top) in maps(bits) {
                let string = values.poly(0, (1 << bits) - 1);
                let p = Poly(string.0.map(|x| if top == 0 { x } else { top - x }));
                let mut expected = std::vec![0u8; 32 * bits];
                for (i, x) in string.0.iter().enumerate() {
                    for bit in (0..bits).filter(|bit| x >> bit & 1 == 1) {
                        expected[(i * bits + bit) / 8] |= 1 << ((i * bits + bit) % 8);
                    }
                }
                let mut out = std::vec![0xa5; 32 * bits];
                e.pack(bits, &p, map, &mut out);
                assert_eq!(out, expected, "pack {bits}");
                if bits == 1 || bits == 6 {
                    continue; // nobody reads hints or w1 so
                }
                let mut back = Poly([-1; N]);
                e.unpack(bits, &expected, map, &mut back);
                assert_eq!(back, p, "unpack {bits}");
                e.unpack(bits, &expected, Map::Scaled, &mut back);
                assert_eq!(back.0, string.0.map(|x| x << 13), "unpack {bits}, scaled");
            }
        }
    }
}

fn permutations_agree<E: Engine>(e: E) {
    let mut values = Values::new("permutations");
    let mut word = || u64::from_le_bytes(values.0.read());
    assert_eq!(E::STATES, E::States::COUNT);
    for _ in 0..ROUNDS {
        let mut states = E::States::zero();
        for i in 0..25 {
            states.row_mut(i).fill_with(&mut word);
        }
        let mut lanes: Vec<[u64; 25]> = (0..E::STATES)
            .map(|lane| core::array::from_fn(|i| states.row(i)[lane]))
            .collect();
        e.permute(&mut states);
        for (lane, one) in lanes.iter_mut().enumerate() {
            permute_one(one);
            assert!((0..25).all(|i| states.row(i)[lane] == one[i]));
            let mut ours = *one;
            e.permutation()(&mut ours);
            permute_one(one);
            assert_eq!(ours, *one);
        }
        let (mut a, mut b) = (lanes[0], core::array::from_fn(|_| word()));
        let expected = [a, b].map(|mut one| {
            permute_one(&mut one);
            one
        });
        e.permutation_of_two()(&mut a, &mut b);
        assert_eq!([a, b], expected);
    }
}

/// A string hashed beside ExpandA, growing as it goes, and one hashed in a lane of ExpandMask: the
/// digest and what is sampled come out as if alone.
fn shadows_agree<E: Engine>(e: E) {
    let text: Vec<u8> = (0..2600).map(|i| (i * 7) as u8).collect();
    let nonces: [u16; 8] = core::array::from_fn(|i| i as u16 + 3);
    for length in [0, 1, 135, 136, 137, 271, 272, 273, 1312, 1952, 2592] {
        for calls in [0, 1, 2, 9] {
            for complete in [false, true] {
                let text = &text[..length];
                let mut hash = ShadowHash::new(e.permutation());
                for call in 1..=calls {
                    let known = if complete {
                        length
                    } else {
                        length * call / calls
                    };
                    let mut shadow = Shadow {
                        hash: &mut hash,
                        known: &text[..known],
                        complete,
                    };
                    let mut beside = std::vec![Poly([0; N]); 8];
                    let mut alone = beside.clone();
                    e.uniform(&[call as u8; 32], &nonces, &mut beside, Some(&mut shadow));
                    e.uniform(&[call as u8; 32], &nonces, &mut alone, None);
                    assert_eq!(beside, alone);
                    if E::STATES > 1 && call % 2 == 1 {
                        let nonces = &nonces[..E::STATES - 1];
                        let mut bytes = [[0; 680]; 8];
                        let bytes = &mut bytes[..E::STATES];
                        let (beside, alone) =
                            (&mut beside[..nonces.len()], &mut alone[..nonces.len()]);
                        let seed = [call as u8; 64];
                        e.mask::<MlDsa65>(&seed, nonces, bytes, beside, Some(&mut shadow));
                        e.mask::<MlDsa65>(&seed, nonces, bytes, alone, None);
                        assert!(beside == alone);
                    }
                }
                let digest = hash.finish::<64>(text);
                assert_eq!(
                    digest,
                    h::<64>(permute_one, &[text]),
                    "{length} {calls} {complete}"
                );
            }
        }
    }
}

/// Seeds of their own against one seed a call, on the portable backend.
fn sampling_each_agrees<P: Parameters, E: Engine>(e: E) {
    fn targets<'a, const SEED: usize>(
        seeds: &'a [[u8; SEED]],
        out: &'a mut [Poly],
    ) -> Vec<Target<'a, SEED>> {
        let nonces = (0..).map(|i| i * 301 + 7);
        seeds
            .iter()
            .zip(nonces)
            .zip(out)
            .map(|((seed, nonce), out)| Target { seed, nonce, out })
            .collect()
    }
    for count in [1, 2, 7, 8, 9, 19] {
        let rhos: Vec<[u8; 32]> = (0..count).map(|i| [i as u8; 32]).collect();
        let seeds: Vec<[u8; 64]> = (0..count).map(|i| [200 - i as u8; 64]).collect();
        let zero = std::vec![Poly([0; N]); count];
        let (mut uniform, mut bounded, mut mask) = (zero.clone(), zero.clone(), zero);
        e.uniform_each(&mut targets(&rhos, &mut uniform));
        e.bounded_each::<P>(&mut targets(&seeds, &mut bounded));
        let mut bytes = [[0; 680]; 8];
        e.mask_each::<P>(&mut targets(&seeds, &mut mask), &mut bytes[..E::STATES]);
        for i in 0..count {
            let nonce = [i as u16 * 301 + 7];
            let mut one = [Poly([0; N])];
            Portable.uniform(&rhos[i], &nonce, &mut one, None);
            assert_eq!(uniform[i], one[0], "uniform {i} of {count}");
            Portable.bounded::<P>(&seeds[i], &nonce, &mut one.iter_mut());
            assert_eq!(bounded[i], one[0], "bounded {i} of {count}");
            Portable.mask::<P>(&seeds[i], &nonce, &mut bytes[..1], &mut one, None);
            assert_eq!(mask[i], one[0], "mask {i} of {count}");
        }
    }
}

fn all<E: Engine>(e: E) {
    packing_agrees(e);
    permutations_agree(e);
    shadows_agree(e);
    transforms_multiply(e);
    arithmetic_agrees(e);
    rounding_agrees::<MlDsa44, E>(e);
    rounding_agrees::<MlDsa65, E>(e);
    rounding_agrees::<MlDsa87, E>(e);
    small_products_are_exact::<MlDsa44, E>(e);
    small_products_are_exact::<MlDsa65, E>(e);
    small_products_are_exact::<MlDsa87, E>(e);
    sampling_agrees::<MlDsa44, E>(e);
    sampling_agrees::<MlDsa65, E>(e);
    sampling_agrees::<MlDsa87, E>(e);
    sampling_each_agrees::<MlDsa44, E>(e);
    sampling_each_agrees::<MlDsa65, E>(e);
}

#[test]
fn portable_kernels() {
    all(Portable);
}

/// Runs all tests on a detected engine; a missing one must not be among the expected.
#[allow(dead_code)]
fn all_if_present<E: Engine>(name: &str, engine: Option<E>) {
    let expected = std::env::var("MLDSA_EXPECT_BACKENDS").unwrap_or_default();
    match engine {
        Some(e) => all(e),
        None => assert!(
            !expected.split(',').any(|expected| expected == name),
            "MLDSA_EXPECT_BACKENDS names {name}, which this CPU lacks"
        ),
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_kernels() {
    all_if_present("avx2", super::avx2::Avx2::detect());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512_kernels() {
    all_if_present("avx512", super::avx512::Avx512::detect());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512_vbmi_kernels() {
    all_if_present("avx512-vbmi", super::avx512::Avx512Vbmi::detect());
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[test]
fn neon_kernels() {
    all_if_present("neon", super::neon::Neon::detect());
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[test]
fn neon_sha3_kernels() {
    all_if_present("neon-sha3", super::neon::NeonSha3::detect());
}

/// The CPU features that rustc compiles with where `enabled` are asked for.
fn features(target: &str, enabled: &str) -> BTreeSet<String> {
    let asked = enabled
        .split(',')
        .map(|feature| std::format!("+{feature},"));
    let asked = asked.filter(|feature| feature != "+,").collect::<String>();
    let told = std::process::Command::new("rustc")
        .args(["--print", "cfg", "--target", target, "-C"])
        .arg(std::format!(
            "target-feature={}",
            asked.trim_end_matches(',')
        ))
        .output()
        .expect("rustc runs");
    assert!(told.status.success(), "{target}, {enabled}");
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    let names = told
        .lines()
        .filter_map(|line| line.strip_prefix("target_feature="));
    names.map(|name| name.trim_matches('"').into()).collect()
}

/// A file, or all files of a folder, of the backends.
fn source(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/backend");
    let path = path.join(name);
    if path.is_file() {
        return std::fs::read_to_string(path).unwrap();
    }
    let files = std::fs::read_dir(path).unwrap();
    files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

/// The features in a list of `cpufeatures`.
fn detected(text: &str, list: &str) -> BTreeSet<String> {
    let mut lists = text.split("cpufeatures::new!(");
    let all = lists.find(|part| part.trim_start().starts_with(list));
    let all = all.expect(list).split(");").next().unwrap();
    all.split('"')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

/// A function with CPU features runs where its token is: so every feature that it is compiled
/// with, implied ones too, must be one that the token's `detect` has found.
#[test]
#[cfg_attr(miri, ignore = "runs rustc")]
fn tokens_prove_all_features_of_their_entry_points() {
    let (text256, text512, text_arm) = (source("avx2"), source("avx512"), source("neon.rs"));
    let avx2 = detected(&text256, "cpu_has_avx2");
    let mut avx512 = &avx2 | &detected(&text512, "cpu_has_avx512");
    let f16c = "cpu_has_avx512::get() && (cfg!(target_feature = \"f16c\") || cpu_has_f16c());";
    avx512.extend(text512.contains(f16c).then(|| "f16c".into()));
    let vbmi = &avx512 | &detected(&text512, "cpu_has_vbmi");
    let sha3 = detected(&text_arm, "cpu_has_sha3");
    for (target, text, proved, engine, engine_proved, attributes) in [
        ("x86_64-unknown-linux-gnu", text256, &avx2, "Avx2", &avx2, 4),
        (
            "x86_64-unknown-linux-gnu",
            text512,
            &avx512,
            "Avx512Vbmi",
            &vbmi,
            5,
        ),
        (
            "aarch64-unknown-linux-gnu",
            text_arm,
            &BTreeSet::new(),
            "NeonSha3",
            &sha3,
            4,
        ),
    ] {
        let mut seen = 0;
        for (at, start) in text.match_indices("enable = \"") {
            let enabled = text[at + start.len()..].split('"').next().unwrap();
            // The macro that the attribute is an argument of, if it is one, names its engine first.
            let (_, inside) = text[..at].rsplit_once("!(").unwrap_or_default();
            let of_engine = !inside.contains(';') && inside.split(',').next() == Some(engine);
            let proved = if of_engine { engine_proved } else { proved };
            let compiled = &features(target, enabled) - &features(target, "");
            let missing: Vec<_> = compiled.difference(proved).collect();
            assert!(missing.is_empty(), "{enabled}: {missing:?} not detected");
            seen += 1;
        }
        assert!(seen >= attributes, "{target}: {seen} attributes found");
    }
}

/// FIPS 202 sample values: the empty message, and lengths around the rate.
#[test]
fn sponges_agree_with_sha3() {
    use sha3::Digest;
    use shake::{ExtendableOutput, Update, XofReader};
    for length in [
        0, 1, 7, 8, 9, 71, 72, 135, 136, 137, 167, 168, 169, 272, 1000,
    ] {
        let message: Vec<u8> = (0..length).map(|i| i as u8).collect();
        let mut ours = [0; 500];
        let mut theirs = [0; 500];
        // In pieces, so that every alignment of the buffer is met.
        let mut sponge = Shake256::new(permute_one);
        for piece in message.chunks(13) {
            sponge.update(piece);
        }
        sponge.finish().squeeze(&mut ours);
        shake::Shake256::default()
            .chain(&message)
            .finalize_xof()
            .read(&mut theirs);
        assert_eq!(ours, theirs, "SHAKE256 of {length} bytes");
        Shake128::new(permute_one)
            .absorb(&message)
            .finish()
            .squeeze(&mut ours);
        shake::Shake128::default()
            .chain(&message)
            .finalize_xof()
            .read(&mut theirs);
        assert_eq!(ours, theirs, "SHAKE128 of {length} bytes");
        let digest: [u8; 64] = Sponge::<72, 6>::new(permute_one)
            .absorb(&message)
            .finish()
            .read();
        assert_eq!(
            digest[..],
            sha3::Sha3_512::digest(&message)[..],
            "SHA3-512 of {length} bytes"
        );
    }
}
