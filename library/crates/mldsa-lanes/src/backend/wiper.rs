//! Wiping of the stack and of vector registers behind an operation on secrets.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2::Avx2, avx512::Avx512};

/// When it goes, overwrites `KIB` KiB of what the calls made under it have left on the stack: copies
/// that registers were spilled to, arguments and results on their way. It belongs into a function that
/// keeps no secret in its own frame and hands large ones on by reference. tests/memory sees on every
/// backend that the calls go no deeper. Then it overwrites the vector registers.
pub(crate) struct Wiper<const KIB: usize>;

impl<const KIB: usize> Drop for Wiper<KIB> {
    fn drop(&mut self) {
        overwrite::<KIB>();
        wipe_registers();
    }
}

#[inline(never)]
fn overwrite<const KIB: usize>() {
    let below = [[0u64; 128]; KIB];
    zeroize::optimization_barrier(&below);
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn wipe_registers() {}

/// Those of all backends that the CPU has, whatever the operation's: copies by the C library take them too. On a CPU
/// with other parts of AVX than a backend needs, their upper halves are left.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn wipe_registers() {
    if Avx512::detect().is_some() {
        // SAFETY: the token proves AVX-512 F and BW; the registers are declared.
        unsafe {
            core::arch::asm!(
                "vzeroall",
                ".irp i,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
                "vpxord zmm\\i, zmm\\i, zmm\\i",
                ".endr",
                ".irp i,0,1,2,3,4,5,6,7",
                "kxorq k\\i, k\\i, k\\i",
                ".endr",
                clobber_abi("sysv64"),
                options(nomem, nostack)
            );
        }
    } else if Avx2::detect().is_some() {
        // SAFETY: the token proves AVX; the registers are declared.
        unsafe {
            core::arch::asm!("vzeroall", clobber_abi("sysv64"), options(nomem, nostack));
        }
    } else {
        // SAFETY: every x86-64 CPU has SSE2; the registers are declared.
        unsafe {
            core::arch::asm!(
                ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "pxor xmm\\i, xmm\\i",
                ".endr",
                clobber_abi("sysv64"),
                options(nomem, nostack)
            );
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
fn wipe_registers() {
    // SAFETY: the target has NEON; the registers are declared, also those of which a callee keeps the low halves.
    #[cfg(target_feature = "neon")]
    unsafe {
        core::arch::asm!(
            ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
            "movi v\\i\\().16b, #0",
            ".endr",
            out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _,
            clobber_abi("C"),
            options(nomem, nostack)
        );
    }
}
