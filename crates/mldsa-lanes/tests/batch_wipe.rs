//! No block of the heap that a batch gives back holds a secret. One test alone, because it replaces
//! the allocator.
#![cfg(feature = "alloc")]

#[path = "suite/common/backends.rs"]
mod backends;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use mldsa_lanes::batch::{self, SignJob};
use mldsa_lanes::{Backend, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey};
use mldsa_oracle as oracle;

/// Bytes of a secret that are looked for.
const NEEDLE: usize = 24;
static NEEDLES: Mutex<Vec<[u8; NEEDLE]>> = Mutex::new(Vec::new());
static SEARCHING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicUsize = AtomicUsize::new(0);
static SEARCHED: AtomicUsize = AtomicUsize::new(0);

struct Searching;

/// Looks for the secrets in a block that is about to be given back. Does not allocate.
fn search(block: &[u8]) {
    if let Ok(needles) = NEEDLES.try_lock() {
        SEARCHED.fetch_add(block.len(), SeqCst);
        let hits = block
            .windows(NEEDLE)
            .filter(|window| needles.iter().any(|needle| needle == window));
        FOUND.fetch_add(hits.count(), SeqCst);
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Searching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Zeroed, so that `search` reads nothing undefined.
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if SEARCHING.load(SeqCst) {
            // SAFETY: the block is the caller's, `layout.size()` bytes, and written at least once.
            search(unsafe { std::slice::from_raw_parts(block, layout.size()) });
        }
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
    // `realloc` as the trait has it: alloc, copy, dealloc.
}

#[global_allocator]
static ALLOCATOR: Searching = Searching;

/// How many secrets the blocks held that were given back during `work`.
fn left_by(needles: &[&[u8]], work: impl FnOnce()) -> usize {
    let needles = needles
        .iter()
        .map(|bytes| bytes[..NEEDLE].try_into().unwrap());
    *NEEDLES.lock().unwrap() = needles.collect();
    FOUND.store(0, SeqCst);
    SEARCHING.store(true, SeqCst);
    work();
    SEARCHING.store(false, SeqCst);
    FOUND.load(SeqCst)
}

fn bytes_of(poly: &[i64]) -> Vec<u8> {
    poly.iter()
        .flat_map(|x| (*x as i32).to_le_bytes())
        .collect()
}

fn nothing_is_left<P: ParameterSet>(backend: Backend) {
    let p = oracle::by_name(P::NAME).unwrap();
    let key = SigningKey::<P>::from_seed_on(backend, &[5; 32]);
    let expanded = key.expand();
    let parts = oracle::sk_decode(p, key.expanded_bytes().as_ref());
    let mus: Vec<[u8; 64]> = (0..10).map(|i| [i; 64]).collect();
    // ρ″ and the first mask of every job; K, and s1 as the products take it (η more, a byte each).
    let mut secrets = vec![parts.key.to_vec()];
    let s1 = parts.s1[0].iter().map(|x| (x + p.eta) as u8);
    secrets.push(s1.collect());
    for mu in &mus {
        let rho_second = oracle::h(&[&parts.key[..], &[0; 32], mu], 64);
        let y = oracle::expand_mask(p, &rho_second, 0);
        secrets.push(bytes_of(&y[0]));
        secrets.push(rho_second);
    }
    let needles: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
    // The search finds what is there.
    assert_eq!(left_by(&needles, || drop(secrets[0].clone())), 1);

    let jobs: Vec<_> = (0..mus.len())
        .map(|i| SignJob {
            key: match i % 2 {
                0 => (&key).into(),
                _ => (&expanded).into(),
            },
            input: Input::Mu(&mus[i]),
            rnd: [0; 32],
        })
        .collect();
    let searched = SEARCHED.load(SeqCst);
    let left = left_by(&needles, || {
        let results = batch::sign(&jobs);
        assert!(results.iter().all(Result::is_ok));
    });
    assert_eq!(left, 0, "signing, {} on {}", P::NAME, backend.name());
    assert!(
        SEARCHED.load(SeqCst) - searched > 20_000,
        "the buffers are not on the heap"
    );

    // ξ, K and the secret vectors of keys that are dropped.
    let seeds = [[5; 32]; 9];
    let s2 = bytes_of(&parts.s2[1]);
    let needles: [&[u8]; 4] = [&seeds[0], &parts.key, &bytes_of(&parts.s1[0]), &s2];
    let left = left_by(&needles, || drop(batch::keygen::<P>(backend, &seeds)));
    assert_eq!(left, 0, "keys, {} on {}", P::NAME, backend.name());
}

#[test]
fn no_secret_is_left_on_the_heap() {
    for backend in backends::backends() {
        nothing_is_left::<MlDsa44>(backend);
        nothing_is_left::<MlDsa65>(backend);
        nothing_is_left::<MlDsa87>(backend);
    }
}
