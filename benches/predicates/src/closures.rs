//! Predicates as closures: one object at a time, and 64 at a time.
//!
//! The second is what `crates/deal/src/predicate.rs` and `crates/gc/src/raw/fields.rs` do; the loops are
//! theirs, less the sorts and widths of plain data that the four predicates do not have.

use crate::heap::{
    CLASS_BITS, Datum, Formula, Heap, LANES, Path, Place, Truth, at_most, same, step,
};

type Test<'a> = Box<dyn Fn(u32) -> Truth + 'a>;
type Read<'a> = Box<dyn Fn(u32) -> Datum + 'a>;

/// A closure for each node of the tree.
pub fn scalar<'a>(heap: &'a Heap, formula: &'a Formula) -> Test<'a> {
    match formula {
        Formula::And(a, b) => {
            let (a, b) = (scalar(heap, a), scalar(heap, b));
            Box::new(move |x| match a(x) {
                Truth::Yes => b(x),
                other => other,
            })
        }
        Formula::Same(a, b) => {
            let (a, b) = (read(heap, a), read(heap, b));
            Box::new(move |x| same(a(x), b(x)))
        }
        Formula::AtMost(a, b) => {
            let (a, b) = (read(heap, a), read(heap, b));
            Box::new(move |x| at_most(a(x), b(x)))
        }
    }
}

fn read<'a>(heap: &'a Heap, path: &'a [usize]) -> Read<'a> {
    match path {
        [] => Box::new(Datum::Object),
        [before @ .., last] => {
            let places = &heap.places[*last];
            match before {
                [] => Box::new(move |x| step(heap, places, x)),
                _ => {
                    let before = read(heap, before);
                    Box::new(move |x| match before(x) {
                        Datum::Object(object) => step(heap, places, object),
                        _ => Datum::Absent,
                    })
                }
            }
        }
    }
}

/// What is said of 64 objects, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Truths {
    pub yes: u64,
    pub absent: u64,
}

impl Truths {
    fn new(yes: u64, absent: u64) -> Self {
        let yes = yes & !absent;
        Self { yes, absent }
    }
}

/// Objects of one class.
pub struct Batch<'b> {
    class: u32,
    pub objects: &'b [u32; LANES],
}

impl<'b> Batch<'b> {
    pub fn new(heap: &Heap, objects: &'b [u32; LANES]) -> Option<Self> {
        let class = heap.class_of(objects[0]);
        let differ = objects
            .iter()
            .fold(0, |bits, &object| bits | (heap.class_of(object) ^ class));
        (differ == 0).then_some(Self { class, objects })
    }
}

struct Column {
    objects: [u32; LANES],
    there: u64,
    absent: u64,
}

struct Numbers {
    values: [i64; LANES],
    known: u64,
    absent: u64,
}

impl Column {
    #[inline]
    fn new(objects: [u32; LANES], there: u64, absent: u64) -> Self {
        Self {
            objects,
            there,
            absent,
        }
    }
}

impl Numbers {
    #[inline]
    fn new(values: [i64; LANES], known: u64, absent: u64) -> Self {
        Self {
            values,
            known,
            absent,
        }
    }
}

#[inline]
fn each_lane(mut f: impl FnMut(usize) -> bool) -> u64 {
    let mut truths = [0; LANES];
    for (lane, truth) in truths.iter_mut().enumerate() {
        *truth = f(lane) as u8;
    }
    let (eights, _) = truths.as_chunks::<8>();
    let bits = eights
        .iter()
        .map(|eight| (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8);
    let mut word = [0; LANES / 8];
    word.iter_mut().zip(bits).for_each(|(byte, it)| *byte = it);
    u64::from_le_bytes(word)
}

#[inline]
fn each_bit(f: impl Fn(usize) -> bool) -> u64 {
    (0..LANES)
        .rev()
        .fold(0, |bits, lane| bits << 1 | f(lane) as u64)
}

impl Heap {
    #[inline]
    fn common_class(&self, objects: &[u32; LANES]) -> Option<u32> {
        let first = self.header(objects[0]);
        let differ = objects
            .iter()
            .fold(0, |bits, &it| bits | self.header(it) ^ first);
        (differ & CLASS_BITS == 0).then_some((first & CLASS_BITS) as u32)
    }

    #[inline]
    fn slots_at(&self, place: Place, objects: &[u32; LANES]) -> Column {
        if !place.is_slot() {
            return Column::new(*objects, 0, !0);
        }
        // SAFETY: the place is that of the class of all of them.
        let held = objects.map(|object| unsafe { self.slot(object, place.offset()) });
        let refers = |lane: usize| self.covers(held[lane]);
        let there = each_lane(refers);
        let mut objects = *objects;
        for (lane, object) in objects.iter_mut().enumerate() {
            *object = if refers(lane) { held[lane] } else { *object };
        }
        Column::new(objects, there, 0)
    }

    #[inline]
    fn numbers_at(&self, place: Place, objects: &[u32; LANES]) -> Numbers {
        if place.width() != 8 {
            return Numbers::new([0; LANES], 0, 0);
        }
        // SAFETY: the place is that of the class of all of them.
        let values = objects.map(|object| unsafe { self.number(object, place.offset()) });
        Numbers::new(values, !0, 0)
    }

    fn slots_behind(&self, places: &[Place; 4], column: &Column) -> Column {
        let mut held = match self.common_class(&column.objects) {
            Some(class) => self.slots_at(places[class as usize], &column.objects),
            None => {
                let (mut objects, mut absent) = (column.objects, 0);
                let there = each_lane(|lane| match step(self, places, column.objects[lane]) {
                    Datum::Object(object) => {
                        objects[lane] = object;
                        true
                    }
                    other => {
                        absent |= ((other == Datum::Absent) as u64) << lane;
                        false
                    }
                });
                Column::new(objects, there, absent)
            }
        };
        held.there &= column.there;
        held.absent |= !column.there;
        held
    }

    fn numbers_behind(&self, places: &[Place; 4], column: &Column) -> Numbers {
        let mut found = match self.common_class(&column.objects) {
            Some(class) => self.numbers_at(places[class as usize], &column.objects),
            None => {
                let mut values = [0; LANES];
                let known = each_lane(|lane| match step(self, places, column.objects[lane]) {
                    Datum::Plain(value) => {
                        values[lane] = value;
                        true
                    }
                    _ => false,
                });
                Numbers::new(values, known, 0)
            }
        };
        found.known &= column.there;
        found.absent = !column.there;
        found
    }

    fn follow(&self, slots: &[usize], batch: &Batch<'_>) -> Column {
        let Some((&first, rest)) = slots.split_first() else {
            return Column::new(*batch.objects, !0, 0);
        };
        let place = self.places[first][batch.class as usize];
        let mut column = self.slots_at(place, batch.objects);
        for &field in rest {
            column = self.slots_behind(&self.places[field], &column);
        }
        column
    }

    fn read(&self, path: &Path, batch: &Batch<'_>) -> Numbers {
        let (&last, slots) = path.split_last().expect("a field");
        if slots.is_empty() {
            return self.numbers_at(self.places[last][batch.class as usize], batch.objects);
        }
        self.numbers_behind(&self.places[last], &self.follow(slots, batch))
    }
}

pub type LaneTest<'a> = Box<dyn Fn(&Batch<'_>, u64) -> Truths + 'a>;

/// A closure for each comparison and each `&&`, which looks at 64 objects.
pub fn lanes<'a>(heap: &'a Heap, formula: &'a Formula) -> LaneTest<'a> {
    match formula {
        Formula::And(a, b) => {
            let (a, b) = (lanes(heap, a), lanes(heap, b));
            Box::new(move |batch, asked| {
                let first = a(batch, asked);
                let open = first.yes & asked;
                if open == 0 {
                    return first;
                }
                let then = b(batch, open);
                Truths {
                    yes: first.yes & then.yes,
                    absent: first.absent | first.yes & then.absent,
                }
            })
        }
        Formula::Same(a, b) => Box::new(move |batch, _| {
            let (a, b) = (heap.follow(a, batch), heap.follow(b, batch));
            let same = each_lane(|lane| a.objects[lane] == b.objects[lane]);
            let nulls = !(a.there | b.there);
            Truths::new(same & a.there & b.there | nulls, a.absent | b.absent)
        }),
        Formula::AtMost(a, b) => Box::new(move |batch, _| {
            let (a, b) = (heap.read(a, batch), heap.read(b, batch));
            let yes = each_bit(|lane| a.values[lane] <= b.values[lane]);
            Truths::new(yes & a.known & b.known, a.absent | b.absent)
        }),
    }
}
