//! Runs an operation on a stack that belongs to the test, so that what it leaves there may be read.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;

use crate::registers::Registers;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

/// More than an unoptimised build takes.
const BYTES: usize = 4 << 20;
/// What the stack holds before an operation.
const PAINT: u64 = 0x6c1d_93a8_e0f5_472b;

thread_local! {
    /// Whether this thread runs an operation.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// For the allocator: whether the calling thread runs an operation.
pub fn running() -> bool {
    RUNNING.get()
}

/// A stack, painted before each operation.
pub struct OwnStack {
    memory: Vec<u64>,
}

/// The stack below an operation's entry, as far as it was written to.
pub struct Used<'a> {
    /// From the lowest word that was written to.
    pub words: &'a [u64],
    /// The operation's result, as offsets of bytes in `words`: a value of the caller.
    pub live: Range<usize>,
    /// The vector registers as the operation left them.
    pub registers: &'a [u8],
}

impl Used<'_> {
    /// Peak stack in bytes.
    pub fn depth(&self) -> usize {
        8 * self.words.len()
    }
}

const WORKING: u8 = 0;
const PAUSED: u8 = 1;
const DONE: u8 = 2;

/// Where an operation shows its result.
pub struct Pause {
    state: AtomicU8,
    live: [AtomicUsize; 2],
    registers: Registers,
}

impl Pause {
    /// Waits while the dead stack below the caller is looked at; `result` is the caller's own. Small
    /// frames alone below the caller's, so that little of what the operation left is overwritten.
    #[inline(never)]
    pub fn with<T>(&self, result: &T) {
        self.registers.store();
        let start = std::ptr::from_ref(result).addr();
        self.live[0].store(start, SeqCst);
        self.live[1].store(start + size_of::<T>(), SeqCst);
        self.state.store(PAUSED, SeqCst);
        while self.state.load(SeqCst) == PAUSED {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    }
}

/// An operation that ends in [`Pause::with`], or before, and then drops its result.
pub type Work<'a> = dyn Fn(&Pause) + Sync + 'a;

struct Start<'a> {
    work: &'a Work<'a>,
    pause: Pause,
    entry: AtomicUsize,
}

extern "C" fn start(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `run` passes a `Start` that outlives the thread.
    let start = unsafe { &*argument.cast::<Start<'_>>() };
    let mark = 0u8;
    start.entry.store(
        std::ptr::from_ref(std::hint::black_box(&mark)).addr(),
        SeqCst,
    );
    RUNNING.set(true);
    (start.work)(&start.pause);
    RUNNING.set(false);
    start.pause.state.store(DONE, SeqCst);
    std::ptr::null_mut()
}

impl OwnStack {
    pub fn new() -> Self {
        OwnStack {
            memory: vec![0; BYTES / 8],
        }
    }

    /// Runs `work`; calls `look` at its pause and after its end.
    pub fn run(&mut self, work: &Work<'_>, mut look: impl FnMut(Used<'_>)) {
        self.memory.fill(PAINT);
        let base = self.memory.as_mut_ptr();
        let argument = Start {
            work,
            pause: Pause {
                state: AtomicU8::new(WORKING),
                live: [AtomicUsize::new(0), AtomicUsize::new(0)],
                registers: Registers::new(),
            },
            entry: AtomicUsize::new(0),
        };
        let first = base.addr().next_multiple_of(4096);
        let size = (BYTES - 4096) & !4095;
        // SAFETY: the thread's stack lies within `memory` and is not touched from here until the
        // thread waits or has ended; `argument` lives until it is joined.
        let thread = unsafe {
            let mut attributes = std::mem::zeroed();
            let mut thread = std::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
            let at = base.byte_add(first - base.addr()).cast();
            assert_eq!(libc::pthread_attr_setstack(&mut attributes, at, size), 0);
            let pointer = std::ptr::from_ref(&argument).cast_mut().cast();
            let made = libc::pthread_create(&mut thread, &attributes, start, pointer);
            assert_eq!(made, 0, "no thread");
            libc::pthread_attr_destroy(&mut attributes);
            thread
        };
        let Start { pause, entry, .. } = &argument;
        let mut look = |live: Range<usize>| {
            let top = (entry.load(SeqCst) - base.addr()) / 8;
            // SAFETY: within `memory`; the thread waits in `Pause::with`, or has ended.
            let words = unsafe { std::slice::from_raw_parts(base, top) };
            let lowest = words.iter().position(|word| *word != PAINT).unwrap_or(top);
            let from = base.addr() + 8 * lowest;
            let live = live.start.saturating_sub(from)..live.end.saturating_sub(from);
            look(Used {
                words: &words[lowest..],
                live,
                registers: pause.registers.bytes(),
            });
        };
        loop {
            match pause.state.load(SeqCst) {
                WORKING => std::thread::yield_now(),
                PAUSED => {
                    look(pause.live[0].load(SeqCst)..pause.live[1].load(SeqCst));
                    pause.state.store(WORKING, SeqCst);
                }
                _ => break,
            }
        }
        // SAFETY: made above and not joined yet.
        let joined = unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        assert_eq!(joined, 0);
        look(0..0);
    }
}
