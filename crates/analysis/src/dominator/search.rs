//! The depth-first search that numbers objects, and what it learns of edges on the way.
//!
//! An object gets its number when it is entered. Then all its edges are read, and those that lead to objects that
//! have not been entered are put on a stack; what is taken from the stack later may have been entered
//! meanwhile. All edges that do not lead to a new object are only noted, by the number of their source. The search itself
//! asks for one bit an object, which stays in the cache, and where the rest is to be found in memory does
//! not depend on what was found before. What the notes mean is worked out afterwards, in loops
//! whose steps do not wait for one another:
//!
//! - an edge from a larger number to a smaller one is *kept*, for `semi.rs` must look at it when the target's turn
//!   comes;
//! - of edges from smaller numbers to a larger one, all that matters is the one from the smallest: if it is not the
//!   parent, the target lies below it in the tree.

use heaphound_heap::root::RootSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::{ROOT, UNREACHED};

/// What the search has found.
pub struct Search {
    /// The number of each object, or [`UNREACHED`].
    pub number_of: Vec<u32>,
    /// The object of each number; [`NO_OBJECT`] for the virtual root.
    pub object_at: Vec<u32>,
    /// What is known of each number.
    pub nodes: Vec<Node>,
    /// Edges from larger numbers to smaller ones.
    pub kept: Vec<Kept>,
}

/// What is known of a number, at one place: whoever looks at one of them needs the others, and most time is spent
/// waiting for memory. It lies in memory as a [`Place`](super::Place), which takes its place.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub struct Node {
    /// The number of its parent in the tree. In the end, that of its nearest dominator.
    pub parent: u32,
    /// The smallest number from which an edge leads here, of those that are smaller than its own; then its semidominator.
    pub semi: u32,
    /// What it hangs on in the forest of `semi.rs`: its parent, or something above that.
    pub above: u32,
    /// The last kept edge that leads here, or [`NO_EDGE`]; then the smallest semidominator on the way to `above`.
    pub smallest: u32,
}

impl Node {
    /// Returns what is known when it is entered.
    fn below(parent: u32) -> Self {
        Self {
            parent,
            semi: parent,
            above: parent,
            smallest: NO_EDGE,
        }
    }
}

/// An edge that leads to a smaller number.
pub struct Kept {
    /// The number that it comes from.
    pub from: u32,
    /// The kept edge before that leads to the same object; [`NO_EDGE`] if it is the first. Until edges are sorted
    /// out, the object that it leads to.
    pub before: u32,
}

/// The end of a list of kept edges.
pub const NO_EDGE: u32 = u32::MAX;
/// What stands for the virtual root where an object is wanted.
pub const NO_OBJECT: u32 = u32::MAX;

/// An object that was entered and has edges on the stack.
struct Open {
    number: u32,
    /// Where its edges on the stack start.
    first: usize,
}

/// What the search itself has found.
struct Found {
    object_at: Vec<u32>,
    /// The number of each one's parent in the tree.
    parents: Vec<u32>,
    /// Edges that lead to objects that had been entered, by object.
    noted: Vec<Kept>,
}

impl Found {
    fn search(heap: &Snapshot) -> Self {
        let mut object_at = Vec::with_capacity(heap.len() + 1);
        let mut parents = Vec::with_capacity(heap.len() + 1);
        object_at.push(NO_OBJECT);
        parents.push(ROOT);
        // As much as there can be: memory that is not written is not taken.
        let mut noted: Vec<Kept> = Vec::with_capacity(heap.edges() + heap.roots().len());
        let mut entered = Bits::new(heap.len());
        let mut stack: Vec<u32> = Vec::new();
        heap.for_each_root_target(RootSet::All, |object| stack.push(object.0));
        let mut open = vec![Open {
            number: ROOT,
            first: 0,
        }];
        while let Some(last) = open.last() {
            let from = last.number;
            if stack.len() == last.first {
                open.pop();
                continue;
            }
            let Some(object) = stack.pop() else {
                break;
            };
            if entered.contains(object) {
                let before = object;
                noted.push(Kept { from, before });
                continue;
            }
            entered.add(object);
            let number = object_at.len() as u32;
            object_at.push(object);
            parents.push(from);
            let first = stack.len();
            heap.for_each_target(ObjectId(object), |to| {
                if entered.contains(to.0) {
                    noted.push(Kept {
                        from: number,
                        before: to.0,
                    });
                } else {
                    stack.push(to.0);
                }
            });
            if stack.len() > first {
                open.push(Open { number, first });
            }
        }
        Self {
            object_at,
            parents,
            noted,
        }
    }
}

impl Search {
    /// Numbers all that the roots of a heap reach.
    pub fn run(heap: &Snapshot, threads: usize) -> Self {
        // Memory that is used for the first time takes the system longer than us, so that somebody else asks for it.
        let prepare = || {
            let nodes = vec![Node::below(ROOT); heap.len() + 1];
            (nodes, vec![UNREACHED; heap.len()])
        };
        let (found, (nodes, number_of)) = std::thread::scope(|scope| {
            let prepared = (threads > 1).then(|| scope.spawn(prepare));
            let found = Found::search(heap);
            match prepared.map(|it| it.join()) {
                None => (found, prepare()),
                Some(Ok(prepared)) => (found, prepared),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
            }
        });
        let mut search = Self {
            number_of,
            object_at: found.object_at,
            nodes,
            kept: found.noted,
        };
        search.place(&found.parents, threads);
        drop(found.parents);
        search.find_targets(threads);
        search.sort_out();
        search
    }

    /// Writes down the number of each object and the parent of each number.
    fn place(&mut self, parents: &[u32], threads: usize) {
        self.nodes.truncate(parents.len());
        let nodes = &mut self.nodes;
        let mut hang = || {
            for (node, &parent) in nodes.iter_mut().zip(parents) {
                *node = Node::below(parent);
            }
        };
        let (number_of, object_at) = (&mut self.number_of, &self.object_at);
        let mut number = || {
            for (number, &object) in object_at.iter().enumerate().skip(1) {
                number_of[object as usize] = number as u32;
            }
        };
        match threads {
            0 | 1 => {
                hang();
                number();
            }
            // Two things to do, of about the same size.
            _ => std::thread::scope(|scope| {
                scope.spawn(hang);
                number();
            }),
        }
    }
    /// Replaces the objects that noted edges lead to by their numbers.
    fn find_targets(&mut self, threads: usize) {
        let number_of = &self.number_of;
        let share = self.kept.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            let mut parts = self.kept.chunks_mut(share).map(|edges| {
                move || {
                    for edge in edges {
                        edge.before = number_of[edge.before as usize];
                    }
                }
            });
            let first = parts.next();
            for part in parts {
                scope.spawn(part);
            }
            if let Some(first) = first {
                first();
            }
        });
    }

    /// Keeps the edges that lead to smaller numbers, in lists by target.
    fn sort_out(&mut self) {
        let mut count = 0;
        for at in 0..self.kept.len() {
            let Kept { from, before: to } = self.kept[at];
            let node = &mut self.nodes[to as usize];
            if from < to {
                node.semi = node.semi.min(from);
            } else if from > to && node.semi != ROOT {
                // What hangs on a root is dominated by none but the virtual one.
                let before = std::mem::replace(&mut node.smallest, count as u32);
                self.kept[count] = Kept { from, before };
                count += 1;
            }
        }
        self.kept.truncate(count);
        self.kept.shrink_to_fit();
    }
}

/// A set of objects.
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    #[inline]
    fn contains(&self, object: u32) -> bool {
        self.0[object as usize / 64] >> (object % 64) & 1 == 1
    }

    #[inline]
    fn add(&mut self, object: u32) {
        self.0[object as usize / 64] |= 1 << (object % 64);
    }
}
