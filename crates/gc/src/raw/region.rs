//! Where things lie in a heap's region, and references as offsets into it.
//!
//! A heap is one region of address space, aligned to [`REGION`]. Two things follow.
//! A reference is four bytes: the number of an 8-byte granule, 0 for null. And
//! the address of any slot tells its heap, so that reading and writing a slot needs
//! no other argument, and a reference that would leave its heap is seen by
//! comparing the upper bits of two addresses.
//!
//! ```text
//! 0        64K            256M     320M          512M
//! | heap * | nursery …    | cards  | page records | pages: blocks, large objects …
//! ```

use std::ptr;

use super::header::Header;

/// Bytes that a reference counts in; every object starts at a multiple.
pub(crate) const GRANULE: usize = 8;
/// Alignment of a region, and the most that a 32-bit granule number can reach.
pub(crate) const REGION: usize = 1 << 35;
/// The unit in which the mature space is handed out.
pub(crate) const PAGE: usize = 4096;
/// Objects below this offset are young.
pub(crate) const NURSERY_END: usize = 256 << 20;
pub(crate) const NURSERY_START: usize = 64 << 10;
/// Each card is a byte that stands for this many bytes of the region.
pub(crate) const CARD: usize = 512;
pub(crate) const CARDS_START: usize = NURSERY_END;
pub(crate) const RECORDS_START: usize = CARDS_START + REGION / CARD;
pub(crate) const MATURE_START: usize = 512 << 20;

const _: () = assert!(RECORDS_START + REGION / PAGE * 16 <= MATURE_START);

/// A reference as it is stored: the number of the granule where the object
/// starts, or 0.
///
/// The two top bits are set aside for leak pruning and invalidated references
/// (untouched, poisoned), in heaps that are built for them and so hold at most
/// 8 GiB. At the top they cost a plain read nothing: an untagged reference
/// is used as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub(crate) struct Raw(pub(crate) u32);

impl Raw {
    pub(crate) const NULL: Raw = Raw(0);

    #[inline]
    pub(crate) fn from_offset(offset: usize) -> Self {
        debug_assert!(offset.is_multiple_of(GRANULE) && offset < REGION);
        Self((offset / GRANULE) as u32)
    }

    #[inline]
    pub(crate) fn of(object: *const u8) -> Self {
        Self::from_offset(object.addr() & (REGION - 1))
    }

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether the object is in the nursery. Null counts as young; callers that
    /// care test for it first.
    #[inline]
    pub(crate) fn is_young(self) -> bool {
        self.0 < (NURSERY_END / GRANULE) as u32
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        self.0 as usize * GRANULE
    }

    #[inline]
    pub(crate) fn page(self) -> u32 {
        ((self.offset() - MATURE_START) / PAGE) as u32
    }
}

/// The first address of a heap's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Base(usize);

impl Base {
    /// The region that starts at this address, whose provenance is exposed so that
    /// pointers into it can be made from numbers.
    pub(crate) fn expose(start: *mut u8) -> Self {
        let address = start.expose_provenance();
        assert_eq!(address % REGION, 0);
        Self(address)
    }

    /// The region that an address lies in, if it lies in one.
    #[inline]
    pub(crate) fn of<T: ?Sized>(address: *const T) -> Self {
        Self(address.cast::<u8>().addr() & !(REGION - 1))
    }

    /// The address of an offset. Making it is safe; using it needs invariant H1.
    #[inline]
    pub(crate) fn at(self, offset: usize) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.0 + offset)
    }

    #[inline]
    pub(crate) fn object(self, raw: Raw) -> *mut u8 {
        self.at(raw.offset())
    }

    /// The header of an object, or of a free run.
    ///
    /// # Safety
    /// `raw` names the start of a cell, a large object or a nursery object in
    /// committed memory of this region (H1), and the heap outlives `'a`.
    #[inline]
    pub(crate) unsafe fn header<'a>(self, raw: Raw) -> &'a Header {
        // SAFETY: the caller's promise; a header is an atomic word, so that sharing it
        // is always allowed.
        unsafe { &*self.object(raw).cast::<Header>() }
    }
}
