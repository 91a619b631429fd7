//! A stand-in for the heap, what is asked of its objects, and the interpreter that every other way
//! is held against.
//!
//! Objects are laid out as ours: a header of 8 bytes with the class in the low 20 bits, references of
//! 4 bytes that are granule numbers from a base, 0 for null.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub const LANES: usize = 64;
pub const CLASS_BITS: u64 = (1 << 20) - 1;
/// The class of the objects that are tested.
pub const NODE: u32 = 1;
/// Has the same fields at other places.
const OTHER: u32 = 2;
/// Has none of them.
const BARE: u32 = 3;

pub struct Heap {
    memory: Vec<u64>,
    /// Where the classes have each field, by field and class.
    pub places: Vec<[Place; 4]>,
    /// The objects of class `NODE`; the last ones may be there twice.
    pub batches: Vec<[u32; LANES]>,
    /// As in `raw/region.rs`: what refers to an object is one below that, less one.
    pub reach: u32,
}

/// Where a class has a field: see `raw/fields.rs`.
#[derive(Clone, Copy)]
pub struct Place(u32);

impl Place {
    const NOWHERE: Self = Self(0);

    fn new(offset: u32, width: u32) -> Self {
        Self(offset << 4 | width)
    }

    #[inline]
    pub fn offset(self) -> usize {
        (self.0 >> 4) as usize
    }

    #[inline]
    pub fn width(self) -> u32 {
        self.0 & 15
    }

    #[inline]
    pub fn is_slot(self) -> bool {
        self.0 != 0 && self.width() == 0
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Contents {
    /// Lists of a hundred nodes, or a random tree, numbered depth first so that no order tells which
    /// nodes are leaves; all of one class. One edge in a thousand is wrong.
    OneClass,
    /// Every fiftieth object is of another class.
    Mixed,
    /// Anything refers to anything: only to compare answers.
    Random,
}

/// Names, width (0 for a slot) and offsets in `NODE` and in `OTHER`.
type Layout = &'static [(&'static str, u32, u32, u32)];
const LIST: Layout = &[("next", 0, 8, 16), ("prev", 0, 12, 20), ("data", 8, 16, 8)];
const TREE: Layout = &[
    ("left", 0, 8, 16),
    ("right", 0, 12, 20),
    ("parent", 0, 16, 24),
    ("data", 8, 24, 8),
];

/// Of the objects that a predicate, or a part of one, is about. The list has a granule for the
/// header, one for both slots and one for the data; the tree one more.
fn layout(text: &str) -> Layout {
    if text.contains("next") { LIST } else { TREE }
}

/// xorshift: the same heaps in every run.
pub struct Rng(pub u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

impl Heap {
    /// With the fields that a predicate names. Objects are visited in the order of the structure,
    /// which is that of addresses, unless they lie shuffled.
    pub fn new(
        text: &str,
        count: usize,
        shuffled: bool,
        contents: Contents,
        rng: &mut Rng,
    ) -> Self {
        let layout = layout(text);
        let granules = layout.len() as u32;
        let mut order: Vec<u32> = (0..count as u32).collect();
        if shuffled {
            (1..count).for_each(|at| order.swap(at, rng.below(at + 1)));
        }
        let object = |number: usize| 8 + order[number] * granules;
        let words = 8 + count * granules as usize;
        let mut heap = Self {
            memory: vec![0; words],
            places: Vec::new(),
            batches: Vec::new(),
            reach: words as u32 - 1,
        };
        for &(_, width, here, there) in layout {
            let (here, there) = (Place::new(here, width), Place::new(there, width));
            heap.places
                .push([Place::NOWHERE, here, there, Place::NOWHERE]);
        }
        let mut nodes = Vec::new();
        for (number, node) in random_tree(count, rng).into_iter().enumerate() {
            let is_other = match contents {
                Contents::OneClass => false,
                Contents::Mixed => rng.below(50) == 0,
                Contents::Random => rng.below(3) == 0,
            };
            let class = if is_other {
                [OTHER, BARE][rng.below(2)]
            } else {
                NODE
            };
            // Bits above the class, as marks are.
            let header = (rng.below(1 << 20) as u64) << 20 | u64::from(class);
            heap.memory[object(number) as usize] = header;
            if class == NODE {
                nodes.push(object(number));
            }
            for (field, &(name, width, ..)) in layout.iter().enumerate() {
                let is_wrong = contents == Contents::Random || rng.below(1000) == 0;
                let target = match name {
                    _ if is_wrong => (rng.below(4) > 0).then(|| rng.below(count)),
                    "next" => Some(number + 1).filter(|it| it % 100 != 0),
                    "prev" => (number % 100 != 0).then(|| number - 1),
                    "left" => node.left,
                    "right" => node.right,
                    "parent" => node.parent,
                    _ => Some(number),
                };
                let place = heap.places[field][class as usize];
                let target = target.filter(|&it| it < count);
                let (word, shift) = (place.offset() / 8, place.offset() % 8 * 8);
                let at = &mut heap.memory[object(number) as usize + word];
                match (place.is_slot(), width) {
                    (true, _) => *at |= u64::from(target.map_or(0, object)) << shift,
                    // Some are negative.
                    (_, 8) if place.width() == 8 => {
                        *at = target.unwrap_or(0).wrapping_sub(9) as u64
                    }
                    _ => {}
                }
            }
        }
        let last = nodes[nodes.len() - 1];
        nodes.resize(nodes.len().next_multiple_of(LANES), last);
        heap.batches = nodes.as_chunks().0.to_vec();
        heap
    }

    #[inline]
    pub fn base(&self) -> *const u8 {
        self.memory.as_ptr().cast()
    }

    #[inline]
    pub fn header(&self, object: u32) -> u64 {
        // SAFETY: whoever asks has an object of this heap, and there its header is.
        unsafe { &*self.at(object, 0).cast::<AtomicU64>() }.load(Relaxed)
    }

    #[inline]
    pub fn class_of(&self, object: u32) -> u32 {
        (self.header(object) & CLASS_BITS) as u32
    }

    #[inline]
    pub fn covers(&self, raw: u32) -> bool {
        raw.wrapping_sub(1) < self.reach
    }

    /// # Safety
    /// The object's class has a slot there.
    #[inline]
    pub unsafe fn slot(&self, object: u32, offset: usize) -> u32 {
        // SAFETY: the caller's promise; nobody writes.
        unsafe { &*self.at(object, offset).cast::<AtomicU32>() }.load(Relaxed)
    }

    /// # Safety
    /// The object's class has 8 bytes of plain data there.
    #[inline]
    pub unsafe fn number(&self, object: u32, offset: usize) -> i64 {
        // SAFETY: the caller's promise; nobody writes.
        unsafe { self.at(object, offset).cast::<i64>().read_unaligned() }
    }

    #[inline]
    fn at(&self, object: u32, offset: usize) -> *const u8 {
        self.base().wrapping_add(((object as usize) << 3) + offset)
    }
}

#[derive(Clone, Copy, Default)]
struct TreeNode {
    left: Option<usize>,
    right: Option<usize>,
    parent: Option<usize>,
}

/// Each node has a random part of the nodes below it to its left, the rest to its right.
fn random_tree(count: usize, rng: &mut Rng) -> Vec<TreeNode> {
    let mut tree = vec![TreeNode::default(); count];
    let mut subtrees = vec![(0, count)];
    while let Some((node, size)) = subtrees.pop() {
        let left = rng.below(size);
        let mut child = |child: usize, size| {
            (size > 0).then(|| {
                tree[child].parent = Some(node);
                subtrees.push((child, size));
                child
            })
        };
        let (left, right) = (
            child(node + 1, left),
            child(node + 1 + left, size - 1 - left),
        );
        (tree[node].left, tree[node].right) = (left, right);
    }
    tree
}

/// Field by field, from the object that is tested.
pub type Path = Vec<usize>;

pub enum Formula {
    And(Box<Formula>, Box<Formula>),
    /// The same object, or both null.
    Same(Path, Path),
    AtMost(Path, Path),
}

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub enum Truth {
    No = 0,
    Yes = 1,
    /// A dereference failed: the object is not in the range.
    Absent = 2,
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::Yes } else { Self::No }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Datum {
    Absent,
    Unknown,
    Null,
    Object(u32),
    Plain(i64),
}

impl Formula {
    /// Reads comparisons of paths that start at `x`, joined by `&&`.
    pub fn parse(text: &str) -> Self {
        if let Some((a, b)) = text.split_once(" && ") {
            return Self::And(Self::parse(a).into(), Self::parse(b).into());
        }
        let field = |name: &str| layout(text).iter().position(|field| field.0 == name);
        let path = |text: &str| -> Path {
            let fields = text.split('.').skip(1);
            fields.map(|name| field(name).expect("a field")).collect()
        };
        match text.split_once(" == ") {
            Some((a, b)) => Self::Same(path(a), path(b)),
            None => {
                let (a, b) = text.split_once(" <= ").expect("a comparison");
                Self::AtMost(path(a), path(b))
            }
        }
    }

    /// Walks the tree.
    pub fn holds(&self, heap: &Heap, x: u32) -> Truth {
        match self {
            Self::And(a, b) => match a.holds(heap, x) {
                Truth::Yes => b.holds(heap, x),
                other => other,
            },
            Self::Same(a, b) => same(walk(heap, a, x), walk(heap, b, x)),
            Self::AtMost(a, b) => at_most(walk(heap, a, x), walk(heap, b, x)),
        }
    }
}

fn walk(heap: &Heap, path: &Path, x: u32) -> Datum {
    let mut at = Datum::Object(x);
    for &field in path {
        at = match at {
            Datum::Object(object) => step(heap, &heap.places[field], object),
            _ => return Datum::Absent,
        };
    }
    at
}

#[inline]
pub fn step(heap: &Heap, places: &[Place; 4], object: u32) -> Datum {
    let place = places[heap.class_of(object) as usize];
    if place.is_slot() {
        // SAFETY: so the table says.
        match unsafe { heap.slot(object, place.offset()) } {
            raw if heap.covers(raw) => Datum::Object(raw),
            _ => Datum::Null,
        }
    } else if place.width() == 8 {
        // SAFETY: so the table says.
        Datum::Plain(unsafe { heap.number(object, place.offset()) })
    } else if places[NODE as usize].is_slot() {
        Datum::Absent
    } else {
        Datum::Unknown
    }
}

#[inline]
pub fn same(a: Datum, b: Datum) -> Truth {
    match (a, b) {
        (Datum::Absent, _) | (_, Datum::Absent) => Truth::Absent,
        (a, b) => (a == b).into(),
    }
}

#[inline]
pub fn at_most(a: Datum, b: Datum) -> Truth {
    match (a, b) {
        (Datum::Absent, _) | (_, Datum::Absent) => Truth::Absent,
        (Datum::Plain(a), Datum::Plain(b)) => (a <= b).into(),
        _ => Truth::No,
    }
}
