//! ML-DSA-65 on a Cortex-M4 without a heap, in 40 KiB of stack: a key is generated, imported and
//! expanded, signs, and the signature is verified. Keys, workspace and signature are static. Prints the
//! stack that each step takes, from its very top.

#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::fmt::Write;
use core::ptr;

use mldsa_lanes::mldsa65::{ExpandedSigningKey, SIGNING_KEY_BYTES, Set, Signature, SigningKey};
use mldsa_lanes::{Backend, Place, SignOptions, Workspace};

// The vector table; the reset, which switches the floating-point unit on; and faults, which end the
// program with an error.
global_asm!(
    ".section .vectors, \"a\"",
    ".word stack_top",
    ".word reset",
    ".rept 14",
    ".word fault",
    ".endr",
    ".section .text.reset, \"ax\"",
    ".global reset",
    ".thumb_func",
    "reset:",
    "ldr r0, =0xe000ed88",
    "ldr r1, [r0]",
    "orr r1, r1, #0xf00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "bl {run}",
    ".thumb_func",
    "fault:",
    "movs r0, #0x18",
    "ldr r1, =0x20023",
    "bkpt 0xab",
    "b fault",
    run = sym run,
);

/// A call to the debugger (semihosting).
fn semihosting(operation: usize, argument: usize) {
    // SAFETY: the operations used here read at most the string that `argument` points to.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument) }
}

/// A line for the debugger, with a zero byte at its end.
struct Line([u8; 80], usize);

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes().take(79 - self.1) {
            self.0[self.1] = byte;
            self.1 += 1;
        }
        Ok(())
    }
}

fn print(name: &str, bytes: usize) {
    let mut line = Line([0; 80], 0);
    writeln!(line, "{name}: {bytes} bytes").ok();
    semihosting(0x04, line.0.as_ptr().addr());
}

unsafe extern "C" {
    static mut stack_bottom: [u32; 40 << 8];
}

const PAINT: u32 = 0x6c1d_93a8;

/// The words of the stack below this frame.
fn below() -> (*mut u32, usize) {
    let bottom = (&raw mut stack_bottom).cast::<u32>();
    let here = 0u32;
    // 64 bytes of this frame.
    (
        bottom,
        (ptr::from_ref(&here).addr() - bottom.addr()) / 4 - 16,
    )
}

/// Runs a step and prints how deep its stack reached.
#[inline(never)]
fn step<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let (bottom, words) = below();
    for i in 0..words {
        // SAFETY: free stack below every frame.
        unsafe { bottom.add(i).write_volatile(PAINT) };
    }
    let result = run();
    // SAFETY: as above.
    let is_painted = |i: &usize| unsafe { bottom.add(*i).read_volatile() } == PAINT;
    let untouched = (0..words).take_while(is_painted).count();
    print(name, (40 << 10) - 4 * untouched);
    result
}

/// What does not lie on the stack.
struct Memory {
    key: Option<SigningKey>,
    stored: [u8; SIGNING_KEY_BYTES],
    expanded: Place<ExpandedSigningKey>,
    workspace: Workspace<Set>,
    signature: Option<Signature>,
}

static mut MEMORY: Memory = Memory {
    key: None,
    stored: [0; SIGNING_KEY_BYTES],
    expanded: Place::<ExpandedSigningKey>::new(),
    workspace: Workspace::new(),
    signature: None,
};

extern "C" fn run() -> ! {
    // SAFETY: nothing else runs, and this is called once.
    let memory = unsafe { &mut *(&raw mut MEMORY) };
    let is_right = sign_and_verify(memory).is_some();
    // An exit with success or with an error.
    semihosting(0x18, if is_right { 0x20026 } else { 0x20023 });
    loop {}
}

fn sign_and_verify(memory: &mut Memory) -> Option<()> {
    print("static memory", size_of_val(memory));
    let Memory {
        key,
        stored,
        expanded,
        workspace,
        signature,
    } = memory;
    step("from_seed_in", || {
        *key = Some(SigningKey::from_seed_in(
            workspace,
            Backend::detect(),
            &[7; 32],
        ));
    });
    *stored = *key.as_ref()?.encoded_bytes();
    step("from_encoded_bytes_in", || {
        if let Ok(imported) =
            SigningKey::from_encoded_bytes_in(workspace, Backend::detect(), stored)
        {
            *key = Some(imported);
        }
    });
    let key = key.as_ref()?;
    step("Place::fill", || {
        expanded.fill(key);
    });
    step("sign_in", || {
        let options = SignOptions::deterministic();
        *signature = expanded.get()?.sign_in(workspace, b"message", options).ok();
        Some(())
    })?;
    let (public, signature) = (key.verifying_key(), signature.as_ref()?);
    let verify = |message: &[u8]| public.verify_signature(message, signature).is_ok();
    let accepted = step("verify_signature", || verify(b"message"));
    expanded.wipe();
    (accepted && !verify(b"another")).then_some(())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    semihosting(0x18, 0x20023);
    loop {}
}
