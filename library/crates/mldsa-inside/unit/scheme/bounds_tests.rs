// Every operation, and every kernel, for all inputs at a time (`kernels/intervals.rs`), with each
// backend's lanes: no step overflows, and each kernel gets what it takes. library/evidence/bounds.md has the table.

use core::slice;
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

use crate::backend::tests::wide::intervals::{
    Avx2Intervals, Avx512Intervals, NeonIntervals, PortableIntervals,
};
use crate::backend::{Backend, Engine};
use crate::internals::Observed;
use crate::kernels::keccak::permute_one;
use crate::kernels::packing::Map;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::Shake256;
use crate::kernels::tests::intervals::{Inputs, Interval, Seen, analyse, anything};
use crate::params::{N, Parameters, Q};
use crate::scheme::message::{Input, Mu};
use crate::scheme::sign::{self, Key, One, Request};
use crate::scheme::{keygen, sample, verify};
use crate::sets::Scheme;
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};
use crate::tests::attempt::Checks;
use crate::tests::checks::{Tracing, difference_exceeds, make_hint_any, sum_exceeds};

/// What gives ranges that intervals cannot show, as they forget that two numbers came from one: a
/// test goes through all inputs (library/evidence/bounds.md).
const BY_ALL_INPUTS: [&str; 6] = [
    "add_center gives a",
    "bounded gives out",
    "center gives a",
    "power2round gives t",
    "split gives w",
    "use_hint gives w",
];

fn boxed<T>(value: T) -> Box<T> {
    Box::new(value)
}

/// Key generation, import, signing and verification, with every kind of key and every answer of the
/// norm checks.
fn operations<P: Scheme, E: Engine>(e: E) -> usize {
    let backend = Backend::PORTABLE;
    let (mut sk, mut pk) = (Zero::ZERO, Zero::ZERO);
    P::keygen(backend, &[7; 32], &mut sk, &mut pk);
    let mut key = boxed(sign::Material::<P>::ZERO);
    P::expand_signing(backend, &sk, &mut key);
    let input = Input::Mu(&Mu::unbound([3; 64]));
    let request = Request::new(backend, &input, &[0; 32], 2);
    let full = Request::new(backend, &input, &[0; 32], 821);
    let sig = P::sign_compact(full, &sk).expect("a signature");
    let mut seen = 0;
    for beyond in [false, true] {
        let checked = analyse(Inputs::AsTheyCome, beyond, || {
            let mut memory = boxed(keygen::Memory::<P>::ZERO);
            let (mut new_sk, mut new_pk) = (Zero::ZERO, Zero::ZERO);
            keygen::keygen::<P, _>(e, &[7; 32], memory.values(), &mut new_sk, &mut new_pk);
            // Whatever it says: the bytes of a row of t0 are no interval.
            _ = keygen::recover::<P, _>(e, sk.as_ref(), memory.values(), &mut new_pk);

            key.fill(e, sk.as_ref());
            let mut memory = boxed(sign::Memory::<P>::ZERO);
            let signed = sign::sign_internal(e, Key::Expanded(&key), &request, &mut memory);
            assert_eq!(signed.is_ok(), !beyond, "an answer that is not followed");
            let mut attempts = 0;
            let mut messages = Observed {
                messages: One::new(&key, None),
                observer: &mut Tracing {
                    checks: Checks::All,
                    on_attempt: |_, _| attempts += 1,
                },
            };
            memory.signing.begin(0, 0, &[0; 64]);
            let places = slice::from_mut(&mut memory.signing);
            sign::rejection_sampling(e, &mut messages, places, 2, &mut memory.shared);
            assert!((1..=2).contains(&attempts));

            let mut key = boxed(verify::Material::<P>::ZERO);
            key.fill(e, pk.as_ref());
            _ = verify::verify(e, &key, &input, &sig);
            _ = verify::verify_compact::<P, E>(e, pk.as_ref(), &input, &sig);
        });
        seen += checked.len();
    }
    seen
}

/// Every kernel with all that it takes.
fn kernels<P: Parameters, E: Engine>(e: E) -> Seen {
    let c_tilde = [1; 64];
    let mut offsets = Offsets::zero();
    let mut reader = Shake256::new(permute_one).absorb(&c_tilde).finish();
    offsets.sample(P::TAU, &mut reader);
    let mut small = SmallPoly::zero();
    small.set(
        &Poly(core::array::from_fn(|i| {
            if i % 2 == 0 { P::ETA } else { -P::ETA }
        })),
        P::ETA,
    );
    analyse(Inputs::AllThatAreTaken, false, || {
        let any = || Poly(core::array::from_fn::<_, N, _>(|_| anything()));
        let row = || core::array::from_fn::<_, 7, _>(|_| any());
        let (mut out, mut more) = (any(), any());
        let mut group = std::vec![any(); 8];
        let mut bytes = [[0; 680]; 8];
        let bytes = &mut bytes[..E::STATES];
        e.uniform(
            &mut sample::expand_a_targets::<P>(&[0; 32], 0, &mut group),
            None,
        );
        e.bounded::<P>(&mut sample::consecutive_targets(
            &[0; 64],
            0,
            group.iter_mut(),
        ));
        e.mask::<P>(
            &mut sample::consecutive_targets(&[0; 64], 0, group.iter_mut()),
            bytes,
            None,
        );
        e.ntt(&mut any());
        e.inverse_ntt(&mut any());
        e.dot(&row()[..P::L], &row()[..P::L], &mut out);
        e.dot_minus(&row()[..P::L], &row()[..P::L], &any(), &any(), &mut out);
        e.product(&any(), &any(), &mut out);
        for bound in [1, i32::MAX] {
            e.add_small::<P>(&offsets, &small, &mut any(), bound);
            e.subtract_small::<P>(&offsets, &small, &mut any(), bound);
        }
        sum_exceeds::<P, _>(e, &any(), &offsets, &small, P::GAMMA1 - P::BETA);
        difference_exceeds::<P, _>(e, &any(), &offsets, &small, P::GAMMA2 - P::BETA);
        for (bits, map) in [
            (1, Map::Same),
            (P::ETA_BITS, Map::Below(P::ETA)),
            (P::W1_BITS, Map::Same),
            (10, Map::Same),
            (13, Map::Below(1 << 12)),
            (P::Z_BITS, Map::Below(P::GAMMA1)),
        ] {
            e.pack(bits, &any(), map, &mut std::vec![0; 32 * bits]);
        }
        for (bits, map) in [
            (P::ETA_BITS, Map::Below(P::ETA)),
            (10, Map::Scaled),
            (13, Map::Below(1 << 12)),
            (P::Z_BITS, Map::Below(P::GAMMA1)),
        ] {
            e.unpack(bits, &std::vec![0; 32 * bits], map, &mut out);
        }
        e.split::<P>(&mut any(), &mut more);
        e.power2round(&mut any(), &mut more);
        e.add_center(&mut any(), &any());
        for bound in [1, i32::MAX] {
            e.center(&mut any(), bound);
            e.exceeds(&any(), bound);
        }
        e.make_hint::<P>(&mut any(), &any());
        make_hint_any::<P, _>(e, &any(), &any(), &mut any(), &any());
        e.use_hint::<P>(&mut any(), &any());
    })
}

/// A number; as a multiple of q and a rest where two decimals would show the multiple alone.
fn number(x: i128) -> String {
    let q = i128::from(Q);
    let (multiple, rest) = ((x + q / 2).div_euclid(q), (x + q / 2).rem_euclid(q) - q / 2);
    match (multiple, rest) {
        (0, _) => std::format!("{x}"),
        (_, rest) if rest.abs() < q / 200 => {
            let times = [std::format!("{multiple}q"), "q".into(), "-q".into()];
            let times = &times[match multiple {
                1 => 1,
                -1 => 2,
                _ => 0,
            }];
            let rest = if rest == 0 {
                String::new()
            } else {
                std::format!("{rest:+}")
            };
            std::format!("{times}{rest}")
        }
        _ => std::format!("{:.2}q", x as f64 / Q as f64),
    }
}

fn range(x: Interval) -> String {
    if x.0 == -x.1 {
        std::format!("±{}", number(x.1))
    } else {
        std::format!("{}…{}", number(x.0), number(x.1))
    }
}

/// What is checked in one parameter set: every kernel on every backend's lanes, then operations.
fn of_set<P: Scheme>() -> Seen {
    let mut all = Seen::new();
    for seen in [
        kernels::<P, _>(PortableIntervals),
        kernels::<P, _>(NeonIntervals),
        kernels::<P, _>(Avx2Intervals),
        kernels::<P, _>(Avx512Intervals),
    ] {
        for (what, checked) in seen {
            assert!(
                checked.holds || BY_ALL_INPUTS.contains(&what.as_str()),
                "{what} {:?}, but {:?} is stated",
                checked.found,
                checked.stated
            );
            let hull = all.entry(what).or_insert(checked);
            hull.found = hull.found.hull(checked.found);
            hull.holds &= checked.holds;
        }
    }
    for (backend, seen) in [
        ("portable", operations::<P, _>(PortableIntervals)),
        ("neon", operations::<P, _>(NeonIntervals)),
        ("avx2", operations::<P, _>(Avx2Intervals)),
        ("avx512", operations::<P, _>(Avx512Intervals)),
    ] {
        // All but the samplers of batches and what only key generation of batches has.
        assert!(seen >= 2 * 40, "{seen} checks on {backend}");
    }
    all
}

/// The table of library/evidence/bounds.md.
fn table(sets: &[Seen; 3]) -> String {
    let mut rows = String::from("| | stated | by intervals | shown by |\n|---|---|---|---|\n");
    let cell = |ranges: Vec<String>| {
        if ranges.iter().all(|of| *of == ranges[0]) {
            ranges[0].clone()
        } else {
            ranges.join(", ")
        }
    };
    // What a string takes and gives is what its width holds.
    let packing = |what: &&String| what.starts_with("pack ") || what.starts_with("unpack ");
    for what in sets[0].keys().filter(|what| !packing(what)) {
        let of = |f: fn(&crate::kernels::tests::intervals::Checked) -> Interval| {
            cell(sets.iter().map(|set| range(f(&set[what]))).collect())
        };
        let stated = of(|checked| checked.stated);
        let (found, shown) = if what.contains(" takes ") {
            (String::new(), "the operations")
        } else if sets.iter().all(|set| set[what].holds) {
            (of(|checked| checked.found), "intervals")
        } else {
            (of(|checked| checked.found), "all inputs")
        };
        rows += &std::format!("| {what} | {stated} | {found} | {shown} |\n");
    }
    rows
}

fn nothing_overflows() {
    let sets = [
        of_set::<MlDsa44>(),
        of_set::<MlDsa65>(),
        of_set::<MlDsa87>(),
    ];
    let table = table(&sets);
    let stated = include_str!("../../../../evidence/bounds.md");
    assert!(
        stated.contains(&table),
        "evidence/bounds.md: the table is now\n{table}"
    );
    std::println!("bounds: {} ranges of kernels, 4 arithmetics", sets[0].len());
}

/// With room for registers of intervals, and for the frames of an unoptimised build.
#[test]
fn nothing_overflows_for_any_input() {
    let thread = std::thread::Builder::new().stack_size(1 << 28);
    let analysis = thread.spawn(nothing_overflows).expect("a thread");
    assert!(analysis.join().is_ok(), "said above");
}
