//! One reserved range of addresses that holds a whole heap.

use std::ptr::NonNull;

pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed, private memory, aligned to a huge page and unmapped on drop.
pub struct Region {
    mapping: NonNull<libc::c_void>,
    mapping_bytes: usize,
    base: NonNull<u8>,
}

// SAFETY: a region is plain memory without thread affinity.
unsafe impl Send for Region {}
// SAFETY: as above; whoever dereferences its addresses answers for races.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `bytes`; pages are committed when first touched, as huge pages
    /// where `huge` asks for them and the system agrees.
    pub fn reserve(bytes: usize, huge: bool) -> Self {
        let bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
        let mapping_bytes = bytes + HUGE_PAGE_BYTES;
        // SAFETY: a fresh anonymous mapping at an address of the system's
        // choice affects no existing memory.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapping_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(
            mapping,
            libc::MAP_FAILED,
            "cannot reserve {mapping_bytes} bytes"
        );
        let mapping = NonNull::new(mapping).expect("mmap does not return null");
        let slack = mapping.as_ptr().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the slack is less than a huge page, which the mapping has to
        // spare.
        let base = unsafe { mapping.cast::<u8>().add(slack) };
        if huge {
            advise_huge(base.as_ptr(), bytes);
        }
        Region {
            mapping,
            mapping_bytes,
            base,
        }
    }

    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Bytes of this region that huge pages back, according to the system.
    pub fn huge_bytes(&self) -> usize {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let (from, to) = (
            self.mapping.as_ptr() as usize,
            self.mapping.as_ptr() as usize + self.mapping_bytes,
        );
        let mut inside = false;
        let mut kilobytes = 0;
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace();
            let first = words.next().unwrap_or_default();
            if let Some((start, _)) = first.split_once('-') {
                inside =
                    usize::from_str_radix(start, 16).is_ok_and(|start| (from..to).contains(&start));
            } else if inside && first == "AnonHugePages:" {
                kilobytes += words
                    .next()
                    .and_then(|n| n.parse::<usize>().ok())
                    .unwrap_or(0);
            }
        }
        kilobytes * 1024
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing outlives the region that
        // owns it.
        unsafe { libc::munmap(self.mapping.as_ptr(), self.mapping_bytes) };
    }
}

/// Asks for huge pages behind the memory at `start`, which is to be touched
/// afterwards. A refusal only costs speed.
pub fn advise_huge(start: *mut u8, bytes: usize) {
    const PAGE_BYTES: usize = 4096;
    let slack = start.align_offset(PAGE_BYTES);
    if bytes > slack + HUGE_PAGE_BYTES {
        let whole_pages = (bytes - slack) & !(PAGE_BYTES - 1);
        // SAFETY: the advice does not change the contents of any memory.
        unsafe {
            libc::madvise(
                start.wrapping_add(slack).cast(),
                whole_pages,
                libc::MADV_HUGEPAGE,
            )
        };
    }
}
