//! Faults in the running program: breakpoints in the library's code, a child process for each fault.
//!
//! The operation runs in this process with a breakpoint at the entry of one function of the library,
//! the *clock*. At each tick that has faults a child is forked for each: it disturbs memory at once, or
//! plants a breakpoint of its own at the instruction to be disturbed, and goes on to the end, at full
//! speed and in the library's unchanged code, and hands back what the operation gave.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use iced_x86::{InstructionInfoFactory, Register, UsedMemory};

use crate::code::{Code, Place, is_write};
use crate::numbers::Numbers;

/// What is disturbed at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is not carried out.
    Skip,
    /// A conditional jump goes the other way.
    Turn,
    /// A bit of what it wrote: a register, flags, memory.
    Result,
    /// A bit of the memory that it is about to read.
    Load,
}

#[derive(Clone, Copy, Debug)]
pub enum What {
    /// At the `hit`th time that the instruction is reached.
    At { site: usize, hit: u32, how: How },
    /// A bit of what an argument of the clock's function points to.
    Operand,
    /// A bit of the stack that the operation uses.
    Stack,
    /// A bit of the key in memory.
    Key,
    /// Nothing.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// After so many calls of the clock.
    pub tick: u32,
    pub what: What,
    /// Which bit.
    pub seed: u64,
}

#[derive(Debug)]
pub enum End {
    /// The place was not reached again, or there was nothing to disturb.
    Missed,
    Output(Vec<u8>),
    Refused,
    Panicked,
    Crashed,
    Hung,
}

/// So much CPU time, in µs, is far more than 821 attempts need.
const PATIENCE: i64 = 500_000;
/// Seconds after which a child that waits for something is ended.
const LONGEST: libc::c_uint = 20;
/// Functions that are called more often are no clocks.
pub const MOST_TICKS: u32 = 400;
const SLOT_BYTES: usize = 16 << 10;
const TRAP_FLAG: i64 = 0x100;
const INT3: u8 = 0xcc;
const MISSED: c_int = 7;

/// What a child tells its parent, in shared memory.
#[repr(C)]
struct Slot {
    disturbed: u32,
    kind: u32,
    length: usize,
    bytes: [u8; SLOT_BYTES - 16],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Idle,
    /// Which instructions are reached, and how often functions are called.
    Cover,
    /// Where each instruction that is executed belongs.
    Count,
    Clock,
    /// A child before its fault.
    Armed,
    /// A child after its fault.
    Done,
}

/// What to do after the next instruction.
#[derive(Clone, Copy)]
enum Step {
    Plant(usize),
    /// Puts a byte of the code back.
    Unbend(usize, u8),
    Flip(Target),
}

/// What an instruction wrote.
#[derive(Clone, Copy)]
enum Target {
    General(usize, usize),
    Vector(usize, usize),
    Flags,
    Memory(usize, usize),
}

pub struct Machine {
    code: &'static Code,
    mode: Mode,
    step: Option<Step>,
    covered: Vec<bool>,
    calls: Vec<u32>,
    executed: [u64; Place::ALL.len() + 1],
    clock: usize,
    ticks: u32,
    due: Vec<Fault>,
    ended: Vec<(usize, End)>,
    now: Option<Fault>,
    hits: u32,
    planted: Option<usize>,
    slot: *mut Slot,
    base: usize,
    key: (usize, usize),
}

static MACHINE: AtomicPtr<Machine> = AtomicPtr::new(null_mut());

fn machine() -> &'static mut Machine {
    // SAFETY: `Machine::start` stores a leaked box; there is one thread, and a handler of its signals.
    unsafe { &mut *MACHINE.load(Ordering::Relaxed) }
}

/// The part of an operation that faults hit begins, unless this is the call before.
#[inline(never)]
pub fn open(is_disturbed: bool) {
    if !is_disturbed {
        return;
    }
    let here = 0u8;
    let m = machine();
    m.base = std::ptr::from_ref(&here) as usize;
    match m.mode {
        Mode::Cover => m.code.sites.iter().for_each(|s| write(s.address, INT3)),
        // SAFETY: a plain call; the handler makes the processor stop after each instruction from here on.
        Mode::Count => unsafe {
            libc::raise(libc::SIGTRAP);
        },
        Mode::Clock => {
            let clock = m.clock;
            if !m.spawn(null_mut()) {
                write(m.code.sites[clock].address, INT3);
            }
        }
        _ => {}
    }
}

/// It ends. A disturbed child that releases nothing reports that here: a fault may have changed the frames to
/// which its caller would return.
#[inline(never)]
pub fn close(is_disturbed: bool, is_released: bool) {
    if !is_disturbed {
        return;
    }
    let m = machine();
    match m.mode {
        Mode::Cover => m.code.sites.iter().for_each(|s| write(s.address, s.byte)),
        Mode::Clock => m.restore(m.clock),
        Mode::Count => {}
        // SAFETY: ends the child.
        Mode::Armed => unsafe { libc::_exit(MISSED) },
        Mode::Done if !is_released => m.report(Ok(None)),
        _ => return,
    }
    m.mode = Mode::Idle;
}

/// What coverage tells of an operation.
pub struct Coverage {
    /// The instructions that are reached.
    pub sites: Vec<usize>,
    /// Entries of functions called at most [`MOST_TICKS`] times, and how often.
    pub clocks: Vec<(usize, u32)>,
}

type Operation<'a> = &'a mut dyn FnMut() -> Option<Vec<u8>>;

// An operation comes back to the machine, by `open`, `close` and breakpoints: nobody may hold it meanwhile.

/// Which instructions an operation reaches.
pub fn cover(operation: Operation<'_>) -> Coverage {
    let m = machine();
    m.covered.fill(false);
    m.calls.fill(0);
    m.mode = Mode::Cover;
    std::hint::black_box(operation());
    let m = machine();
    let sites = (0..m.covered.len()).filter(|i| m.covered[*i]).collect();
    let clocks = (0..m.calls.len()).map(|site| (site, m.calls[site]));
    let clocks = clocks.filter(|(_, calls)| (1..=MOST_TICKS).contains(calls));
    Coverage {
        sites,
        clocks: clocks.collect(),
    }
}

/// How many instructions an operation executes: of each [`Place`], then of other functions. Those of
/// `open` and `close` are among the latter.
pub fn count(operation: Operation<'_>) -> [u64; Place::ALL.len() + 1] {
    let m = machine();
    m.executed = Default::default();
    m.mode = Mode::Count;
    std::hint::black_box(operation());
    machine().executed
}

/// Runs the operation once by itself and once with each fault: what it gave by itself, and each fault's
/// number and end. Those of ticks that did not come are missing.
pub fn inject(
    operation: Operation<'_>,
    key: (usize, usize),
    clock: usize,
    faults: &[Fault],
) -> (Option<Vec<u8>>, Vec<(usize, End)>) {
    let m = machine();
    (m.clock, m.key, m.ticks) = (clock, key, 0);
    m.due = faults.to_vec();
    m.mode = Mode::Clock;
    let result = catch_unwind(AssertUnwindSafe(operation));
    let m = machine();
    if m.is_child() {
        m.report(result.map_err(|_| ()));
    }
    let output = result.expect("an operation without a fault does not panic");
    (output, std::mem::take(&mut m.ended))
}

impl Machine {
    /// Takes over the process's SIGTRAP and makes the code writable. Once.
    pub fn start(code: &'static Code) {
        // SAFETY: plain calls of the system; the handler is sound as `on_trap` says.
        let slot = unsafe {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            let stack = libc::stack_t {
                ss_sp: Box::leak(vec![0u8; 1 << 20].into_boxed_slice())
                    .as_mut_ptr()
                    .cast(),
                ss_flags: 0,
                ss_size: 1 << 20,
            };
            assert_eq!(libc::sigaltstack(&stack, null_mut()), 0);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, null_mut()), 0);
            for signal in [libc::SIGSEGV, libc::SIGBUS] {
                libc::signal(signal, libc::SIG_DFL);
            }
            let first = code.functions[0].start & !4095;
            let end = code.functions.iter().map(|f| f.end).max().unwrap_or(first);
            let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let made = libc::mprotect(first as *mut c_void, end - first, all);
            assert_eq!(made, 0, "the code cannot be made writable");
            let shared = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(null_mut(), SLOT_BYTES, access, shared, -1, 0)
        };
        assert_ne!(slot, libc::MAP_FAILED);
        std::panic::set_hook(Box::new(|panic| {
            if !machine().is_child() {
                eprintln!("{panic}");
            }
        }));
        let machine = Box::leak(Box::new(Machine {
            mode: Mode::Idle,
            step: None,
            covered: vec![false; code.sites.len()],
            calls: vec![0; code.sites.len()],
            executed: Default::default(),
            clock: 0,
            ticks: 0,
            due: Vec::new(),
            ended: Vec::new(),
            now: None,
            hits: 0,
            planted: None,
            slot: slot.cast(),
            base: 0,
            key: (0, 0),
            code,
        }));
        MACHINE.store(machine, Ordering::Relaxed);
    }

    fn is_child(&self) -> bool {
        matches!(self.mode, Mode::Armed | Mode::Done)
    }

    fn restore(&self, site: usize) {
        let site = &self.code.sites[site];
        write(site.address, site.byte);
    }

    /// A child for each fault of this tick; true in a child. `context` is null before the first tick.
    fn spawn(&mut self, context: *mut libc::ucontext_t) -> bool {
        for i in 0..self.due.len() {
            let fault = self.due[i];
            if fault.tick != self.ticks {
                continue;
            }
            // SAFETY: the slot is mapped; one thread, outside of the allocator: the breakpoints are in the
            // library's code alone.
            let child = unsafe {
                (*self.slot).disturbed = 0;
                (*self.slot).kind = 0;
                libc::fork()
            };
            assert!(child >= 0, "no process could be forked");
            if child == 0 {
                self.arm(fault, context);
                return true;
            }
            let end = self.end_of(child);
            self.ended.push((i, end));
        }
        false
    }

    fn end_of(&self, child: libc::pid_t) -> End {
        let mut status = 0;
        // SAFETY: waits for our own child, then reads what it wrote.
        unsafe {
            while libc::waitpid(child, &mut status, 0) != child {}
            let slot = &*self.slot;
            if libc::WIFSIGNALED(status) {
                return match (slot.disturbed, libc::WTERMSIG(status)) {
                    // Its time was up before its fault, which says nothing of the operation; misses are counted.
                    (0, libc::SIGPROF | libc::SIGALRM) => End::Missed,
                    (_, libc::SIGPROF | libc::SIGALRM) => End::Hung,
                    (0, signal) => panic!("a child ended before its fault, by signal {signal}"),
                    _ => End::Crashed,
                };
            }
            if libc::WEXITSTATUS(status) == MISSED || slot.disturbed == 0 {
                return End::Missed;
            }
            match slot.kind {
                1 => End::Output(slot.bytes[..slot.length].to_vec()),
                2 => End::Refused,
                3 => End::Panicked,
                _ => End::Crashed,
            }
        }
    }

    /// The child's end.
    fn report(&mut self, result: Result<Option<Vec<u8>>, ()>) -> ! {
        // SAFETY: the slot is mapped and larger than any output; the process ends.
        unsafe {
            let slot = &mut *self.slot;
            slot.kind = match result {
                Ok(Some(output)) => {
                    slot.length = output.len();
                    slot.bytes[..output.len()].copy_from_slice(&output);
                    1
                }
                Ok(None) => 2,
                Err(()) => 3,
            };
            libc::_exit(0)
        }
    }

    fn disturbed(&mut self) {
        self.mode = Mode::Done;
        // SAFETY: the slot is mapped.
        unsafe { (*self.slot).disturbed = 1 };
    }

    /// The child's beginning.
    fn arm(&mut self, fault: Fault, context: *mut libc::ucontext_t) {
        let limit = libc::itimerval {
            it_interval: zero_time(),
            it_value: libc::timeval {
                tv_sec: 0,
                tv_usec: PATIENCE,
            },
        };
        // SAFETY: plain calls. What the allocator says of what it finds is of no interest.
        unsafe {
            libc::setitimer(libc::ITIMER_PROF, &limit, null_mut());
            libc::alarm(LONGEST);
            libc::close(2);
        }
        self.now = Some(fault);
        self.mode = Mode::Armed;
        let mut numbers = Numbers::of(&[fault.seed]);
        let done = match fault.what {
            What::At { site, hit, .. } => {
                self.hits = hit;
                self.planted = Some(site);
                write(self.code.sites[site].address, INT3);
                return;
            }
            What::Nothing => true,
            What::Key => flip(self.key.0 + numbers.below(self.key.1), numbers.below(8)),
            What::Stack => {
                // SAFETY: the kernel's context of the interrupted code; such a fault has a tick.
                let here = unsafe { registers(context)[libc::REG_RSP as usize] as usize };
                // None of it is in use at the operation's own entry.
                let size = self.base.saturating_sub(here);
                size > 0 && flip(here + numbers.below(size), numbers.below(8))
            }
            What::Operand => {
                // SAFETY: as above.
                let registers = unsafe { registers(context) };
                let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_RCX];
                let pointers = arguments.map(|r| registers[r as usize] as usize);
                let place = *numbers.one_of(&pointers).unwrap_or(&0);
                // A Keccak state has 200 bytes, a polynomial 1,024.
                let within = [200, 1024][numbers.below(2)];
                flip(place + numbers.below(within), numbers.below(8))
            }
        };
        if done {
            self.disturbed();
        } else {
            // SAFETY: ends the child.
            unsafe { libc::_exit(MISSED) }
        }
    }

    /// At the instruction to be disturbed, which is whole again and the next to run.
    fn disturb(&mut self, context: *mut libc::ucontext_t) {
        let Some(Fault {
            what: What::At { site, how, .. },
            seed,
            ..
        }) = self.now
        else {
            unreachable!("a breakpoint without its fault")
        };
        let mut numbers = Numbers::of(&[seed]);
        let site = &self.code.sites[site];
        // SAFETY: the kernel's context of the interrupted code.
        let registers = unsafe { registers(context) };
        let address_of = |memory: &UsedMemory| {
            let value = |register: Register, _, _| match register {
                Register::FS | Register::GS => None,
                r if r.is_segment_register() => Some(0),
                r => Some(registers[general(r)?] as u64),
            };
            memory.virtual_address(0, value).map(|a| a as usize)
        };
        let done = match how {
            How::Skip => {
                registers[libc::REG_RIP as usize] = (site.address + site.length()) as i64;
                true
            }
            How::Turn => {
                // The lowest bit of a condition inverts it: 7x, or 0F 8x.
                let at = site.address + usize::from(site.byte == 0x0f);
                let byte = read(at);
                write(at, byte ^ 1);
                self.step = Some(Step::Unbend(at, byte));
                true
            }
            How::Load => {
                let all = site.memory(false);
                numbers.one_of(&all).copied().is_some_and(|memory| {
                    let byte = numbers.below(memory.memory_size().size());
                    address_of(&memory).is_some_and(|a| flip(a + byte, numbers.below(8)))
                })
            }
            How::Result => {
                let mut targets = Vec::new();
                let mut factory = InstructionInfoFactory::new();
                let info = factory.info(&site.instruction);
                for used in info
                    .used_registers()
                    .iter()
                    .filter(|u| is_write(u.access()))
                {
                    let (register, bytes) = (used.register(), used.register().size());
                    if let Some(place) = general(register) {
                        targets.push(Target::General(place, bytes));
                    } else if register.is_vector_register() {
                        targets.push(Target::Vector(register.number(), bytes));
                    }
                }
                for memory in site.memory(true) {
                    let bytes = memory.memory_size().size();
                    targets.extend(address_of(&memory).map(|a| Target::Memory(a, bytes)));
                }
                if site.instruction.rflags_modified() != 0 {
                    targets.push(Target::Flags);
                }
                self.step = numbers.one_of(&targets).map(|target| Step::Flip(*target));
                self.step.is_some()
            }
        };
        if self.step.is_some() {
            registers[libc::REG_EFL as usize] |= TRAP_FLAG;
        }
        if done {
            self.disturbed();
        } else {
            // SAFETY: ends the child.
            unsafe { libc::_exit(MISSED) }
        }
    }

    /// After the instruction whose result is disturbed.
    fn flip_result(&self, target: Target, context: *mut libc::ucontext_t) {
        let seed = self.now.map_or(0, |fault| fault.seed);
        let mut numbers = Numbers::of(&[seed, 1]);
        // SAFETY: the kernel's context of the interrupted code; of its vector registers, the place that
        // the CPU states.
        unsafe {
            match target {
                Target::General(place, bytes) => {
                    registers(context)[place] ^= 1 << numbers.below(8 * bytes);
                }
                Target::Flags => {
                    // Carry, zero, sign, overflow.
                    let flag = numbers.one_of(&[0, 6, 7, 11]).copied().unwrap_or(0);
                    registers(context)[libc::REG_EFL as usize] ^= 1i64 << flag;
                }
                Target::Memory(address, bytes) => {
                    flip(address + numbers.below(bytes), numbers.below(8));
                }
                Target::Vector(number, bytes) => {
                    let (component, place) = vector_byte(number, numbers.below(bytes));
                    let area = (*context).uc_mcontext.fpregs.cast::<u8>();
                    *area.add(place) ^= 1 << numbers.below(8);
                    // In use from now on, if it was not.
                    *area.add(512) |= 1 << component;
                }
            }
        }
    }

    fn trap(&mut self, context: *mut libc::ucontext_t) {
        // SAFETY: the kernel's context of the interrupted code.
        let registers = unsafe { registers(context) };
        if self.mode == Mode::Count {
            let site = self.code.at(registers[libc::REG_RIP as usize] as usize);
            let place = site.map_or(Place::ALL.len(), |site| {
                self.code.sites[site].place as usize
            });
            self.executed[place] += 1;
            registers[libc::REG_EFL as usize] |= TRAP_FLAG;
            return;
        }
        if let Some(step) = self.step.take() {
            registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
            match step {
                Step::Plant(site) => write(self.code.sites[site].address, INT3),
                Step::Unbend(at, byte) => write(at, byte),
                Step::Flip(target) => self.flip_result(target, context),
            }
            return;
        }
        let address = registers[libc::REG_RIP as usize] as usize - 1;
        let site = self.code.at(address);
        if self.mode == Mode::Idle {
            // The first instruction after a count.
            registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
            return;
        }
        let Some(site) = site.filter(|site| match self.mode {
            Mode::Cover => true,
            Mode::Clock => *site == self.clock,
            Mode::Armed => Some(*site) == self.planted,
            Mode::Idle | Mode::Count | Mode::Done => false,
        }) else {
            // A disturbed child ran into a breakpoint that fills a gap.
            assert!(self.is_child(), "a breakpoint that nobody set");
            // SAFETY: ends the child.
            unsafe { libc::abort() }
        };
        self.restore(site);
        registers[libc::REG_RIP as usize] = address as i64;
        let again = match self.mode {
            Mode::Cover => {
                self.covered[site] = true;
                self.calls[site] += u32::from(self.code.sites[site].is_entry);
                self.code.sites[site].is_entry && self.calls[site] <= MOST_TICKS
            }
            Mode::Clock => {
                self.ticks += 1;
                !self.spawn(context)
            }
            _ => {
                self.hits -= 1;
                self.hits > 0
            }
        };
        if again {
            self.step = Some(Step::Plant(site));
            registers[libc::REG_EFL as usize] |= TRAP_FLAG;
        } else if self.mode == Mode::Armed && self.hits == 0 {
            self.planted = None;
            self.disturb(context);
        }
    }
}

/// SIGTRAP: a breakpoint, or the instruction after one is over.
extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    machine().trap(context.cast());
}

/// # Safety
/// `context` is what the kernel gave a handler that has not returned.
unsafe fn registers<'a>(context: *mut libc::ucontext_t) -> &'a mut [i64; 23] {
    // SAFETY: as the caller says.
    unsafe { &mut (*context).uc_mcontext.gregs }
}

const fn zero_time() -> libc::timeval {
    libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    }
}

/// A byte of the library's code.
fn write(address: usize, byte: u8) {
    // SAFETY: `Machine::start` made the code writable, and the addresses are those of its instructions.
    unsafe { std::ptr::write_volatile(address as *mut u8, byte) }
}

fn read(address: usize) -> u8 {
    // SAFETY: as for `write`.
    unsafe { std::ptr::read_volatile(address as *const u8) }
}

/// Flips a bit of memory; false where none is, or it cannot be written.
fn flip(address: usize, bit: usize) -> bool {
    let mut byte = 0u8;
    let pointer = &raw mut byte;
    let there = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: 1,
    };
    let here = libc::iovec {
        iov_base: pointer.cast(),
        iov_len: 1,
    };
    // SAFETY: the kernel checks the address. What it disturbs may be anything: that is the purpose.
    unsafe {
        let own = libc::getpid();
        if libc::process_vm_readv(own, &here, 1, &there, 1, 0) != 1 {
            return false;
        }
        *pointer ^= 1 << bit;
        libc::process_vm_writev(own, &here, 1, &there, 1, 0) == 1
    }
}

/// Where the kernel's context has a general register.
fn general(register: Register) -> Option<usize> {
    if !register.is_gpr() {
        return None;
    }
    let places = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    places
        .get(register.full_register().number())
        .map(|r| *r as usize)
}

/// The component of XSAVE, and the place in its standard form, of a byte of a vector register.
fn vector_byte(number: usize, byte: usize) -> (u32, usize) {
    let start = |component| std::arch::x86_64::__cpuid_count(0xd, component).ebx as usize;
    match (number, byte) {
        (16.., _) => (7, start(7) + 64 * (number - 16) + byte),
        (_, 32..) => (6, start(6) + 32 * number + byte - 32),
        (_, 16..) => (2, start(2) + 16 * number + byte - 16),
        _ => (1, 160 + 16 * number + byte),
    }
}
