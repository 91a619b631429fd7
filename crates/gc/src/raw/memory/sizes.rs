//! Size classes: the cell sizes that blocks are cut into.

use crate::raw::memory::address::{GRANULE, PAGE};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 8 * PAGE;
/// Objects above this are large and get pages of their own.
pub(crate) const MAX_SMALL: usize = 8192;

/// Multiples of 8 up to 128, so that small structs waste nothing; then steps of
/// about an eighth; at the end what divides a block well.
const CELL_BYTES: [usize; 48] = [
    16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, //
    144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 512, 576, 640,
    720, //
    816, 904, 1024, 1168, 1360, 1632, 1816, 2048, 2336, 2720, 3272, 4096, 5456, 6552, 8192,
];

/// A cell size, by its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SizeClass(pub(crate) u8);

impl SizeClass {
    pub(crate) const COUNT: usize = CELL_BYTES.len();

    /// The smallest class that holds an object of that many bytes.
    #[inline]
    pub(crate) const fn of(bytes: usize) -> Self {
        debug_assert!(bytes <= MAX_SMALL);
        Self(BY_GRANULES[bytes.div_ceil(GRANULE)])
    }

    #[inline]
    pub(crate) const fn cell_bytes(self) -> usize {
        CELL_BYTES[self.0 as usize]
    }

    pub(crate) const fn cells_per_block(self) -> usize {
        BLOCK / self.cell_bytes()
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }
}

static BY_GRANULES: [u8; MAX_SMALL / GRANULE + 1] = {
    let mut table = [0; MAX_SMALL / GRANULE + 1];
    let mut class = 0;
    let mut granules = 0;
    while granules < table.len() {
        if granules * GRANULE > CELL_BYTES[class] {
            class += 1;
        }
        table[granules] = class as u8;
        granules += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_cell_that_holds_it() {
        for bytes in 1..=MAX_SMALL {
            let class = SizeClass::of(bytes);
            assert!(class.cell_bytes() >= bytes);
            assert!(class.0 == 0 || CELL_BYTES[class.0 as usize - 1] < bytes);
        }
    }

    #[test]
    fn rounding_wastes_at_most_a_quarter_and_up_to_4_kib_a_fifth() {
        for bytes in 16..=MAX_SMALL {
            let cell = SizeClass::of(bytes).cell_bytes();
            let share = if bytes <= 3272 { 5 } else { 4 };
            assert!(
                cell.saturating_sub(bytes + 7) * share <= cell,
                "{bytes} in {cell}"
            );
        }
    }
}
