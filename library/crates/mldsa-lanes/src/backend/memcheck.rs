//! Valgrind's client requests, for `make ct` alone (library/evidence/constant-time.md).
//!
//! A request is an instruction sequence that does nothing on a CPU and that Valgrind recognises
//! (`valgrind.h`, "ARCHITECTURE SPECIFICS"): four rotations of rdi by 128 bits in all, then
//! `xchg rbx, rbx`. rax points to the request's number and five arguments; rdx holds the answer for
//! the case that nobody listens, and then the answer.

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the check with Valgrind is written for x86-64");

const RUNNING: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
const MAKE_UNDEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 1;
const MAKE_DEFINED: u64 = MAKE_UNDEFINED + 1;

fn request(number: u64, address: u64, length: u64) -> u64 {
    let arguments = [number, address, length, 0, 0, 0];
    let mut answer = 0u64;
    // SAFETY: natively the rotations add up to two full turns of rdi and the exchange changes
    // nothing. Valgrind reads `arguments`, writes rdx, and of the program's memory changes nothing
    // but its own record of what is defined. The block may read and write memory for all the
    // compiler knows, so no value is carried past it in a register.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Marks the bytes of `values` as undefined: a secret.
pub(crate) fn make_undefined<T: Copy>(values: &mut [T]) {
    request(
        MAKE_UNDEFINED,
        values.as_mut_ptr() as u64,
        size_of_val(values) as u64,
    );
}

/// Marks the bytes of `values` as defined: public.
#[inline(always)]
pub(crate) fn make_defined<T: Copy>(values: &mut [T]) {
    request(
        MAKE_DEFINED,
        values.as_mut_ptr() as u64,
        size_of_val(values) as u64,
    );
}

/// Whether Valgrind runs the program.
pub(crate) fn running() -> bool {
    request(RUNNING, 0, 0) != 0
}

/// How many errors Valgrind has found so far, repetitions included.
pub(crate) fn errors() -> u64 {
    request(COUNT_ERRORS, 0, 0)
}
