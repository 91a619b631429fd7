//! Counting the degrees of recursive data structures while the heap is marked.
//!
//! Which classes are backbones, and where their slots lead, is assumed from earlier summaries;
//! whether that still holds is known in the end, from the summary itself (`shapes.rs`).
//!
//! References *from* an object's like are counted in two bits of its header, as they arrive;
//! those *to* its like when the object is first seen, by looking at its slots, and at the elements of
//! the arrays that they refer to. A slot that has led to several classes costs a look at its target.
//! Beside degrees, sums of hashes tell whether references match (`heaphound_analysis::shape`).

use heaphound_analysis::shape::{
    Backbone, Backbones, DegreeCounters, Degrees, Leads, Link, Role, SumCounters, Sums, Trait,
};
use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_heap::class::Elements;
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, FieldKind};

use crate::raw::marking::mark::Ground;
use crate::raw::marking::summary_counter::EdgeRow;
use crate::raw::memory::address::Raw;
use crate::raw::objects::layout::{ELEMENTS_OFFSET, array_len, slot_at};

/// What is assumed of the heap's backbones.
pub(crate) struct Assumed {
    pub(crate) backbones: Backbones,
    /// By place in the list of backbones.
    looks: Vec<Look>,
    /// By class id: the place in the list, and one more; 0 for others.
    places: Vec<u32>,
    /// By class id: what to look for in an array that an object refers to; none if it is no array
    /// of references.
    arrays: Vec<Option<Looked>>,
    /// Whether several workers count.
    parallel: bool,
}

/// What to look at in an object of a backbone.
struct Look {
    own: Backbone,
    slots: Vec<LookedSlot>,
    /// Whether it is an array, of which all elements are looked at as the one slot.
    elements: bool,
    /// By place in the list: which of its family, if it is of the same.
    relatives: Vec<Option<u32>>,
    /// How many its family has.
    family: usize,
    /// Two slots that are looked at together, by their places in `slots`.
    beside: Vec<[usize; 2]>,
}

/// A slot.
#[derive(Clone, Copy)]
struct LookedSlot {
    offset: usize,
    slot: SlotId,
    target: Looked,
    /// Whether it may lead to arrays of references.
    to_arrays: bool,
}

/// What is looked for at the end of a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// Nothing.
    Nothing,
    /// An object of the class at this place of the list.
    Sure(u32),
    /// What it is.
    Class,
}

impl Assumed {
    /// None if some slot holds its value only while a key lives, and leads to its like: what
    /// it holds is not known when the object is seen.
    pub(crate) fn new(
        ground: Ground<'_>,
        backbones: &Backbones,
        ids: &SlotIds,
        parallel: bool,
    ) -> Option<Self> {
        let list = backbones.list();
        let mut places = vec![0; ids.classes() + 1];
        for (place, own) in list.iter().enumerate() {
            places[own.class.0 as usize] = place as u32 + 1;
        }
        let looked = |leads| match leads {
            Leads::Outside => Looked::Nothing,
            Leads::Inside(class) => match places.get(class.0 as usize) {
                Some(&place) if place > 0 => Looked::Sure(place - 1),
                _ => Looked::Class,
            },
            Leads::Mixed => Looked::Class,
        };
        let array = |class: ClassId| match backbones.looks_at(class) {
            false => looked(backbones.leads(ids.at(class, Place::Element(0)))),
            true => Looked::Class,
        };
        let arrays = (1..=ids.classes() as u32).map(ClassId).map(|class| {
            let is_array = ground.classes.get(class).info.elements == Some(Elements::Refs);
            is_array.then(|| array(class))
        });
        let arrays = std::iter::once(None).chain(arrays).collect();
        let mut looks = Vec::new();
        for &own in list {
            let class = ground.classes.get(own.class);
            let mut slots = Vec::new();
            let mut add = |offset, slot| {
                slots.push(LookedSlot {
                    offset,
                    slot,
                    target: looked(backbones.leads(slot)),
                    to_arrays: backbones.reads_arrays(slot),
                });
            };
            let elements = class.info.elements.is_some();
            if class.info.elements == Some(Elements::Refs) && own.role != Role::Array {
                add(ELEMENTS_OFFSET, ids.at(own.class, Place::Element(0)));
            }
            for (index, field) in class.info.fields.iter().enumerate() {
                let slot = ids.at(own.class, Place::Field(index as u32));
                let leads = backbones.leads(slot) != Leads::Outside;
                match field.kind {
                    FieldKind::Dependent if leads || backbones.reads_arrays(slot) => {
                        return None;
                    }
                    FieldKind::Ref | FieldKind::Opt if !elements => {
                        add(field.offset as usize, slot)
                    }
                    _ => {}
                }
            }
            let mut family = 0;
            let relatives = list.iter().map(|it| {
                let index = family;
                let related = it.family == own.family && it.role != Role::Array;
                family += related as usize;
                related.then_some(index as u32)
            });
            let relatives = relatives.collect();
            let at = |slot| slots.iter().position(|it| it.slot == slot);
            let beside = backbones.beside(own.class).iter();
            let beside = beside.filter_map(|&(_, a, b)| Some([at(a)?, at(b)?]));
            let beside = beside.collect();
            looks.push(Look {
                own,
                slots,
                elements,
                relatives,
                family,
                beside,
            });
        }
        Some(Self {
            backbones: backbones.clone(),
            looks,
            places,
            arrays,
            parallel,
        })
    }

    /// Returns the place of a class in the list.
    #[inline]
    fn place(&self, class: ClassId) -> Option<usize> {
        (self.places[class.0 as usize] as usize).checked_sub(1)
    }
}

/// What one worker counts.
pub(crate) struct Shaping<'h> {
    assumed: Option<&'h Assumed>,
    degrees: DegreeCounters,
    /// By place in the list of backbones.
    sums: Vec<ObjectSums>,
    /// What was counted in rows that are gone.
    arrived: Vec<(SlotId, u32, u64)>,
    /// How many elements of arrays may still be read.
    elements_left: u64,
}

/// Sums over the objects of a class.
struct ObjectSums {
    objects: u64,
    raised: u64,
    /// By slot.
    slots: Vec<SlotSums>,
    /// By slot, then by the class of the target.
    pairs: Vec<PairSums>,
    /// By two slots that are looked at together, then by the class of the second's target.
    beside: Vec<BesideSums>,
}

#[derive(Clone, Copy, Default)]
struct SlotSums {
    sources: u64,
    itself: u64,
    lengths: u64,
    raised_lengths: u64,
    /// The same of elements of arrays.
    elements: u64,
    elements_itself: u64,
    /// Of those whose arrays have a first element.
    first: u64,
    gaps: u64,
}

#[derive(Clone, Copy, Default)]
struct BesideSums {
    forth: u64,
    back: u64,
}

#[derive(Clone, Copy, Default)]
struct PairSums {
    forth: u64,
    back: u64,
    /// The same of elements of arrays, and over their targets.
    elements_forth: u64,
    elements_back: u64,
    elements_to: u64,
    first_to: u64,
}

/// What an edge does to its target.
#[derive(Clone, Copy, Default)]
pub(crate) struct Effect {
    /// The backbone that it arrives at, and one more; 0 if at none.
    backbone: u32,
    /// Whether it comes from inside.
    raises: bool,
}

impl Effect {
    pub(in crate::raw) fn is_any(self) -> bool {
        self.backbone > 0
    }
}

impl<'h> Shaping<'h> {
    pub(crate) fn new(assumed: Option<&'h Assumed>) -> Self {
        let looks = assumed.map_or(&[][..], |it| &it.looks);
        let sums = |look: &Look| ObjectSums {
            objects: 0,
            raised: 0,
            slots: vec![SlotSums::default(); look.slots.len()],
            pairs: vec![PairSums::default(); look.slots.len() * look.family],
            beside: vec![BesideSums::default(); look.beside.len() * look.family],
        };
        Self {
            assumed,
            degrees: DegreeCounters::new(looks.len()),
            sums: looks.iter().map(sums).collect(),
            arrived: Vec::new(),
            elements_left: assumed.map_or(0, |it| it.backbones.most_elements()),
        }
    }

    /// Whether so many objects referred to the same arrays that not all were read for each.
    pub(crate) fn gave_up(&self) -> bool {
        self.assumed.is_some() && self.elements_left == 0
    }

    /// What edges from a slot do to objects of a class.
    pub(in crate::raw) fn effect(&self, slot: SlotId, class: ClassId) -> Effect {
        let Some(assumed) = self.assumed.filter(|_| slot != SlotId::ROOT) else {
            return Effect::default();
        };
        Effect {
            backbone: assumed.places[class.0 as usize],
            raises: assumed.backbones.raises(slot, class).is_some(),
        }
    }

    /// An edge arrives at an object, which is marked.
    #[inline]
    pub(in crate::raw) fn arrived(&mut self, ground: Ground<'_>, row: &mut EdgeRow, to: Raw) {
        let effect = row.effect;
        if !effect.is_any() {
            return;
        }
        let hash = SumCounters::hash(to.0.into());
        row.sum = row.sum.wrapping_add(hash);
        if !effect.raises {
            return;
        }
        // SAFETY: a live object.
        let header = unsafe { ground.base.header(to) };
        let word = header.load();
        if word.degree() == 3 {
            return;
        }
        let before = match self.assumed.is_some_and(|it| it.parallel) {
            false => {
                header.store(word.with_degree(word.degree() + 1));
                word
            }
            true => header.update(|word| word.with_degree((word.degree() + 1).min(3))),
        };
        let place = effect.backbone as usize - 1;
        self.degrees.raised(place, before.degree());
        if before.degree() == 0 {
            self.raised(ground, place, to, hash);
        }
    }

    /// An object is referred to by its like.
    #[inline]
    fn raised(&mut self, ground: Ground<'_>, place: usize, to: Raw, hash: u64) {
        let sums = &mut self.sums[place];
        sums.raised = sums.raised.wrapping_add(hash);
        let Some(assumed) = self.assumed else {
            return;
        };
        let look = &assumed.looks[place];
        for (looked, sums) in look.slots.iter().zip(&mut sums.slots) {
            if looked.to_arrays {
                let mut length = 0;
                for_each_slot(ground, look, looked, to, |array| {
                    length += array_at(ground, assumed, array).map_or(0, |it| it.1 as u64);
                });
                let part = hash.wrapping_mul(length);
                sums.raised_lengths = sums.raised_lengths.wrapping_add(part);
            }
        }
    }

    /// A row is complete.
    pub(in crate::raw) fn put_by(&mut self, slot: SlotId, row: &EdgeRow) {
        if row.effect.is_any() {
            self.arrived.push((slot, row.effect.backbone - 1, row.sum));
        }
    }

    /// An object is seen for the first time.
    #[inline]
    pub(in crate::raw) fn object(&mut self, ground: Ground<'_>, raw: Raw, class: ClassId) {
        if let Some(assumed) = self.assumed {
            let place = assumed.places[class.0 as usize];
            if place > 0 {
                self.look(ground, assumed, raw, place as usize - 1);
            }
        }
    }

    /// Looks at an object of a backbone.
    #[inline(never)]
    fn look(&mut self, ground: Ground<'_>, assumed: &Assumed, raw: Raw, place: usize) {
        let look = &assumed.looks[place];
        let all = &mut self.sums[place];
        let left = &mut self.elements_left;
        let from = Source::new(raw);
        all.objects = all.objects.wrapping_add(from.hash);
        let mut outgoing = 0;
        for (at, (looked, sums)) in look.slots.iter().zip(&mut all.slots).enumerate() {
            let pairs = &mut all.pairs[at * look.family..(at + 1) * look.family];
            for_each_slot(ground, look, looked, raw, |to| {
                sums.sources = sums.sources.wrapping_add(from.hash);
                if looked.target == Looked::Nothing && !looked.to_arrays {
                    return;
                }
                let (relative, class) = match looked.target {
                    Looked::Sure(place) if !looked.to_arrays => (Some(place as usize), None),
                    _ => {
                        let class = class_at(ground, to);
                        (assumed.place(class), Some(class))
                    }
                };
                outgoing += match class {
                    Some(class) => assumed.backbones.is_outgoing(&look.own, class) as usize,
                    None => relative.is_some_and(|place| {
                        let class = assumed.backbones.list()[place].class;
                        assumed.backbones.is_outgoing(&look.own, class)
                    }) as usize,
                };
                if let Some(relative) = relative.and_then(|it| look.relatives[it]) {
                    let pair = &mut pairs[relative as usize];
                    let to = Source::new(to);
                    pair.forth = pair.forth.wrapping_add(from.pair(&to));
                    pair.back = pair.back.wrapping_add(to.pair(&from));
                    if from.raw == to.raw {
                        sums.itself = sums.itself.wrapping_add(from.hash);
                    }
                }
                if looked.to_arrays {
                    look_at_array(ground, assumed, look, &from, to, sums, pairs, left);
                }
            });
        }
        self.degrees.object(place, outgoing);
        for (at, slots) in look.beside.iter().enumerate() {
            let [a, b] = slots.map(|slot| relative_at(ground, assumed, look, slot, raw));
            if let (Some((a, _)), Some((b, relative))) = (a, b) {
                let sums = &mut all.beside[at * look.family + relative];
                sums.forth = sums.forth.wrapping_add(a.pair(&b));
                sums.back = sums.back.wrapping_add(b.pair(&a));
            }
        }
    }

    /// What all workers have counted together, for those backbones that there are now. The
    /// assumptions must cover them.
    pub(crate) fn merge(
        workers: Vec<Self>,
        assumed: &Assumed,
        now: &Backbones,
    ) -> (Vec<Degrees>, Sums) {
        let here = |place: usize| now.place(assumed.looks[place].own.class);
        let mut all = SumCounters::default();
        let mut degrees = Vec::new();
        for worker in workers {
            for (place, (look, sums)) in assumed.looks.iter().zip(&worker.sums).enumerate() {
                if let Some(place) = here(place) {
                    sums.add_to(&mut all, look, place, &here);
                    sums.add_beside_to(&mut all, look, now, &here);
                }
            }
            for (slot, place, sum) in worker.arrived {
                if let Some(place) = here(place as usize) {
                    all.add(place, Trait::Target(Link::Slot(slot)), sum);
                }
            }
            degrees.push(worker.degrees);
        }
        let counted = DegreeCounters::merge(degrees);
        let mut kept = vec![Degrees::default(); now.list().len()];
        for (place, degrees) in counted.into_iter().enumerate() {
            if let Some(place) = here(place) {
                kept[place] = degrees;
            }
        }
        (kept, SumCounters::merge([all]))
    }
}

impl ObjectSums {
    fn add_to(
        &self,
        all: &mut SumCounters,
        look: &Look,
        place: usize,
        here: &dyn Fn(usize) -> Option<usize>,
    ) {
        all.add(place, Trait::Object, self.objects);
        all.add(place, Trait::Raised, self.raised);
        for (at, (looked, sums)) in look.slots.iter().zip(&self.slots).enumerate() {
            let [slot, elements] = [Link::Slot(looked.slot), Link::Elements(looked.slot)];
            all.add(place, Trait::Source(slot), sums.sources);
            all.add(place, Trait::Itself(slot), sums.itself);
            all.add(place, Trait::Length(looked.slot), sums.lengths);
            all.add(place, Trait::RaisedLength(looked.slot), sums.raised_lengths);
            all.add(place, Trait::Source(elements), sums.elements);
            all.add(place, Trait::Itself(elements), sums.elements_itself);
            all.add(place, Trait::Gap(looked.slot), sums.gaps);
            let first = Trait::Source(Link::First(looked.slot));
            all.add(place, first, sums.first);
            let pairs = &self.pairs[at * look.family..(at + 1) * look.family];
            let relatives = look.relatives.iter().enumerate();
            for (to, relative) in relatives.filter_map(|(to, it)| Some((here(to)?, (*it)?))) {
                let pair = &pairs[relative as usize];
                all.add_pairs(slot, to, pair.forth, pair.back);
                all.add_pairs(elements, to, pair.elements_forth, pair.elements_back);
                all.add(to, Trait::Target(elements), pair.elements_to);
                let first = Trait::Target(Link::First(looked.slot));
                all.add(to, first, pair.first_to);
            }
        }
    }

    /// Adds what is looked at now. More may have been, because of what was seen earlier.
    fn add_beside_to(
        &self,
        all: &mut SumCounters,
        look: &Look,
        now: &Backbones,
        here: &dyn Fn(usize) -> Option<usize>,
    ) {
        let looked = now.beside(look.own.class);
        for (at, slots) in look.beside.iter().enumerate() {
            let [a, b] = slots.map(|slot| look.slots[slot].slot);
            if !looked.contains(&(look.own.class, a, b)) {
                continue;
            }
            let sums = &self.beside[at * look.family..(at + 1) * look.family];
            let relatives = look.relatives.iter().enumerate();
            for (to, relative) in relatives.filter_map(|(to, it)| Some((here(to)?, (*it)?))) {
                let sums = &sums[relative as usize];
                all.add_pairs(Link::Beside(a, b), to, sums.forth, sums.back);
            }
        }
    }
}

/// Returns what a slot of an object refers to, and which of its family that is, if it is of that.
#[inline]
fn relative_at(
    ground: Ground<'_>,
    assumed: &Assumed,
    look: &Look,
    slot: usize,
    raw: Raw,
) -> Option<(Source, usize)> {
    let object = ground.base.object(raw);
    // SAFETY: the class says that a slot is there, and the world stands still.
    let slot = unsafe { slot_at(object, look.slots[slot].offset) };
    let to = ground.reach.read(slot);
    if !ground.refers(to) {
        return None;
    }
    let place = assumed.place(class_at(ground, to))?;
    Some((Source::new(to), look.relatives[place]? as usize))
}

/// An object, mixed once.
struct Source {
    raw: Raw,
    mixed: u64,
    hash: u64,
}

impl Source {
    #[inline]
    fn new(raw: Raw) -> Self {
        let mixed = SumCounters::mix(raw.0.into());
        Self {
            raw,
            mixed,
            hash: SumCounters::hash_of(mixed),
        }
    }

    #[inline]
    fn pair(&self, to: &Self) -> u64 {
        SumCounters::hash_mixed(self.mixed, to.raw.0.into())
    }
}

/// Looks at the elements of an array that an object refers to.
#[inline]
#[allow(clippy::too_many_arguments, reason = "parts of what one worker counts")]
fn look_at_array(
    ground: Ground<'_>,
    assumed: &Assumed,
    look: &Look,
    from: &Source,
    array: Raw,
    sums: &mut SlotSums,
    pairs: &mut [PairSums],
    left: &mut u64,
) {
    let Some((looked, length)) = array_at(ground, assumed, array) else {
        return;
    };
    sums.lengths = sums
        .lengths
        .wrapping_add(from.hash.wrapping_mul(length as u64));
    if looked == Looked::Nothing {
        return;
    }
    *left = left.saturating_sub(length as u64);
    if *left == 0 {
        return;
    }
    let object = ground.base.object(array);
    let mut next = 0;
    for index in 0..length {
        // SAFETY: a live array is so long, and the world stands still.
        let slot = unsafe { slot_at(object, ELEMENTS_OFFSET + 4 * index) };
        let to = ground.reach.read(slot);
        if !ground.refers(to) {
            continue;
        }
        let place = match looked {
            Looked::Sure(place) => Some(place as usize),
            _ => assumed.place(class_at(ground, to)),
        };
        let Some(relative) = place.and_then(|place| look.relatives[place]) else {
            continue;
        };
        let pair = &mut pairs[relative as usize];
        let to = Source::new(to);
        pair.elements_forth = pair.elements_forth.wrapping_add(from.pair(&to));
        pair.elements_back = pair.elements_back.wrapping_add(to.pair(from));
        pair.elements_to = pair.elements_to.wrapping_add(to.hash);
        sums.elements = sums.elements.wrapping_add(from.hash);
        if index == 0 {
            pair.first_to = pair.first_to.wrapping_add(to.hash);
            sums.first = sums.first.wrapping_add(from.hash);
        }
        if index != next {
            sums.gaps = sums.gaps.wrapping_add(from.hash);
        }
        next = index + 1;
        if from.raw == to.raw {
            sums.elements_itself = sums.elements_itself.wrapping_add(from.hash);
        }
    }
}

/// Calls `f` with what a slot of an object refers to, or all elements of an array.
#[inline(always)]
fn for_each_slot(
    ground: Ground<'_>,
    look: &Look,
    looked: &LookedSlot,
    raw: Raw,
    mut f: impl FnMut(Raw),
) {
    let object = ground.base.object(raw);
    let count = match look.elements {
        // SAFETY: a live array.
        true => unsafe { array_len(object) },
        false => 1,
    };
    for index in 0..count {
        // SAFETY: the class says that a slot is there, and the world stands still.
        let slot = unsafe { slot_at(object, looked.offset + 4 * index) };
        let to = ground.reach.read(slot);
        if ground.refers(to) {
            f(to);
        }
    }
}

/// Returns the class of an object.
#[inline]
fn class_at(ground: Ground<'_>, object: Raw) -> ClassId {
    // SAFETY: slots of live objects refer to live objects (H3).
    ClassId(unsafe { ground.base.header(object) }.load().class())
}

/// Returns the length of an array of references, and what to look for in it; none for other
/// objects.
#[inline]
fn array_at(ground: Ground<'_>, assumed: &Assumed, object: Raw) -> Option<(Looked, usize)> {
    let looked = assumed.arrays[class_at(ground, object).0 as usize]?;
    // SAFETY: a live array.
    Some((looked, unsafe { array_len(ground.base.object(object)) }))
}
