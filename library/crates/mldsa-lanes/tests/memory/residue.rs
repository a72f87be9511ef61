//! No operation leaves a secret on the dead stack or on the freed heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::needles::{Hit, Kind, Needles, absorbed, hashed, keccak_f};
use crate::operations::Given;
use crate::own_stack::{OwnStack, Pause, Used, Work, running};
use crate::{every_operation, heap, registers};
use mldsa_lanes::hazmat::external_mu;
use mldsa_oracle as oracle;
use mldsa_oracle::Params;

/// Keeps what an operation frees until it has been searched.
struct Keeping;

/// Blocks that an operation may free.
const MOST: usize = 10_000;
static FREED: AtomicUsize = AtomicUsize::new(0);
static BLOCKS: Mutex<[(usize, Option<Layout>); MOST]> = Mutex::new([(0, None); MOST]);

// SAFETY: every call that is within the limit goes to the system's allocator as it came, some of them later.
unsafe impl GlobalAlloc for Keeping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !heap::take(layout.size()) {
            return std::ptr::null_mut();
        }
        // Zeroed, so that the search reads nothing undefined.
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if running() {
            // One operation runs at a time, so nobody waits here.
            let number = FREED.fetch_add(1, SeqCst);
            if number < MOST {
                BLOCKS.lock().unwrap()[number] = (block.expose_provenance(), Some(layout));
            }
        } else {
            heap::give_back(layout.size());
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(block, layout) }
        }
    }
    // `realloc` as the trait has it: alloc, copy, dealloc.
}

#[global_allocator]
static ALLOCATOR: Keeping = Keeping;

/// Calls `look` with every block that was freed, and frees it.
fn freed_blocks(mut look: impl FnMut(&[u8])) {
    let count = FREED.swap(0, SeqCst);
    assert!(
        count <= MOST,
        "{count} blocks were freed, {MOST} can be kept"
    );
    for i in 0..count {
        let (address, layout) = BLOCKS.lock().unwrap()[i];
        let (block, layout) = (
            std::ptr::with_exposed_provenance_mut::<u8>(address),
            layout.unwrap(),
        );
        // SAFETY: `dealloc` was asked to free the block and did not; every byte was written.
        unsafe {
            look(std::slice::from_raw_parts(block, layout.size()));
            System.dealloc(block, layout);
        }
    }
}

fn bytes_of(words: &[u64]) -> &[u8] {
    // SAFETY: every byte of a word is a byte.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// Where a kind of secret was found: windows, and the least and the greatest depth below the
/// operation's entry in bytes.
#[derive(Clone, Copy)]
struct Place {
    windows: usize,
    depths: [usize; 2],
}

/// What a run leaves, by the place (stack or heap) and the kind.
type Left = BTreeMap<(&'static str, Kind), Place>;

fn note(left: &mut Left, place: &'static str, hits: Vec<Hit>, bytes: usize) {
    for Hit { kind, at } in hits {
        let depth = bytes - at;
        let entry = left.entry((place, kind)).or_insert(Place {
            windows: 0,
            depths: [depth; 2],
        });
        entry.windows += 1;
        entry.depths = [entry.depths[0].min(depth), entry.depths[1].max(depth)];
    }
}

/// What `work` leaves, on the stack at its pause and at its end, and in blocks that it frees.
fn left_by(stack: &mut OwnStack, needles: &Needles, work: &Work<'_>) -> Left {
    let mut left = Left::new();
    stack.run(work, |used| {
        let Used {
            words,
            live,
            registers,
        } = used;
        note(
            &mut left,
            "registers",
            needles.search(registers),
            registers.len(),
        );
        let mut hits = needles.search(bytes_of(words));
        // The result itself is the caller's.
        hits.retain(|hit| !live.contains(&hit.at));
        note(&mut left, "stack", hits, 8 * words.len());
    });
    freed_blocks(|block| note(&mut left, "heap", needles.search(block), block.len()));
    left
}

/// Whoever runs operations: one at a time.
pub static ONE: Mutex<()> = Mutex::new(());

#[test]
fn nothing_is_left() {
    let _one = ONE.lock();
    registers::prepare();
    let mut stack = OwnStack::new();
    let mut needles: Option<(&Params, Needles)> = None;
    let mut report = Vec::new();
    every_operation(|p, given, backend, (name, work)| {
        if needles.as_ref().is_none_or(|(of, _)| *of != p) {
            needles = Some((p, Needles::new(p, given)));
        }
        let (_, needles) = needles.as_ref().unwrap();
        for ((place, kind), Place { windows, depths }) in left_by(&mut stack, needles, work) {
            let [least, most] = depths;
            report.push(format!(
                "{} | {} | {name} | {place} | {kind} | {windows} | {least} to {most}",
                p.name,
                backend.name()
            ));
        }
    });
    assert!(
        report.is_empty(),
        "secrets are left; set | backend | operation | where | what | windows | depth\n{}",
        report.join("\n")
    );
}

/// Leaves a copy of `secret` on the dead stack.
#[inline(never)]
fn leave_on_stack(secret: &[u8]) {
    let mut copy = [0u8; 2048];
    copy[..secret.len()].copy_from_slice(secret);
    black_box(&mut copy);
}

/// Bytes of 32-bit coefficients.
fn words(poly: &[i64]) -> Vec<u8> {
    poly.iter()
        .flat_map(|x| (*x as i32).to_le_bytes())
        .collect()
}

/// The forms of secrets, and what each is to be found as.
fn planted(p: &Params, given: &Given) -> Vec<(Kind, Vec<u8>)> {
    let parts = oracle::sk_decode(p, &given.sk);
    let seeds = oracle::h(&[&given.xi, &[p.k as u8, p.l as u8]], 128);
    let rho_prime = &seeds[32..96];
    let rho_second = oracle::h(&[&parts.key[..], &given.rnd, given.mus[0].as_bytes()], 64);
    let y = &oracle::expand_mask(p, &rho_second, p.l)[0];
    let mut signer = oracle::Signer::new(p, &given.sk, given.mus[0].as_bytes(), &[0; 32]);
    let z = &signer.attempt().z[1];
    let eta_bytes = if p.eta == 2 { 96 } else { 128 };
    let (s1, s2) = (&parts.s1[1], &parts.s2[p.k - 1]);
    let byte_form = |sign: i64| s1.iter().map(|x| (p.eta + sign * x) as u8).collect();
    let centered =
        |poly: &[i64]| -> Vec<i64> { poly.iter().map(|x| oracle::mod_pm(*x, oracle::Q)).collect() };
    let mut forms = vec![
        ("xi", given.xi.to_vec()),
        ("xi", given.xi[13..21].to_vec()),
        ("rho'", rho_prime.to_vec()),
        ("K", parts.key.clone()),
        ("rho''", rho_second.clone()),
        ("rnd", given.rnd.to_vec()),
        ("s1", words(s1)),
        ("s2", words(&s2.iter().map(|x| -x).collect::<Vec<_>>())),
        ("s1", byte_form(1)),
        ("s1", byte_form(-1)),
        ("s1 packed", given.sk[128..][..eta_bytes].to_vec()),
        (
            "s2 packed",
            given.sk[128 + eta_bytes * (p.l + 1)..][..20].to_vec(),
        ),
        ("NTT(s1)", words(&oracle::ntt(s1))),
        ("NTT(s1)", words(&centered(&oracle::ntt(s1)))),
        ("NTT(s2)", words(&oracle::ntt(s2))[64..80].to_vec()),
        ("y", words(y)),
        ("NTT(y)", words(&oracle::ntt(y))),
        ("z of a rejected attempt", words(z)),
    ];
    // Packed y is the output of ExpandMask, which is words of states.
    let block = [&rho_second[..], &7u16.to_le_bytes()].concat();
    forms.push((
        "state of ExpandMask",
        oracle::h(&[&block], 640)[..64].to_vec(),
    ));
    let private = [&given.sk, &given.xi[..]].concat();
    let digest = hashed(&private, |_| ());
    assert_eq!(bytes_of(&digest)[..136], oracle::h(&[&private], 136));
    forms.push(("state of the digest", bytes_of(&digest).to_vec()));
    for (kind, block) in [
        (
            "state of H(xi)",
            [&given.xi[..], &[p.k as u8, p.l as u8]].concat(),
        ),
        (
            "state of ExpandS",
            [rho_prime, &2u16.to_le_bytes()].concat(),
        ),
        (
            "state of H(K)",
            [&parts.key[..], &given.rnd, given.mus[0].as_bytes()].concat(),
        ),
        ("state of ExpandMask", block),
    ] {
        let mut state = absorbed(&block);
        let mut seen = Vec::new();
        keccak_f(&mut state, |_, words| seen.push(*words));
        let before_chi = seen[seen.len() - 2];
        // The oracle's hash agrees with the permutation here.
        assert_eq!(bytes_of(&state)[..136], oracle::h(&[&block], 136));
        for state in [state, before_chi] {
            forms.push((kind, bytes_of(&state).to_vec()));
            // Lane 1 of four side by side.
            let interleaved = state.iter().flat_map(|word| [3, *word, 5, 7]);
            let interleaved: Vec<u64> = interleaved.collect();
            forms.push((kind, bytes_of(&interleaved).to_vec()));
        }
    }
    forms
}

/// The search finds each form on the dead stack, below a live result, and on the freed heap; and
/// nothing in strangers' values of the same forms.
#[test]
fn planted_secrets_are_found() {
    let _one = ONE.lock();
    let mut stack = OwnStack::new();
    for p in oracle::PARAMETER_SETS {
        let given = Given::new(p);
        let needles = Needles::new(p, &given);
        let mut other = Given::new(p);
        (other.xi, other.rnd) = (given.rnd, given.xi);
        other.mus = [other.mus[1], external_mu([1; 64])];
        other.sk = oracle::keygen(p, &other.xi).1;
        for ((kind, secret), (_, stranger)) in
            planted(p, &given).into_iter().zip(planted(p, &other))
        {
            let mut found = |place: &str, work: &Work<'_>| {
                let left = left_by(&mut stack, &needles, work);
                assert!(
                    left.keys().any(|key| *key == (place, kind)),
                    "{kind} is not found on the {place}, {}",
                    p.name
                );
            };
            found("stack", &|pause: &Pause| {
                leave_on_stack(&secret);
                pause.with(&());
            });
            found("stack", &|_| leave_on_stack(&secret));
            if kind == "K" && registers::prepare() > 0 {
                let part = secret[..16].try_into().unwrap();
                found("registers", &|pause: &Pause| {
                    registers::leave(part);
                    pause.with(&());
                });
            }
            found("heap", &|_| drop(black_box(secret.clone())));
            let mut nothing = |work: &Work<'_>| {
                let mut left = left_by(&mut stack, &needles, work);
                left.retain(|(place, _), _| *place != "registers");
                assert!(left.is_empty(), "{:?}", left.keys());
            };
            // Live, or no secret of this key.
            nothing(&|pause: &Pause| {
                let mut result = [0; 2048];
                result[..secret.len()].copy_from_slice(&secret);
                pause.with(&result);
                result.fill(0);
                black_box(&result);
            });
            if kind != "xi" && kind != "rnd" {
                nothing(&|_| leave_on_stack(&stranger));
            }
        }
        assert_eq!(needles.search(&oracle::h(&[b"random bytes"], 1 << 20)), []);
    }
}
