//! A census: what lives, by the way to it, and what some containers hold.
//!
//! A [`Walk`] reaches every object in one way, the shortest: from the roots in their order, from locals
//! last. A step from an object to one of its own class counts nothing, because a recursive structure is
//! one place: so a list is entered at its head, and not where somebody refers to its middle.
//!
//! Objects that are reached in the same way are one **path**: from a root, by slots and classes. Where a way
//! comes back to a class for the second time it goes on from there, so that a tree has few paths, however deep it is; not
//! for the first time, so that in a list of lists the inner ones are told from the outer. Paths have names, and so they
//! can be compared from collection to collection and from file to file, though objects move and files number
//! them anew ([`Census`]).
//!
//! One path may be that of many containers: a table of tables. What each holds is counted for
//! classes that are about to be reported ([`Walk::containers`]).
//!
//! All of it happens while the program stands still, so it is bounded: each object and each edge is looked at a few
//! times, however many classes are counted; and there are only so many paths and containers.
//!
//! Elsewhere: what several censuses say about growth (`growth.rs`, `cause.rs`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use heaphound_heap::ClassId;
use heaphound_heap::path::Trail;
use heaphound_heap::root::{Root, RootKind, RootSet};
use heaphound_heap::trace::{Traceable, Visits};
use heaphound_heap::view::Place;

/// What lives, by the way to it. A path comes behind the one that it prolongs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// All paths, as far as there is room for them: what has none counts for the path before it.
    pub paths: Vec<Step>,
}

/// The last step of a path, and what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The path that it prolongs; none at a root.
    pub within: Option<u32>,
    /// The slot: `table`, `[*]`; at a root, its kind and name.
    pub slot: String,
    /// The class of what is there.
    pub class: String,
    /// How many objects are.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The containers that hold much of a class, each behind the one that holds it.
pub type Containers = Vec<Container>;

/// An object, by the way to it, and what it holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// The one that holds it, by its place in the list; none at a root.
    pub within: Option<u32>,
    /// The slot that leads to it.
    pub slot: String,
    /// Where in that slot: the index of an element or of a root.
    pub index: Option<u32>,
    /// Its class.
    pub class: String,
    /// What it holds of the class that is counted, in bytes: itself, and all that is reached through it.
    pub bytes: u64,
    /// Its number in the walk.
    pub(super) number: u32,
}

/// What is to be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The class, by the numbers of the series.
    pub class: ClassId,
    /// Containers that hold less are not kept.
    pub least_bytes: u64,
    /// How many censuses are needed before the one that shows its cause.
    pub censuses: usize,
    /// How many collections ago it began to grow: censuses before that say nothing about it.
    pub phases: usize,
}

/// A census has no more paths, but for the one of what has no room.
const MOST_PATHS: usize = 1 << 14;
/// So many of them may be roots, so that there is room for what these hold.
const MOST_ROOT_PATHS: usize = MOST_PATHS / 2;
/// A census remembers no more different steps: after that, what takes a new one stays on its path.
const MOST_STEPS: usize = 4 * MOST_PATHS;
/// A census has no more containers. All classes that are counted share them alike.
const MOST_CONTAINERS: usize = 1 << 14;
/// No more classes are counted, so that there is room for the containers of each.
pub(super) const MOST_CLASSES: usize = MOST_CONTAINERS / 64;
/// How often a class may come up on the way to a container. A structure that is nested deeper is one
/// place.
const NESTED: u32 = 3;
/// How many containers may be around another.
const DEEPEST: usize = 64;

const NONE: u32 = u32::MAX;
/// The slot and the class of the path for all roots that have no room.
const MORE: &str = "…";

/// All objects of a heap, each reached in one way.
pub struct Walk<'v, T: Traceable> {
    view: &'v T,
    objects: Vec<Reached<T::Object>>,
    /// The root that led to an object, by its number.
    roots: HashMap<u32, Root>,
    census: Census,
    /// How much was looked at: objects, edges, steps of paths, containers.
    work: u64,
}

/// An object of a walk.
#[derive(Clone, Copy)]
struct Reached<O> {
    object: O,
    /// The number of the object that led to it.
    before: u32,
    /// Through which of its slots.
    place: Place,
    class: ClassId,
    /// The path that it is on.
    path: u32,
}

impl<'v, T: Traceable> Walk<'v, T> {
    /// Walks through a heap.
    pub fn new(view: &'v T) -> Self {
        let mut walk = Self {
            view,
            objects: Vec::new(),
            roots: HashMap::new(),
            census: Census::default(),
            work: 0,
        };
        let mut visits = view.visits();
        visits.reserve(1);
        let mark = visits.fresh();
        // Steps to other classes, which are taken after those within a structure.
        let mut out: Vec<Reached<T::Object>> = Vec::new();
        // What a stack holds is let go when a function returns, so it comes last.
        for lasting in [true, false] {
            let mut next = walk.objects.len();
            view.for_each_root(|root, object| {
                let is_lasting = RootSet::Lasting.includes(root.kind, &root.name);
                let is_root = RootSet::All.includes(root.kind, &root.name);
                if is_root && is_lasting == lasting && visits.set(object, mark) {
                    walk.roots.insert(walk.objects.len() as u32, root.clone());
                    let class = view.class_of(object);
                    let reached = Reached::new(object, NONE, Place::Field(0), class);
                    walk.objects.push(reached);
                }
            });
            while next < walk.objects.len() {
                // First to the end of all structures that are entered here.
                while next < walk.objects.len() {
                    let Reached { object, class, .. } = walk.objects[next];
                    view.for_each_strong_edge(object, |place, to| {
                        walk.work += 1;
                        let to_class = view.class_of(to);
                        let reached = Reached::new(to, next as u32, place, to_class);
                        if to_class != class {
                            if visits.get(to) != mark {
                                out.push(reached);
                            }
                        } else if visits.set(to, mark) {
                            walk.objects.push(reached);
                        }
                    });
                    next += 1;
                }
                for reached in out.drain(..) {
                    if visits.set(reached.object, mark) {
                        walk.objects.push(reached);
                    }
                }
            }
        }
        walk.find_paths();
        walk
    }

    /// Returns how much was looked at so far: objects, edges, steps of paths, containers.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Returns what lives, by the way to it.
    pub fn census(&self) -> &Census {
        &self.census
    }

    pub(super) fn into_census(self) -> Census {
        self.census
    }

    pub(super) fn view(&self) -> &'v T {
        self.view
    }

    /// Finds the path of each object.
    fn find_paths(&mut self) {
        let mut paths = Paths::default();
        for number in 0..self.objects.len() {
            let Reached {
                object,
                before,
                place,
                class,
                ..
            } = self.objects[number];
            let path = match self.objects.get(before as usize) {
                None => {
                    let slot = paths.root(&self.roots[&(number as u32)]);
                    self.step((NONE, slot, class), number, &mut paths)
                }
                // The nodes of a structure are on one path.
                Some(before) if before.class == class => before.path,
                Some(before) => {
                    let slot = match place {
                        Place::Field(field) => Slot::Field(before.class, field),
                        Place::Element(_) => Slot::Element,
                    };
                    self.step((before.path, slot, class), number, &mut paths)
                }
            };
            self.objects[number].path = path;
            let step = &mut self.census.paths[path as usize];
            step.objects += 1;
            step.bytes += self.view.bytes_of(object) as u64;
        }
        self.work += self.objects.len() as u64;
    }

    /// Returns where a step leads.
    fn step(&mut self, key: (u32, Slot, ClassId), number: usize, paths: &mut Paths) -> u32 {
        match paths.last {
            Some((last, path)) if last == key => return path,
            _ => {}
        }
        let path = match paths.known.get(&key) {
            Some(&path) => path,
            None if paths.is_full() && key.0 != NONE => key.0,
            None => {
                let path = self.new_path(number, key.0, key.2, paths);
                if paths.known.len() < MOST_STEPS {
                    paths.known.insert(key, path);
                }
                path
            }
        };
        paths.last = Some((key, path));
        path
    }

    /// Returns where a step leads that was not taken before: back, if the way has been at that class twice, or
    /// on.
    fn new_path(&mut self, number: usize, within: u32, class: ClassId, paths: &mut Paths) -> u32 {
        let classes = &mut paths.classes;
        let within = (within != NONE).then_some(within);
        let back = |&at: &u32| self.census.paths[at as usize].within;
        let mut last = None;
        for at in std::iter::successors(within, back) {
            self.work += 1;
            if classes[at as usize] == class {
                match last {
                    None => last = Some(at),
                    Some(last) => return last,
                }
            }
        }
        let new = classes.len() as u32;
        let step = match within {
            None if classes.len() >= MOST_ROOT_PATHS => {
                if let Some(path) = paths.more {
                    return path;
                }
                paths.more = Some(new);
                classes.push(NO_CLASS);
                Step::new(None, MORE.into(), MORE.into())
            }
            _ => {
                classes.push(class);
                let name = self.view.class(class).name.clone();
                Step::new(within, self.slot(number).0, name)
            }
        };
        self.census.paths.push(step);
        new
    }

    /// Returns which containers hold objects of each of some classes, given the numbers that it has in this
    /// view, and the least bytes that a container holds of it.
    pub fn containers(&mut self, wanted: &[(Vec<ClassId>, u64)]) -> Vec<Containers> {
        let order = Order::new(&self.objects);
        let held = self.held(&order, wanted);
        let room = MOST_CONTAINERS / wanted.len().max(1);
        self.work += 2 * self.objects.len() as u64;
        let all = held.iter().zip(wanted);
        all.map(|(held, (_, least))| self.heavy(&order, held, *least, room))
            .collect()
    }

    /// Returns for each of some classes where its objects are.
    fn held(&self, order: &Order, wanted: &[(Vec<ClassId>, u64)]) -> Vec<Held> {
        let mut which: HashMap<ClassId, usize> = HashMap::new();
        for (at, (classes, _)) in wanted.iter().enumerate() {
            which.extend(classes.iter().map(|&class| (class, at)));
        }
        let mut held = vec![Held::default(); wanted.len()];
        let mut last = (NO_CLASS, None);
        for (position, &number) in (0..).zip(&order.objects) {
            let it = &self.objects[number as usize];
            if it.class != last.0 {
                last = (it.class, which.get(&it.class).copied());
            }
            if let Some(at) = last.1 {
                held[at].push(position, self.view.bytes_of(it.object) as u64);
            }
        }
        held
    }

    /// Returns the containers that hold that much of a class.
    ///
    /// What is in an object is one stretch of the order. Cut the class into pieces of that many bytes: a
    /// stretch that has as much contains the end of a piece. So only what is around those few objects can be such a
    /// container.
    fn heavy(&mut self, order: &Order, held: &Held, least: u64, room: usize) -> Containers {
        let all = held.upto.last().copied().unwrap_or(0);
        // No more pieces than there is room for containers.
        let least = least.max(all.div_ceil(room as u64)).max(1);
        let mut found: BTreeMap<u32, u64> = BTreeMap::new();
        let mut end = least;
        for (&position, &upto) in held.positions.iter().zip(&held.upto) {
            if upto < end {
                continue;
            }
            end = (upto / least + 1) * least;
            let mut at = order.nearest[order.objects[position as usize] as usize];
            while at != NONE {
                self.work += 1;
                let entry = found.entry(at);
                if let Entry::Occupied(_) = entry {
                    break;
                }
                entry.or_insert_with(|| held.within(order.stretch(at)));
                at = order.around(at, &self.objects);
            }
        }
        let kept = found.into_iter().filter(|it| it.1 >= least);
        // Those that are nearest to the roots, each behind the one that holds it.
        let kept: Vec<(u32, u64)> = kept.take(room).collect();
        let container = |&(number, bytes): &(u32, u64)| {
            let (slot, index) = self.slot(number as usize);
            let around = order.around(number, &self.objects);
            let within = kept.binary_search_by_key(&around, |it| it.0);
            Container {
                within: within.ok().map(|it| it as u32),
                slot,
                index,
                class: self
                    .view
                    .class(self.objects[number as usize].class)
                    .name
                    .clone(),
                bytes,
                number,
            }
        };
        kept.iter().map(container).collect()
    }

    /// Returns the objects of a path.
    pub(super) fn on_path(&self, by_path: &ByPath, path: u32) -> Held {
        let position = |&it: &u32| (by_path.order.position[it as usize], it);
        let mut objects: Vec<(u32, u32)> = by_path.of(path).iter().map(position).collect();
        objects.sort_unstable();
        let mut held = Held::default();
        for (position, number) in objects {
            let object = self.objects[number as usize].object;
            held.push(position, self.view.bytes_of(object) as u64);
        }
        held
    }

    /// Returns all objects by the path that they are on, those of one path in the order of the walk; and
    /// where each path begins.
    pub(super) fn by_path(&self) -> ByPath {
        let mut begins = Vec::with_capacity(self.census.paths.len() + 1);
        let mut end = 0;
        for step in &self.census.paths {
            begins.push(end);
            end += step.objects as usize;
        }
        let mut next = begins.clone();
        begins.push(end);
        let mut numbers = vec![NONE; end];
        for (number, it) in (0..).zip(&self.objects) {
            let next = &mut next[it.path as usize];
            numbers[*next] = number;
            *next += 1;
        }
        let order = Order::new(&self.objects);
        ByPath {
            begins,
            numbers,
            order,
        }
    }

    /// Returns the way to the nearest object on a path, within a container if there is one in it.
    pub(super) fn example(
        &self,
        by_path: &ByPath,
        path: u32,
        container: Option<&Container>,
    ) -> Trail<T::Object> {
        let numbers = by_path.of(path);
        let inside = container.and_then(|it| {
            let stretch = by_path.stretch(it);
            let mut numbers = numbers.iter();
            numbers.find(|it| stretch.contains(&by_path.order.position[**it as usize]))
        });
        self.trail(*inside.unwrap_or(&numbers[0]))
    }

    /// Returns the way to an object.
    fn trail(&self, number: u32) -> Trail<T::Object> {
        let next = |&at: &u32| Some(self.objects[at as usize].before).filter(|&it| it != NONE);
        let mut way: Vec<u32> = std::iter::successors(Some(number), next).collect();
        way.reverse();
        let reached = |&at: &u32| &self.objects[at as usize];
        Trail {
            root: self.roots.get(&way[0]).cloned(),
            objects: way.iter().map(|at| reached(at).object).collect(),
            places: way[1..].iter().map(|at| reached(at).place).collect(),
        }
    }

    /// Returns the name of the slot that leads to an object, and where in that slot it is.
    fn slot(&self, number: usize) -> (String, Option<u32>) {
        let Reached { before, place, .. } = self.objects[number];
        let Some(before) = self.objects.get(before as usize) else {
            let root = &self.roots[&(number as u32)];
            return (root_name(root), Some(root.index));
        };
        match place {
            Place::Field(field) => {
                let class = self.view.class(before.class);
                (class.fields[field as usize].name.clone(), None)
            }
            Place::Element(index) => ("[*]".into(), Some(index)),
        }
    }
}

/// The paths that are known while they are found.
#[derive(Default)]
struct Paths {
    /// Where a step leads: from a path, through a slot, to a class.
    known: HashMap<(u32, Slot, ClassId), u32, Quick>,
    /// The last step that was taken: most objects of an array have the same.
    last: Option<((u32, Slot, ClassId), u32)>,
    /// The class of each path's objects.
    classes: Vec<ClassId>,
    /// The path of all roots that have no room.
    more: Option<u32>,
    /// The numbers of the names of roots.
    root_slots: HashMap<String, u32>,
}

impl Paths {
    /// Returns whether there is no room for new ones. Then nobody looks for where else they might lead.
    fn is_full(&self) -> bool {
        self.classes.len() >= MOST_PATHS || self.known.len() >= MOST_STEPS
    }

    /// Returns the slot of a root.
    fn root(&mut self, root: &Root) -> Slot {
        let name = root_name(root);
        let next = self.root_slots.len() as u32;
        Slot::Root(*self.root_slots.entry(name).or_insert(next))
    }
}

/// The objects of a walk, in an order in which all that is reached through an object comes right behind it.
struct Order {
    /// Their numbers.
    objects: Vec<u32>,
    /// Where each is.
    position: Vec<u32>,
    /// How many are reached through each, with itself.
    size: Vec<u32>,
    /// The nearest that may be a container: itself, or one around it.
    nearest: Vec<u32>,
}

impl Order {
    fn new<O>(all: &[Reached<O>]) -> Self {
        let mut size = vec![1; all.len()];
        for (number, it) in all.iter().enumerate().rev() {
            if it.before != NONE {
                size[it.before as usize] += size[number];
            }
        }
        let mut objects = vec![0; all.len()];
        let mut position = vec![0; all.len()];
        // Where the next one goes that is reached through an object; what roots hold comes at the end.
        let mut free = vec![0; all.len()];
        let mut end = 0;
        for (number, it) in all.iter().enumerate() {
            let place = free.get_mut(it.before as usize).unwrap_or(&mut end);
            let at = *place;
            *place += size[number];
            position[number] = at;
            objects[at as usize] = number as u32;
            free[number] = at + 1;
        }
        let mut order = Self {
            objects,
            position,
            size,
            // It is not needed any more.
            nearest: free,
        };
        order.find_nearest(all);
        order
    }

    /// Finds what may be a container: what is entered from another class, unless it is nested too deep.
    fn find_nearest<O>(&mut self, all: &[Reached<O>]) {
        // The containers around, each with the end of what it holds; and how often each class is among them.
        let mut around: Vec<(u32, u32, ClassId)> = Vec::new();
        let mut nested: Vec<u32> = Vec::new();
        for (position, &number) in (0..).zip(&self.objects) {
            while let Some(&(_, end, class)) = around.last()
                && end <= position
            {
                nested[class.0 as usize] -= 1;
                around.pop();
            }
            let it = &all[number as usize];
            let entered = all
                .get(it.before as usize)
                .is_none_or(|from| from.class != it.class);
            if entered && around.len() < DEEPEST {
                let class = it.class.0 as usize;
                if nested.len() <= class {
                    nested.resize(class + 1, 0);
                }
                if nested[class] < NESTED {
                    nested[class] += 1;
                    let end = position + self.size[number as usize];
                    around.push((number, end, it.class));
                }
            }
            self.nearest[number as usize] = around.last().map_or(NONE, |it| it.0);
        }
    }

    /// Returns the places of an object and of all that is reached through it.
    fn stretch(&self, number: u32) -> Range<u32> {
        let begin = self.position[number as usize];
        begin..begin + self.size[number as usize]
    }

    /// Returns what may be a container and is around one.
    fn around<O>(&self, container: u32, all: &[Reached<O>]) -> u32 {
        let before = all[container as usize].before;
        self.nearest.get(before as usize).copied().unwrap_or(NONE)
    }
}

/// The objects of a class.
#[derive(Clone, Default)]
pub(super) struct Held {
    /// Where they are in the order.
    positions: Vec<u32>,
    /// The bytes of each and of all before it.
    upto: Vec<u64>,
}

impl Held {
    fn push(&mut self, position: u32, bytes: u64) {
        self.positions.push(position);
        self.upto.push(self.upto.last().unwrap_or(&0) + bytes);
    }

    /// Returns the bytes in a stretch.
    pub(super) fn within(&self, stretch: Range<u32>) -> u64 {
        let before = |end: u32| match self.positions.partition_point(|&it| it < end) {
            0 => 0,
            count => self.upto[count - 1],
        };
        before(stretch.end) - before(stretch.start)
    }
}

/// The objects of a walk by their paths.
pub(super) struct ByPath {
    /// Where each path begins, and the end of all.
    begins: Vec<usize>,
    numbers: Vec<u32>,
    order: Order,
}

impl ByPath {
    /// Returns the objects of a path, by their numbers.
    fn of(&self, path: u32) -> &[u32] {
        let path = path as usize;
        &self.numbers[self.begins[path]..self.begins[path + 1]]
    }

    /// Returns the places of all that is in a container.
    pub(super) fn stretch(&self, container: &Container) -> Range<u32> {
        self.order.stretch(container.number)
    }
}

/// Hashes steps: a few small numbers, often.
#[derive(Clone, Copy, Default)]
struct Quick(u64);

impl BuildHasher for Quick {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // An odd number without a pattern: the golden ratio.
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the best.
        self.0.rotate_left(26)
    }
}

/// A slot of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Slot {
    /// A root, by the number of its name.
    Root(u32),
    Field(ClassId, u32),
    Element,
}

/// No object is of it.
const NO_CLASS: ClassId = ClassId(0);

impl Step {
    fn new(within: Option<u32>, slot: String, class: String) -> Self {
        Self {
            within,
            slot,
            class,
            objects: 0,
            bytes: 0,
        }
    }
}

impl<O> Reached<O> {
    fn new(object: O, before: u32, place: Place, class: ClassId) -> Self {
        Self {
            object,
            before,
            place,
            class,
            path: NONE,
        }
    }
}

impl Census {
    /// Returns a path, from its root.
    pub fn way(&self, path: u32) -> Vec<u32> {
        let back = |&at: &u32| self.paths[at as usize].within;
        let mut way: Vec<u32> = std::iter::successors(Some(path), back).collect();
        way.reverse();
        way
    }
}

/// Returns the name of a root, without its place on a stack.
fn root_name(root: &Root) -> String {
    let Root { kind, name, .. } = root;
    match kind {
        RootKind::Static => format!("static:{name}"),
        RootKind::ThreadObject => format!("thread-object:{name}"),
        RootKind::ThreadStack => format!("thread:{name}"),
        RootKind::Handle => format!("handle:{name}"),
        RootKind::Other => format!("other:{name}"),
        RootKind::Finalizer => format!("finalizer:{name}"),
    }
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
    use heaphound_heap::view::HeapView;

    use super::*;

    /// The containers of one class, object by object.
    fn slowly(
        walk: &Walk<'_, Snapshot>,
        wanted: ClassId,
        least: u64,
    ) -> Vec<(u32, Option<u32>, u64)> {
        let mut bytes = vec![0; walk.objects.len()];
        for it in walk.objects.iter().filter(|it| it.class == wanted) {
            let mut at = walk
                .objects
                .iter()
                .position(|other| other.object == it.object);
            while let Some(number) = at {
                bytes[number] += walk.view.bytes_of(it.object) as u64;
                at = Some(walk.objects[number].before as usize)
                    .filter(|_| walk.objects[number].before != NONE);
            }
        }
        let mut kept: Vec<(u32, Option<u32>, u64)> = Vec::new();
        let mut nearest: Vec<Option<u32>> = Vec::new();
        for (number, it) in walk.objects.iter().enumerate() {
            let before = (it.before != NONE).then_some(it.before as usize);
            let within = before.and_then(|it| nearest[it]);
            let back = |at: &u32| kept[*at as usize].1;
            let around = std::iter::successors(within, back);
            let same = |at: &u32| walk.objects[kept[*at as usize].0 as usize].class == it.class;
            let nested = around.filter(same).count();
            let entered = before.is_none_or(|at| walk.objects[at].class != it.class);
            if bytes[number] < least.max(1) || !entered || nested >= NESTED as usize {
                nearest.push(within);
                continue;
            }
            nearest.push(Some(kept.len() as u32));
            kept.push((number as u32, within, bytes[number]));
        }
        kept
    }

    #[test]
    fn containers_are_those_that_are_found_object_by_object() {
        let mut seed = 1u64;
        let mut dice = |sides: u32| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % sides
        };
        let mut several = 0;
        for _ in 0..300 {
            let mut builder = SnapshotBuilder::default();
            let classes: Vec<ClassId> = (0..1 + dice(5))
                .map(|it| builder.add_class(&format!("C{it}"), None, &["a", "b", "c"]))
                .collect();
            let count = 1 + dice(60);
            // Mostly to what comes soon, so that ways are long.
            for object in 0..count {
                let class = classes[dice(classes.len() as u32) as usize];
                builder.add_object(class, 16 + 8 * dice(4) as usize);
                for field in 0..3 {
                    if dice(3) > 0 {
                        let to = (object + 1 + dice(4)).min(count - 1);
                        builder.add_edge(Place::Field(field), ObjectId(to));
                    }
                }
            }
            builder.add_root(Root::new(RootKind::Static, "a"), ObjectId(0));
            builder.add_root(Root::new(RootKind::Static, "b"), ObjectId(dice(count)));
            let heap = builder.finish().unwrap();
            let mut walk = Walk::new(&heap);
            let wanted: Vec<(Vec<ClassId>, u64)> = classes
                .iter()
                .map(|&class| (vec![class], u64::from(dice(200))))
                .collect();
            let found = walk.containers(&wanted);
            for ((class, least), found) in wanted.iter().zip(found) {
                let found: Vec<_> = found
                    .iter()
                    .map(|it| (it.number, it.within, it.bytes))
                    .collect();
                several += usize::from(found.len() > 3);
                assert_eq!(found, slowly(&walk, class[0], *least));
            }
        }
        assert!(several > 100, "{several}");
    }
}
