//! Collections whose memory is managed: they hold references, and are objects themselves.
//!
//! What only reads or overwrites is a method of the collection, borrowed from the mutator: `m[list].get(3)`. What
//! may need memory is a method of its local and takes the mutator: `list.push(&mut m, order)?`. So an iterator
//! cannot dangle: while it lives, nothing can be allocated.
//!
//! ```
//! use heaphound::collections::{GcHashMap, GcVec, MapMut, VecMut};
//! use heaphound::{Heap, Str, managed};
//!
//! #[managed]
//! struct Order {
//!     number: u64,
//! }
//!
//! let heap = Heap::builder().build()?;
//! let mut m = heap.attach("main")?;
//! let orders = GcVec::new(&mut m)?;
//! let by_name = GcHashMap::<Str, Order>::new(&mut m)?;
//! for number in 0..10 {
//!     let mut m = m.scope();
//!     let order = m.alloc(OrderInit { number })?;
//!     orders.push(&mut m, order)?;
//!     by_name.insert(&mut m, &format!("order {number}"), order)?;
//! }
//! assert_eq!(m[orders].iter().map(|it| it.number).sum::<u64>(), 45);
//! assert_eq!(m[by_name].get("order 7").unwrap().number, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Threads that change one collection at once must agree on a lock; without one, entries may be lost or appear
//! twice, and nothing worse.

mod deque;
mod intern;
mod map;
mod text;
mod values;
mod vec;

pub use deque::{DequeMut, GcDeque};
pub use intern::{InternMut, Interner};
pub use map::{ByIdentity, GcHashMap, Key, MapMut};
pub use text::{StringBuilder, TextMut};
pub use values::{ValueVec, ValuesMut};
pub use vec::{GcVec, VecMut};

/// The capacity that a collection grows to, so that growing one by one takes constant time on average.
fn grown(capacity: usize, needed: usize) -> usize {
    needed.max(capacity * 2).max(4)
}
