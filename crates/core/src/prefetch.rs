//! Prefetching memory into the caches.

/// Prefetches a value's cache lines, so that they are loaded during other work. Does nothing on processors other than x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let first = (&raw const *value).cast::<i8>();
    for offset in (0..size_of::<T>()).step_by(64) {
        prefetch_line(first.wrapping_add(offset));
    }
    if size_of::<T>() > 64 {
        prefetch_line(first.wrapping_add(size_of::<T>() - 1)); // on a line of its own, unless the value is aligned
    }
}

/// Prefetches the cache line at an address, which may be invalid.
#[inline(always)]
pub fn prefetch_at<T: ?Sized>(address: *const T) {
    prefetch_line(address.cast());
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch_line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch is a hint. It reads nothing that the program can see, writes nothing and raises no fault, whatever the
    // address (Intel, Software Developer's Manual, volume 2, PREFETCHh: "merely a hint and does not affect program behavior"). All
    // processors of this architecture have SSE, which it belongs to.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_address: *const i8) {}
