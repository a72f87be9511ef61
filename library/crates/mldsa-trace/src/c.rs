//! The C functions, chiefly for the lab's Python. `include/mldsa_trace.h` is the interface; this file
//! turns its pointers into slices, and is the only one with `unsafe`.

#![allow(unsafe_code)]

mod jobs;
mod sign;
mod trace;

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87};

use crate::Checks;
use jobs::{Jobs, Keys};

/// Why a call failed: `enum mldsa_trace_error` of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Failure {
    /// The set is none of 44, 65, 87.
    Set = 1,
    /// `all_checks` is neither 0 nor 1.
    Option = 2,
    /// A buffer of that many elements cannot exist.
    Size = 3,
    /// A pointer is NULL, or not aligned, where elements are needed.
    Null = 4,
    /// `key_of` is not below the number of keys.
    KeyNumber = 5,
    /// The ends decrease.
    Ends = 6,
    /// A context of more than 255 bytes.
    Context = 7,
    /// More codes than room.
    Buffer = 8,
    /// A signature needs more than 821 iterations.
    Iterations = 9,
    /// A defect of the library.
    Internal = 10,
    /// The keys' form is none of the two.
    Form = 11,
    /// A private key that no key generation writes.
    Key = 12,
}

impl Failure {
    /// Every failure.
    pub const ALL: [Self; 12] = [
        Self::Set,
        Self::Option,
        Self::Size,
        Self::Null,
        Self::KeyNumber,
        Self::Ends,
        Self::Context,
        Self::Buffer,
        Self::Iterations,
        Self::Internal,
        Self::Form,
        Self::Key,
    ];

    const fn text(self) -> &'static CStr {
        match self {
            Self::Set => c"unknown parameter set; use 44, 65 or 87",
            Self::Option => c"all_checks is neither 0 nor 1",
            Self::Size => c"a buffer of that many elements cannot exist",
            Self::Null => c"a pointer is NULL or not aligned where elements are needed",
            Self::KeyNumber => c"a job names a key that is not among the keys",
            Self::Ends => c"the ends of messages and contexts decrease",
            Self::Context => c"a context is too long; at most 255 bytes are allowed",
            Self::Buffer => c"the buffer for the codes is too short",
            Self::Iterations => c"signing gave up after 821 rejected iterations",
            Self::Internal => c"internal error; standard error has the message",
            Self::Form => c"the keys are neither seeds nor encoded private keys",
            Self::Key => {
                c"invalid private key: s1 or s2 is out of range, or t0 or tr does not belong to the rest"
            }
        }
    }
}

/// A place in a caller's output buffer, which may never have been written.
type Out<T> = MaybeUninit<T>;

/// The version of the interface.
const ABI: i32 = 3;

/// The code of a call's outcome. A panic ends here.
fn outcome(work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    // What a call changes beyond its own memory is the caller's buffers, undefined after an error.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => failure as i32,
        Err(_) => Failure::Internal as i32,
    }
}

/// Whether `count` elements at `from` may be a slice.
fn check<T>(from: *const T, count: usize) -> Result<(), Failure> {
    let bytes = count.checked_mul(size_of::<T>());
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::Size);
    }
    if count > 0 && (from.is_null() || !from.is_aligned()) {
        return Err(Failure::Null);
    }
    Ok(())
}

/// `count` elements that the caller gives.
///
/// # Safety
/// Unless `count` is 0, or `from` is NULL or not aligned, `from` points to that many elements, which
/// nobody writes during `'a`.
unsafe fn input<'a, T>(from: *const T, count: usize) -> Result<&'a [T], Failure> {
    check(from, count)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: `check` has seen to the alignment and the size, the caller to the rest.
    Ok(unsafe { slice::from_raw_parts(from, count) })
}

/// Room for `count` elements. As undefined memory is no value of `T`, it takes `T` in a wrapper.
///
/// # Safety
/// Unless `count` is 0, or `to` is NULL or not aligned, `to` points to room for that many elements,
/// which nobody else reads or writes during `'a`.
unsafe fn output<'a, T>(to: *mut T, count: usize) -> Result<&'a mut [Out<T>], Failure> {
    check(to, count)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: `check` has seen to the alignment and the size, the caller to the rest.
    Ok(unsafe { slice::from_raw_parts_mut(to.cast(), count) })
}

/// Whether there are `factor` times as many elements.
fn times(count: usize, factor: usize) -> Result<usize, Failure> {
    count.checked_mul(factor).ok_or(Failure::Size)
}

/// The keys, private ones of `size` bytes.
///
/// # Safety
/// As the header says of `form` and `key`.
unsafe fn keys<'a>(
    form: u32,
    count: usize,
    from: *const u8,
    size: usize,
) -> Result<Keys<'a>, Failure> {
    match form {
        // SAFETY: the header gives seeds count · 32 bytes; an array has the alignment of its elements.
        0 => unsafe { input(from.cast(), count) }.map(Keys::Seeds),
        1 => {
            // SAFETY: the header gives private keys count · size bytes.
            let bytes = unsafe { input(from, times(count, size)?) }?;
            Ok(Keys::Private { bytes, size })
        }
        _ => Err(Failure::Form),
    }
}

/// The jobs' messages, contexts and rnd.
///
/// # Safety
/// As the header says of `data`, `ends` and `rnd`.
unsafe fn jobs<'a>(
    count: usize,
    data: *const u8,
    ends: *const u64,
    rnd: *const u8,
) -> Result<Jobs<'a>, Failure> {
    // SAFETY: the header gives `ends` 2·jobs elements.
    let ends = unsafe { input(ends, times(count, 2)?) }?;
    let bytes = ends.last().map_or(Ok(0), |end| usize::try_from(*end));
    let bytes = bytes.map_err(|_| Failure::Size)?;
    // SAFETY: the header gives `data` as many bytes as its last end says.
    let data = unsafe { input(data, bytes) }?;
    let rnd = if rnd.is_null() {
        None
    } else {
        // SAFETY: it is not NULL, so the header gives it jobs · 32 bytes; an array has the alignment of
        // its elements.
        Some(unsafe { input(rnd.cast(), count) }?)
    };
    Ok(Jobs { data, ends, rnd })
}

/// The version of the interface: 3.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_trace_abi() -> i32 {
    ABI
}

/// A sentence about an error code, ending with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_trace_error_string(error: i32) -> *const c_char {
    let failure = Failure::ALL
        .into_iter()
        .find(|&failure| failure as i32 == error);
    let text = match (failure, error) {
        (Some(failure), _) => failure.text(),
        (None, 0) => c"success",
        (None, _) => c"unknown error code",
    };
    text.as_ptr()
}

/// The backend in use, ending with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn mldsa_trace_backend() -> *const c_char {
    Backend::detect().c_name().as_ptr()
}

/// See the header.
///
/// # Safety
/// The pointers are as the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_trace_run(
    set: u32,
    all_checks: u32,
    form: u32,
    keys: usize,
    key: *const u8,
    count: usize,
    key_of: *const u32,
    data: *const u8,
    ends: *const u64,
    rnd: *const u8,
    room: usize,
    codes: *mut u16,
    code_ends: *mut u64,
    needed: *mut usize,
) -> i32 {
    outcome(|| {
        let (run, size) = match set {
            44 => (
                trace::run::<MlDsa44> as trace::Run,
                sign::sizes::<MlDsa44>().sk,
            ),
            65 => (
                trace::run::<MlDsa65> as trace::Run,
                sign::sizes::<MlDsa65>().sk,
            ),
            87 => (
                trace::run::<MlDsa87> as trace::Run,
                sign::sizes::<MlDsa87>().sk,
            ),
            _ => return Err(Failure::Set),
        };
        let checks = match all_checks {
            0 => Checks::Reached,
            1 => Checks::All,
            _ => return Err(Failure::Option),
        };
        // SAFETY: as the caller promises.
        let keys = unsafe { self::keys(form, keys, key, size) }?;
        // SAFETY: the header gives `key_of` jobs elements.
        let key_of = unsafe { input(key_of, count) }?;
        // SAFETY: as the caller promises.
        let jobs = unsafe { jobs(count, data, ends, rnd) }?;
        // SAFETY: the header gives `codes` room for as many elements.
        let codes = unsafe { output(codes, room) }?;
        // SAFETY: the header gives `code_ends` room for jobs elements.
        let code_ends = unsafe { output(code_ends, count) }?;
        // SAFETY: the header gives `needed` room for one element.
        let needed = unsafe { output(needed, 1) }?;
        let request = trace::Request {
            keys,
            key_of,
            jobs,
            checks,
        };
        request.check()?;
        let total = run(&request, codes, code_ends)?;
        needed[0].write(total);
        if total > room {
            return Err(Failure::Buffer);
        }
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// The pointers are as the header asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_trace_sign(
    set: u32,
    form: u32,
    count: usize,
    key: *const u8,
    data: *const u8,
    ends: *const u64,
    rnd: *const u8,
    pk: *mut u8,
    sk: *mut u8,
    signature: *mut u8,
) -> i32 {
    outcome(|| {
        let (sign, sizes) = match set {
            44 => (sign::run::<MlDsa44> as sign::Run, sign::sizes::<MlDsa44>()),
            65 => (sign::run::<MlDsa65> as sign::Run, sign::sizes::<MlDsa65>()),
            87 => (sign::run::<MlDsa87> as sign::Run, sign::sizes::<MlDsa87>()),
            _ => return Err(Failure::Set),
        };
        // SAFETY: as the caller promises; each job has a key.
        let keys = unsafe { keys(form, count, key, sizes.sk) }?;
        // SAFETY: as the caller promises.
        let jobs = unsafe { jobs(count, data, ends, rnd) }?;
        let part = |to: *mut u8, size| {
            if to.is_null() {
                return Ok(None);
            }
            // SAFETY: it is not NULL, so the header gives it room for jobs · size bytes.
            unsafe { output(to, times(count, size)?) }.map(Some)
        };
        let output = sign::Output {
            pk: part(pk, sizes.pk)?,
            sk: part(sk, sizes.sk)?,
            signature: part(signature, sizes.signature)?,
        };
        jobs.check()?;
        sign(keys, &jobs, output)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_code() {
        assert_eq!(outcome(|| panic!("on purpose")), Failure::Internal as i32);
        assert_eq!(outcome(|| Err(Failure::Buffer)), Failure::Buffer as i32);
        assert_eq!(outcome(|| Ok(())), 0);
    }
}
