//! Address space from the operating system: reserve, commit, release.

use std::io;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// A reserved range of addresses, aligned to its alignment, given back on drop.
/// Nothing in it can be touched before it is committed.
pub(crate) struct Reservation {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the reservation owns its addresses; what is stored in them is the
// business of whoever commits them.
unsafe impl Send for Reservation {}
// SAFETY: as above; all methods take `&self` and are thread-safe system calls.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `bytes` at a multiple of `align`; both are multiples of the page.
    pub(crate) fn new(bytes: usize, align: usize) -> io::Result<Self> {
        let total = bytes + align;
        let start = match map(ptr::null_mut(), total) {
            Ok(start) => start,
            // Where addresses are scarce (valgrind has 128 GiB of them), there may be room at a multiple, and not for both.
            Err(error) => return Self::at_a_multiple(bytes, align).ok_or(error),
        };
        let lead = start.align_offset(align);
        // SAFETY: `lead < align`, so both cuts and the rest lie in the new mapping.
        let (kept, tail) = unsafe { (start.add(lead), start.add(lead + bytes)) };
        unmap(start, lead);
        unmap(tail, total - lead - bytes);
        Ok(Self {
            start: NonNull::new(kept).expect("a mapping is not at address 0"),
            bytes,
        })
    }

    /// The same without room to cut off, at the first multiples.
    fn at_a_multiple(bytes: usize, align: usize) -> Option<Self> {
        (1..=64).find_map(|multiple| {
            let wanted = ptr::without_provenance_mut(align * multiple);
            let start = map(wanted, bytes).ok()?;
            if start != wanted {
                unmap(start, bytes);
                return None;
            }
            let start = NonNull::new(start)?;
            Some(Self { start, bytes })
        })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Makes part of the range readable and writable. Its pages read as zero.
    pub(crate) fn commit(&self, offset: usize, bytes: usize) -> io::Result<()> {
        assert!(offset + bytes <= self.bytes);
        // SAFETY: the range lies in our own mapping (asserted above).
        let done = unsafe {
            libc::mprotect(
                self.start.as_ptr().add(offset).cast(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Asks for huge pages where the system has them; marking jumps about the
    /// heap, and the translation of addresses is a good part of its cost.
    pub(crate) fn prefer_huge_pages(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes);
        #[cfg(target_os = "linux")]
        // SAFETY: advice about our own mapping; a refusal changes nothing.
        unsafe {
            libc::madvise(
                self.start.as_ptr().add(offset).cast(),
                bytes,
                libc::MADV_HUGEPAGE,
            );
        }
    }

    /// Has memory put behind a committed range now rather than when it is touched;
    /// what is there already stays as it is.
    pub(crate) fn populate(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes);
        #[cfg(target_os = "linux")]
        // SAFETY: advice about our own mapping that changes no contents; systems that do
        // not know it refuse.
        unsafe {
            libc::madvise(
                self.start.as_ptr().add(offset).cast(),
                bytes,
                libc::MADV_POPULATE_WRITE,
            );
        }
    }

    /// Gives the memory behind a committed range back; it stays committed and reads as
    /// zero from now on. The caller vouches that nobody uses what was there.
    pub(crate) fn release(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes);
        // SAFETY: the range lies in our own private mapping; the contents are
        // declared unused by the caller, and zero is a valid content of it
        // (heap invariant H6).
        unsafe {
            libc::madvise(
                self.start.as_ptr().add(offset).cast(),
                bytes,
                libc::MADV_DONTNEED,
            );
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        unmap(self.start.as_ptr(), self.bytes);
    }
}

/// Maps addresses that nobody can touch, where the system wants unless it can do so at `wanted`.
fn map(wanted: *mut u8, bytes: usize) -> io::Result<*mut u8> {
    // SAFETY: an anonymous mapping where nothing is mapped touches no memory of ours.
    let start = unsafe {
        libc::mmap(
            wanted.cast(),
            bytes,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(start.cast())
}

fn unmap(start: *mut u8, bytes: usize) {
    if bytes > 0 {
        // SAFETY: called only with parts of a mapping made by `map` that nobody else refers to.
        unsafe {
            libc::munmap(start.cast(), bytes);
        }
    }
}

/// For how long this thread has had a processor so far: what it does itself, whatever else the machine does.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a place for the answer. Where there is no such clock, it stays as it is.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
