//! The size classes of `half-lost`.
//!
//! Objects without slots, from 16 bytes to 4 KiB with an 8-byte header, are
//! allocated turn by turn, so that sizes mix as in a program; each class gets
//! the same number of bytes. A table of references for each class keeps them
//! alive. Then a random half of each table is cleared.

use super::{Digest, Scale, mix};

/// Object sizes in bytes, header included.
pub const SIZES: [usize; 16] = [
    16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
];

/// Calls a macro with the payload words of every class: `(index, words) …`.
///
/// Peers whose objects are Rust values need one type for each size.
#[macro_export]
macro_rules! for_each_size_class {
    ($macro:ident) => {
        $macro! {
            (0, 1) (1, 3) (2, 5) (3, 7) (4, 11) (5, 15) (6, 23) (7, 31)
            (8, 47) (9, 63) (10, 95) (11, 127) (12, 191) (13, 255) (14, 383) (15, 511)
        }
    };
}

/// Bytes allocated in each class.
pub fn class_bytes(scale: Scale) -> usize {
    match scale {
        Scale::Full => 16 << 20,
        Scale::Quick => 2 << 20,
    }
}

/// Objects of a class.
pub fn class_objects(scale: Scale, class: usize) -> usize {
    // Whole turns only; a turn is about a page of each class.
    turns(scale) * objects_per_turn(class)
}

fn turns(scale: Scale) -> usize {
    class_bytes(scale) / 4096
}

fn objects_per_turn(class: usize) -> usize {
    4096 / SIZES[class]
}

/// Calls `f(class, index)` for each object in the order of allocation.
pub fn for_each_birth(scale: Scale, mut f: impl FnMut(usize, usize)) {
    for turn in 0..turns(scale) {
        for class in 0..SIZES.len() {
            let count = objects_per_turn(class);
            for index in turn * count..(turn + 1) * count {
                f(class, index);
            }
        }
    }
}

/// Whether an object is in the half that stays.
pub fn stays(class: usize, index: usize) -> bool {
    payload(class, index) & 1 == 0
}

/// The first payload word.
pub fn payload(class: usize, index: usize) -> u64 {
    mix(((index as u64) << 8) | class as u64)
}

/// Adds a survivor's payload to the digest.
pub fn digest(digest: &mut Digest, class: usize, payload: u64) {
    digest.add(class as u64, payload);
}

/// The survivors and the tables in the nominal layout.
pub fn nominal_live_bytes(scale: Scale) -> u64 {
    (0..SIZES.len())
        .map(|class| {
            let objects = class_objects(scale, class);
            let stay = (0..objects).filter(|&index| stays(class, index)).count();
            (stay * SIZES[class] + objects * 8) as u64
        })
        .sum()
}
