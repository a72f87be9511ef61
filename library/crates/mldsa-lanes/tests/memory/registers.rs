//! The vector registers after an operation.

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Bytes of a register.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// The registers' content.
pub struct Registers(UnsafeCell<[[u8; 64]; 32]>);

// SAFETY: one thread writes before it shows by `Pause::state` that others may read.
unsafe impl Sync for Registers {}

impl Registers {
    pub const fn new() -> Self {
        Registers(UnsafeCell::new([[0; 64]; 32]))
    }

    /// Store all of them. Little that the caller does between the operation's end and this uses them.
    #[inline(always)]
    pub fn store(&self) {
        let to = self.0.get();
        match WIDTH.load(SeqCst) {
            // SAFETY: the CPU has the instructions, and `to` has room for 32 registers of 64 bytes.
            #[cfg(target_arch = "x86_64")]
            64 => unsafe {
                asm!(
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                    "vmovdqu64 [{0} + 64*\\i], zmm\\i",
                    ".endr",
                    in(reg) to, options(nostack, preserves_flags)
                );
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            32 => unsafe {
                asm!(
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                    "vmovdqu [{0} + 64*\\i], ymm\\i",
                    ".endr",
                    in(reg) to, options(nostack, preserves_flags)
                );
            },
            _ => {}
        }
    }

    /// The bytes of all.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the writer waits or has ended.
        unsafe { (*self.0.get()).as_flattened() }
    }
}

/// Asks the CPU how wide its registers are. Where the answer is 0, nothing is stored.
pub fn prepare() -> usize {
    #[cfg(target_arch = "x86_64")]
    let width = match (
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx"),
    ) {
        (true, _) => 64,
        (_, true) => 32,
        _ => 0,
    };
    #[cfg(not(target_arch = "x86_64"))]
    let width = 0;
    WIDTH.store(width, SeqCst);
    width
}

/// Leaves 16 bytes in a register.
#[inline(always)]
pub fn leave(secret: &[u8; 16]) {
    // SAFETY: every x86-64 CPU has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("movdqu xmm14, [{0}]", in(reg) secret, out("xmm14") _, options(nostack, preserves_flags));
    }
    let _ = secret;
}
