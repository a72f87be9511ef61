//! The caller's pointers, and the heap.

use std::alloc::{Layout, alloc};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::*;
use crate::keys::use_environment;
use crate::{Outcome, mldsa_error};

/// `count` elements that the caller gives.
///
/// # Safety
/// Unless `count` is 0, or `from` is NULL or not aligned, `from` points to that many elements,
/// which nobody writes during `'a`.
pub unsafe fn input<'a, T>(from: *const T, count: usize) -> Outcome<&'a [T]> {
    check(from, count)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: `check` has seen to alignment and size, the caller to the rest.
    Ok(unsafe { slice::from_raw_parts(from, count) })
}

/// The same of elements that the call changes, which nobody else reads or writes during `'a`.
///
/// # Safety
/// As said.
pub unsafe fn changed<'a, T>(at: *mut T, count: usize) -> Outcome<&'a mut [T]> {
    check(at, count)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: `check` has seen to alignment and size, the caller to the rest.
    Ok(unsafe { slice::from_raw_parts_mut(at, count) })
}

/// The same of elements that the caller need not have written.
///
/// # Safety
/// As [`changed`], but for what the elements hold.
pub unsafe fn room<'a, T>(at: *mut T, count: usize) -> Outcome<&'a mut [MaybeUninit<T>]> {
    // SAFETY: the caller sees to it; an element may hold anything.
    unsafe { changed(at.cast(), count) }
}

/// Exactly `N` bytes.
///
/// # Safety
/// As [`input`].
pub unsafe fn exactly<'a, const N: usize>(from: *const u8, count: usize) -> Outcome<&'a [u8; N]> {
    // SAFETY: the caller sees to it.
    let bytes = unsafe { input(from, count) }?;
    bytes.try_into().map_err(|_| MLDSA_ERROR_LENGTH)
}

/// What a handle points to, or a struct of the caller's.
///
/// # Safety
/// `at` is NULL or points to a `T` that nobody changes during `'a`.
pub unsafe fn reference<'a, T>(at: *const T) -> Outcome<&'a T> {
    check(at, 1)?;
    // SAFETY: the caller sees to it.
    unsafe { at.as_ref() }.ok_or(MLDSA_ERROR_NULL)
}

fn check<T>(at: *const T, count: usize) -> Outcome {
    let bytes = count.checked_mul(size_of::<T>());
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(MLDSA_ERROR_LENGTH);
    }
    if count > 0 && (at.is_null() || !at.is_aligned()) {
        return Err(MLDSA_ERROR_NULL);
    }
    Ok(())
}

/// A place for one value of the caller's, which may never have been written.
#[derive(Clone, Copy)]
pub struct Place<T>(*mut T);

impl<T> Place<T> {
    /// # Safety
    /// `at` is NULL or not aligned, or points to room for a `T`, which nobody else uses while this
    /// exists.
    pub unsafe fn new(at: *mut T) -> Outcome<Self> {
        check(at, 1)?;
        Ok(Place(at))
    }

    pub fn write(self, value: T) {
        // SAFETY: so `new` has been promised.
        unsafe { self.0.write(value) }
    }
}

/// The place of a new handle: NULL until the handle is there.
pub struct NewHandle<T>(Place<*mut T>);

impl<T> NewHandle<T> {
    /// # Safety
    /// As [`Place::new`].
    pub unsafe fn new(at: *mut *mut T) -> Outcome<Self> {
        // SAFETY: the caller sees to it.
        let place = unsafe { Place::new(at) }?;
        place.write(ptr::null_mut());
        use_environment()?;
        check_heap(KEY_HEAP)?;
        Ok(NewHandle(place))
    }

    pub fn write(self, value: T) -> Outcome {
        self.0.write(new_handle(value)?);
        Ok(())
    }
}

/// A handle for `value`, to be given to [`free`].
pub fn new_handle<T>(value: T) -> Outcome<*mut T> {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the size is not 0.
    let handle: *mut T = unsafe { alloc(Layout::new::<T>()) }.cast();
    if handle.is_null() {
        return Err(MLDSA_ERROR_MEMORY);
    }
    // SAFETY: this is room for a `T`.
    unsafe { handle.write(value) };
    Ok(handle)
}

/// Bytes of heap for a private key.
pub const KEY_HEAP: usize = 16 << 10;

/// An error unless the heap has `bytes` in one piece. The library's own allocations, of less than that,
/// follow, and end the process if another thread has taken the memory between.
pub fn check_heap(bytes: usize) -> Outcome {
    let mut room: Vec<u8> = Vec::new();
    let reserved = room.try_reserve_exact(bytes);
    black_box(&mut room);
    reserved.map_err(|_| MLDSA_ERROR_MEMORY)
}

/// A place for a value that one of several threads sets. Without a lock: a child of `fork` would wait for
/// a thread that it does not have.
pub struct SetOnce<T>(AtomicPtr<T>);

impl<T> SetOnce<T> {
    pub const fn new() -> Self {
        SetOnce(AtomicPtr::new(ptr::null_mut()))
    }

    pub fn get(&self) -> Option<&T> {
        // SAFETY: NULL, or a handle that lives as long as this.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Another thread's value stays, if there is one.
    pub fn set(&self, value: T) -> Outcome {
        let (null, mut handle) = (ptr::null_mut(), new_handle(value)?);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if self
            .0
            .compare_exchange(null, handle, order.0, order.1)
            .is_err()
        {
            // SAFETY: it is this function's alone.
            unsafe { free(&raw mut handle) };
        }
        Ok(())
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        // SAFETY: NULL or a handle, and nobody uses it any more.
        unsafe { free(self.0.get_mut()) };
    }
}

/// Frees what the handle at `at` points to, and makes it NULL.
///
/// # Safety
/// `at` is NULL, or points to NULL or to a handle of [`new_handle`], which nobody else uses.
pub unsafe fn free<T>(at: *mut *mut T) {
    let _: mldsa_error = crate::barrier(|| {
        // SAFETY: the caller sees to it.
        let handle = unsafe { changed(at, 1) }?;
        let handle = std::mem::replace(&mut handle[0], ptr::null_mut());
        if !handle.is_null() {
            // SAFETY: `new_handle` allocated it as a box does, and no other reference to it is left.
            drop(unsafe { Box::from_raw(handle) });
        }
        Ok(())
    });
}

/// Room for bytes, which may never have been written.
#[derive(Clone, Copy)]
pub struct Room {
    to: *mut u8,
    capacity: usize,
}

impl Room {
    /// Room for `size` bytes.
    ///
    /// # Safety
    /// Unless `size` is 0 or `to` is NULL, `to` points to room for `capacity` bytes, which nobody
    /// else uses while this exists.
    pub unsafe fn new(to: *mut u8, capacity: usize, size: usize) -> Outcome<Self> {
        if capacity < size {
            return Err(MLDSA_ERROR_BUFFER);
        }
        check(to, size)?;
        Ok(Room { to, capacity })
    }

    /// Writes `bytes`, and returns them where they are now. The compiler does not know that they are the same.
    pub fn write_and_read(&mut self, bytes: &[u8]) -> Outcome<&mut [u8]> {
        self.write(bytes)?;
        // SAFETY: so `new` has been promised, and they are written.
        unsafe { changed(black_box(self.to), bytes.len()) }
    }

    pub fn write(self, bytes: &[u8]) -> Outcome {
        if self.capacity < bytes.len() {
            return Err(MLDSA_ERROR_BUFFER);
        }
        // SAFETY: so `new` has been promised, and there is room.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.to, bytes.len()) };
        Ok(())
    }
}

/// Writes `bytes` where there is room for them, and their number in any case.
///
/// # Safety
/// As [`Room::new`] and [`Place::new`].
pub unsafe fn measured(bytes: &[u8], to: *mut u8, capacity: usize, length: *mut usize) -> Outcome {
    // SAFETY: the caller sees to it.
    unsafe { Place::new(length) }?.write(bytes.len());
    // SAFETY: the caller sees to it.
    unsafe { Room::new(to, capacity, bytes.len()) }?.write(bytes)
}
