//! Counting the degrees of recursive data structures while the heap is marked.
//!
//! Which classes are backbones, and where their slots lead, is assumed from earlier summaries;
//! whether that still holds is known in the end, from the summary itself (`shapes.rs`).
//!
//! References *from* an object's like are counted in two bits of its header, as they arrive;
//! those *to* its like when the object is first seen, by looking at its slots. A slot that has
//! led now inside, now outside costs a look at its target. Beside degrees, sums of hashes
//! tell whether references match (`heaphound_analysis::shape`).

use heaphound_analysis::shape::{
    Backbone, Backbones, DegreeCounters, Degrees, Leads, MatchCounters, Matches,
};
use heaphound_analysis::slot::{SlotId, SlotIds};
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, FieldKind};

use crate::raw::marking::mark::Ground;
use crate::raw::marking::summary_counter::EdgeRow;
use crate::raw::memory::address::Raw;
use crate::raw::objects::layout::{ELEMENTS_OFFSET, array_len, slot_at};
use std::sync::atomic::Ordering::Relaxed;

/// What is assumed of the heap's backbones.
pub(crate) struct Assumed {
    pub(crate) backbones: Backbones,
    /// By place in the list of backbones.
    looks: Vec<Look>,
    /// By class id: the place in the list, and one more; 0 for others.
    places: Vec<u32>,
    /// Whether several workers count.
    parallel: bool,
}

/// What to look at in an object of a backbone.
struct Look {
    backbone: Backbone,
    slots: Vec<Looked>,
    /// Whether it is an array, of which all elements are looked at as the one slot.
    elements: bool,
}

/// A slot that leads to its like.
#[derive(Clone, Copy)]
struct Looked {
    offset: usize,
    slot: SlotId,
    /// Whether it always does.
    sure: bool,
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
        let mut places = vec![0; ids.classes() + 1];
        let mut looks = Vec::new();
        for (place, &backbone) in backbones.list().iter().enumerate() {
            places[backbone.class.0 as usize] = place as u32 + 1;
            let class = ground.classes.get(backbone.class);
            let mut slots = Vec::new();
            let mut add = |offset, slot| {
                let leads = backbones.leads(slot);
                if leads != Leads::Outside {
                    slots.push(Looked {
                        offset,
                        slot,
                        sure: leads == Leads::Inside,
                    });
                }
            };
            let elements = class.info.elements.is_some();
            if elements {
                add(ELEMENTS_OFFSET, ids.at(backbone.class, Place::Element(0)));
            }
            for (index, field) in class.info.fields.iter().enumerate() {
                let slot = ids.at(backbone.class, Place::Field(index as u32));
                match field.kind {
                    FieldKind::Dependent if backbones.leads(slot) != Leads::Outside => return None,
                    FieldKind::Ref | FieldKind::Opt if !elements => {
                        add(field.offset as usize, slot)
                    }
                    _ => {}
                }
            }
            looks.push(Look {
                backbone,
                slots,
                elements,
            });
        }
        Some(Self {
            backbones: backbones.clone(),
            looks,
            places,
            parallel,
        })
    }
}

/// What one worker counts.
pub(crate) struct Shaping<'h> {
    assumed: Option<&'h Assumed>,
    degrees: DegreeCounters,
    /// By backbone: over all objects.
    objects: Vec<u64>,
    /// By backbone and looked-at slot: over (source, target) and (target, source), and
    /// how many there were.
    pairs: Vec<Vec<(u64, u64, u64)>>,
    /// What was counted in rows that are gone.
    matches: MatchCounters,
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
        Self {
            assumed,
            degrees: DegreeCounters::new(looks.len()),
            objects: vec![0; looks.len()],
            pairs: looks
                .iter()
                .map(|it| vec![(0, 0, 0); it.slots.len()])
                .collect(),
            matches: MatchCounters::new(looks.len()),
        }
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
        row.sum = row.sum.wrapping_add(MatchCounters::hash(to.0.into()));
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
        self.degrees
            .raised(effect.backbone as usize - 1, before.degree());
    }

    /// A row is complete.
    pub(in crate::raw) fn put_by(&mut self, slot: SlotId, row: &EdgeRow) {
        if row.effect.is_any() {
            let backbone = row.effect.backbone as usize - 1;
            self.matches.add_arrived(slot, backbone, row.sum);
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
        let Backbone { class, through } = look.backbone;
        let object = ground.base.object(raw);
        let from = raw.0 as u64;
        self.objects[place] = self.objects[place].wrapping_add(MatchCounters::hash(from));
        let mut outgoing = 0;
        for (looked, sums) in look.slots.iter().zip(&mut self.pairs[place]) {
            let count = match look.elements {
                // SAFETY: a live array.
                true => unsafe { array_len(object) },
                false => 1,
            };
            for index in 0..count {
                // SAFETY: the class says that a slot is there, and the world stands still.
                let slot = unsafe { slot_at(object, looked.offset + 4 * index) };
                let to = Raw(slot.load(Relaxed));
                if !ground.refers(to) {
                    continue;
                }
                // SAFETY: slots of live objects refer to live objects (H3).
                let found = || ClassId(unsafe { ground.base.header(to) }.load().class());
                if looked.sure || found() == class || Some(found()) == through {
                    outgoing += 1;
                    let to = to.0 as u64;
                    sums.0 = sums.0.wrapping_add(MatchCounters::hash_pair(from, to));
                    sums.1 = sums.1.wrapping_add(MatchCounters::hash_pair(to, from));
                    sums.2 += 1;
                }
            }
        }
        self.degrees.object(place, outgoing);
    }

    /// What all workers have counted together, for those backbones that there are now. The
    /// assumptions must cover them.
    pub(crate) fn merge(
        workers: Vec<Self>,
        assumed: &Assumed,
        now: &Backbones,
    ) -> (Vec<Degrees>, Matches) {
        let mut all = MatchCounters::new(now.list().len());
        let mut degrees = Vec::new();
        let mut arrived = Vec::new();
        for worker in workers {
            for (look, (sum, pairs)) in assumed
                .looks
                .iter()
                .zip(worker.objects.iter().zip(&worker.pairs))
            {
                let Some(place) = now.place(look.backbone.class) else {
                    continue;
                };
                all.add_objects(place, *sum);
                for (looked, &(forth, back, count)) in look.slots.iter().zip(pairs) {
                    // What leads elsewhere, too, has no inverse.
                    if count > 0 && now.leads(looked.slot) == Leads::Inside {
                        all.add_read(looked.slot, forth, back);
                    }
                }
            }
            degrees.push(worker.degrees);
            arrived.push(worker.matches);
        }
        let here = |place: usize| now.place(assumed.looks[place].backbone.class);
        for matches in arrived {
            matches.for_each_arrived(|slot, place, sum| {
                if let Some(place) = here(place) {
                    all.add_arrived(slot, place, sum);
                }
            });
        }
        let counted = DegreeCounters::merge(degrees);
        let mut kept = vec![Degrees::default(); now.list().len()];
        for (place, degrees) in counted.into_iter().enumerate() {
            if let Some(place) = here(place) {
                kept[place] = degrees;
            }
        }
        (kept, MatchCounters::merge([all]))
    }
}
