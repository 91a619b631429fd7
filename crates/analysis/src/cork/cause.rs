//! Causes: the structures that grow, and the classes that grow in each.
//!
//! One leak makes many classes grow: what is kept, what it refers to, and the entries and arrays of the
//! table that keeps it. They have one cause, and a cause is one finding.
//!
//! A class grows on those paths whose volume has grown from census to census, and in more than one step. The path
//! that has grown most is a cause, as soon as almost all of the growth is on it, else when more censuses have shown
//! which paths go up and down. Another one is a cause only if it has grown steadily at all of these, or still has when the
//! class is counted again, long after. The first step of a path where objects become more, as the class does, is where the growth **begins**: the entries of a table. Two
//! paths have one cause if one begins on the other, or if both begin in arrays of one object and grow
//! alike, as keys and values do. An array of references that becomes longer is no cause: what it holds
//! is.
//!
//! A cause is found once. It stands while one of its classes is reported, under the same name,
//! and while it grows itself, which is looked at now and then: its classes may be reported for what they do elsewhere.
//! If it grows again later, in whatever class, it is the same one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use heaphound_heap::class::Elements;
use heaphound_heap::finding::{Hop, Named, Path};
use heaphound_heap::root::RootKind;
use heaphound_heap::trace::Traceable;
use heaphound_heap::{ClassId, ClassInfo};

use super::census::{ByPath, Census, Container, Containers, MOST_CLASSES, Step, Walk, Wanted};
use super::growth::{courses, growth, held, monotone};
use super::rank::{DECAY, Rank};
use super::slice::NamedEdge;
use super::{Candidate, ENOUGH};
use crate::slot::SlotIds;

/// A structure that grows.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// The classes that grow in it and what each has grown by, the one that has grown most first.
    pub classes: Vec<(ClassId, u64)>,
    /// The way to the first class, by classes and slots, from a root if that has a name that lasts.
    pub path: Path,
    /// An object on that way, in the container that has grown.
    pub example: Path,
    /// The rank of that container by itself: beside others that do not grow, its class may have a lower one.
    pub rank: f64,
    /// Where its growth begins.
    begins: Vec<Part>,
    /// How many objects were there when that was last looked at.
    objects: u64,
}

/// Where a growth begins.
#[derive(Clone, PartialEq, Debug)]
struct Part {
    /// The slots and classes on the way there.
    way: Vec<(String, String)>,
    /// How many objects came with each census.
    more: Vec<i64>,
}

/// Finds causes, and remembers them while they stand.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// The last censuses, oldest first.
    censuses: VecDeque<Census>,
    /// The containers of classes that may be reported soon, at the last of these censuses.
    counted: BTreeMap<ClassId, VecDeque<Containers>>,
    standing: Vec<Cause>,
    /// Those that stood before, oldest first.
    past: VecDeque<Cause>,
    /// Whether there is no later look that could show more.
    at_once: bool,
    /// The census that showed the last of them.
    then: Option<Census>,
    /// How often the cause of a reported class was looked for in vain.
    tries: BTreeMap<ClassId, u32>,
    looks: u32,
    walks: u64,
    work: u64,
}

/// Growth is seen in this many censuses at most.
pub const CENSUSES: usize = 6;
/// No more causes are remembered that do not stand.
const MOST_PAST: usize = 64;
/// A growth is clear if this part of it is on one path.
const CLEAR: f64 = 0.8;
/// No step of a path that grows steadily is a larger part of its growth.
const STEADY: f64 = 0.4;
/// All steps of a path but the largest must be this part of its growth, or it is a spike.
const BESIDE_LARGEST: f64 = 0.25;
/// A path has at least this part of a class's growth, or it is not a cause of it.
const PART: f64 = 0.2;
/// A container has at least this part of the growth of the one around it, or the growth is spread.
const MOST_OF_IT: f64 = 0.5;
/// The objects of a step become more as those of a class do if there are this part as many.
const AS_MANY: f64 = 0.1;
/// Two growths are alike if they differ by no more than this part.
const ALIKE: f64 = 0.05;
/// After this many censuses that show no cause a class counts as known.
const MOST_TRIES: u32 = 10;
/// Whether a cause still grows is looked at after this many looks, and twice as many, and so on.
const CHECK: u32 = 4;
/// It does if there are this part more of what it had grown by when it was found.
const STILL: f64 = 0.25;
/// Known classes are counted again after this many looks, and twice as many, and so on: they
/// may have begun to grow elsewhere as well.
const AGAIN: u32 = 16;

impl Causes {
    /// Finds causes of a series that ends with the first look: what is unclear then stays so.
    pub fn at_once() -> Self {
        Self {
            at_once: true,
            ..Self::default()
        }
    }

    /// Takes a census of a heap that came before the one that is looked at. `classes` are those of the
    /// series.
    pub fn count<T: Traceable>(&mut self, view: &T, wanted: &[Wanted], classes: &[ClassInfo]) {
        let wanted = self.most_needed(wanted.to_vec());
        let (walk, counted) = self.walk(view, &wanted, classes);
        for (it, containers) in wanted.iter().zip(counted) {
            keep(self.counted.entry(it.class).or_default(), containers);
        }
        keep(&mut self.censuses, walk.into_census());
    }

    /// Looks for the causes of what is reported, and returns those that stand, new ones last. `wanted` are
    /// the classes that are reported, and those that may be soon: these are counted, to be compared
    /// with later. What is reported without having been counted before has to wait for its cause.
    pub fn look<T: Traceable>(
        &mut self,
        view: &T,
        candidates: &[Candidate],
        wanted: &[Wanted],
        classes: &[ClassInfo],
    ) -> &[Cause] {
        let is_reported = |class: ClassId| candidates.iter().any(|it| it.class == class);
        let stands = |cause: &mut Cause| cause.classes.iter().any(|it| is_reported(it.0));
        self.past
            .extend(self.standing.extract_if(.., |it| !stands(it)));
        while self.past.len() > MOST_PAST {
            self.past.pop_front();
        }
        self.tries.retain(|class, _| is_reported(*class));
        self.looks = match self.standing.is_empty() {
            true => 0,
            false => self.looks + 1,
        };
        let last = self.looks.saturating_sub(CENSUSES as u32 - 1).max(1);
        let again = (last..=self.looks).any(|it| it >= AGAIN && it.is_power_of_two());
        let is_due = |it: &&Wanted| again || !self.is_known(it.class);
        let due = self.most_needed(wanted.iter().filter(is_due).copied().collect());
        self.counted
            .retain(|class, _| due.iter().any(|it| it.class == *class));
        let checks = self.looks >= CHECK && self.looks.is_power_of_two();
        if due.is_empty() && !checks {
            self.censuses.clear();
            return &self.standing;
        }
        let (walk, all) = self.walk(view, &due, classes);
        if checks {
            self.withdraw(walk.census());
        }
        let mut grown: Vec<Grown> = Vec::new();
        // Classes that were counted at the same censuses share them.
        let mut shared: BTreeMap<(bool, usize), Rc<Courses>> = BTreeMap::new();
        for (it, containers) in due.into_iter().zip(all) {
            let known = self.is_known(it.class);
            let counted = self.counted.entry(it.class).or_default();
            let enough = match known {
                true => CENSUSES - 1,
                false => it.censuses,
            };
            if is_reported(it.class) && counted.len() >= enough.min(CENSUSES - 1) {
                let earlier = &*counted.make_contiguous();
                let since = earlier.len().min(it.phases.max(enough));
                let earlier = &earlier[earlier.len() - since..];
                let lists: Vec<&[Container]> = earlier.iter().map(Vec::as_slice).collect();
                // Only the censuses at which the class was counted, and if its cause is known, how it
                // was then: it has had time to show what grows elsewhere.
                let then = self.then.iter().filter(|_| known);
                let last = self.censuses.range(self.censuses.len() - lists.len()..);
                let courses = shared.entry((known, lists.len())).or_insert_with(|| {
                    let censuses: Vec<&Census> = then.chain(last).chain([walk.census()]).collect();
                    Rc::new(courses(&censuses))
                });
                let name = &classes[it.class.0 as usize - 1].name;
                let courses = courses.clone();
                let mut class = Grown::new(it.class, name, &walk, &containers, courses, &lists);
                class.again = known;
                // Who asks for less patience does not wait.
                let patient = it.censuses >= ENOUGH && !self.at_once;
                class.waits = !known && patient && lists.len() < CENSUSES - 1;
                class.at_once = self.at_once;
                grown.push(class);
                *self.tries.entry(it.class).or_default() += 1;
            }
            keep(counted, containers);
        }
        let ends = grown
            .iter()
            .flat_map(|it| it.ends().into_iter().map(move |end| (it, end)));
        let mut ends: Vec<(&Grown, End)> = ends.collect();
        // What has grown most gives a cause its name.
        ends.sort_by_key(|(it, end)| (end.beside, Reverse(end.bytes), it.class, end.path));
        if !ends.is_empty() {
            self.then = Some(walk.census().clone());
        }
        let mut examples = None;
        for (grown, end) in ends {
            self.add(&walk, &mut examples, grown, &end);
        }
        keep(&mut self.censuses, walk.into_census());
        &self.standing
    }

    /// Withdraws the causes that do not grow any more. What their classes grow by is somewhere else, which is
    /// looked for again.
    fn withdraw(&mut self, census: &Census) {
        for cause in self.standing.extract_if(.., |it| !it.still_grows(census)) {
            for (class, _) in &cause.classes {
                self.tries.remove(class);
            }
            self.past.push_back(cause);
        }
    }

    /// Returns as many classes as are counted at once, ordered: those that have been, to be compared, then what has
    /// grown most. The others have their turn when the causes of these are known.
    fn most_needed(&self, mut wanted: Vec<Wanted>) -> Vec<Wanted> {
        if wanted.len() > MOST_CLASSES {
            let is_new = |it: &Wanted| !self.counted.contains_key(&it.class);
            wanted.sort_by_key(|it| (is_new(it), Reverse(it.least_bytes), it.class));
            wanted.truncate(MOST_CLASSES);
            wanted.sort_by_key(|it| it.class);
        }
        wanted
    }

    /// Walks through a heap, and returns what its containers hold of each class.
    fn walk<'v, T: Traceable>(
        &mut self,
        view: &'v T,
        wanted: &[Wanted],
        classes: &[ClassInfo],
    ) -> (Walk<'v, T>, Vec<Containers>) {
        let mut walk = Walk::new(view);
        let numbers = |it: &Wanted| (numbers_of(view, it.class, classes), it.least_bytes);
        let numbers: Vec<(Vec<ClassId>, u64)> = wanted.iter().map(numbers).collect();
        let containers = walk.containers(&numbers);
        self.walks += 1;
        self.work += walk.work();
        (walk, containers)
    }

    /// Returns how much was looked at in all walks: objects, edges, steps of paths, containers.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Returns the causes that stand.
    pub fn standing(&self) -> &[Cause] {
        &self.standing
    }

    /// Returns how many heaps were walked through.
    pub fn walks(&self) -> u64 {
        self.walks
    }

    /// Returns whether a cause of a class is known, or was looked for long enough.
    fn is_known(&self, class: ClassId) -> bool {
        let tries = self.tries.get(&class).copied().unwrap_or(0);
        tries >= MOST_TRIES || self.standing.iter().any(|it| it.contains(class))
    }

    /// Adds that a class grows on a path.
    fn add<T: Traceable>(
        &mut self,
        walk: &Walk<'_, T>,
        by_path: &mut Option<ByPath>,
        grown: &Grown,
        end: &End,
    ) {
        let &End {
            path,
            bytes,
            beside,
            ..
        } = end;
        let begins = grown.begins(walk.census(), path);
        if let Some(cause) = self.standing.iter_mut().find(|it| it.includes(&begins)) {
            if !cause.contains(grown.class) {
                cause.classes.push((grown.class, bytes));
            }
            cause.begins.push(begins);
            return;
        }
        if beside && !grown.again && !end.is_steady || end.is_room {
            return;
        }
        if let Some(at) = self.past.iter().position(|it| it.includes(&begins)) {
            let mut cause = self.past.remove(at).expect("it is there");
            cause.objects = cause.begins[0].objects(walk.census());
            if !cause.contains(grown.class) {
                cause.classes.push((grown.class, bytes));
            }
            self.standing.push(cause);
            return;
        }
        let census = walk.census();
        let by_path = by_path.get_or_insert_with(|| walk.by_path());
        let container = grown.container(walk, by_path, path);
        let trail = walk.example(by_path, path, container.map(|it| &grown.containers[it]));
        let rank = container.map_or(0.0, |it| Rank::of(&grown.held[it], DECAY));
        let lasts = |kind| matches!(kind, RootKind::Static | RootKind::ThreadObject);
        let mut way = census
            .way(path)
            .into_iter()
            .map(|at| &census.paths[at as usize]);
        let named = |class: &str| Named::new(class, class);
        let first = way.next().expect("a path has a step");
        self.standing.push(Cause {
            classes: vec![(grown.class, bytes)],
            path: Path::new(
                trail.root.clone().filter(|it| lasts(it.kind)),
                named(&first.class),
                way.map(|it| Hop {
                    slot: it.slot.clone(),
                    index: None,
                    to: named(&it.class),
                })
                .collect(),
            ),
            example: trail.describe(walk.view()),
            rank,
            objects: begins.objects(census),
            begins: vec![begins],
        });
    }
}

impl Cause {
    /// Returns whether a class grows in it.
    pub fn contains(&self, class: ClassId) -> bool {
        self.classes.iter().any(|it| it.0 == class)
    }

    /// Returns the edges along which growth leads to its classes, of these candidates.
    pub fn edges(
        &self,
        candidates: &[Candidate],
        classes: &[ClassInfo],
        slots: &SlotIds,
    ) -> Vec<NamedEdge> {
        let name = |class: ClassId| classes[class.0 as usize - 1].name.clone();
        let growing = candidates.iter().filter(|it| self.contains(it.class));
        let named = growing.flat_map(|it| &it.slice.edges).map(|it| NamedEdge {
            from: name(it.from),
            to: name(it.class),
            slots: (it.slots.iter())
                .map(|it| format!(".{}", slots.name(classes, it.slot)))
                .collect(),
        });
        named.collect()
    }

    /// Returns whether there is clearly more where it begins than when that was last looked at.
    fn still_grows(&mut self, census: &Census) -> bool {
        let first = &self.begins[0];
        let now = first.objects(census);
        let then = std::mem::replace(&mut self.objects, now);
        // What does not become more becomes larger, and is not looked at here.
        let came: i64 = first.more.iter().sum();
        came <= 0 || now as f64 - then as f64 >= STILL * came as f64
    }

    /// Returns whether a growth is part of it.
    fn includes(&self, other: &Part) -> bool {
        let one = |it: &Part| {
            it.way.starts_with(&other.way) || other.way.starts_with(&it.way) || it.is_beside(other)
        };
        self.begins.iter().any(one)
    }
}

impl Part {
    /// Returns how many objects are where it begins.
    fn objects(&self, census: &Census) -> u64 {
        let mut within = None;
        for (slot, class) in &self.way {
            let is_next = |it: &Step| it.within == within && it.slot == *slot && it.class == *class;
            match census.paths.iter().position(is_next) {
                Some(at) => within = Some(at as u32),
                None => return 0,
            }
        }
        within.map_or(0, |at| census.paths[at as usize].objects)
    }

    /// Returns whether two growths begin in arrays of one object and are alike.
    fn is_beside(&self, other: &Self) -> bool {
        // An object, an array, and what is in it.
        let [around @ .., array, _] = &self.way[..] else {
            return false;
        };
        let [other_around @ .., other_array, _] = &other.way[..] else {
            return false;
        };
        let is_array = |way: &[(String, String)]| way.last().is_some_and(|it| it.0 == "[*]");
        let alike = self.more.iter().zip(&other.more).all(|(a, b)| {
            a.abs_diff(*b) as f64 <= ALIKE * a.unsigned_abs().max(b.unsigned_abs()) as f64
        });
        !around.is_empty()
            && around == other_around
            && array.0 != other_array.0
            && is_array(&self.way)
            && is_array(&other.way)
            && alike
    }
}

/// What was on each path at each census: objects and bytes.
type Courses = Vec<Vec<(u64, u64)>>;

/// A class, and how it has grown on each path.
struct Grown {
    class: ClassId,
    /// The paths that lead to it.
    paths: Vec<u32>,
    /// What was on each path of the walk at each census: objects and bytes.
    courses: Rc<Courses>,
    /// Whether it is a class of arrays of references.
    holds_references: bool,
    /// Whether a cause of it was known before.
    again: bool,
    /// Whether later censuses will tell more.
    waits: bool,
    /// Whether no other look follows.
    at_once: bool,
    /// The containers that hold the class, and what each has grown by.
    containers: Containers,
    growth: Vec<u64>,
    /// What each held at each census.
    held: Vec<Vec<u64>>,
}

/// A path on which a class has grown.
struct End {
    path: u32,
    bytes: u64,
    /// Whether the class has grown more on another.
    beside: bool,
    /// Whether arrays of references have become longer, and not more: room for what grows.
    is_room: bool,
    /// Whether most of it came in one step.
    is_spike: bool,
    /// Whether it has grown at each of many censuses, by about as much.
    is_steady: bool,
}

impl Grown {
    fn new<T: Traceable>(
        class: ClassId,
        name: &str,
        walk: &Walk<'_, T>,
        containers: &Containers,
        courses: Rc<Courses>,
        counted: &[&[Container]],
    ) -> Self {
        let census = walk.census();
        let lists: Vec<&[Container]> = counted.iter().copied().chain([&containers[..]]).collect();
        let paths = (0..).zip(&census.paths).filter(|it| it.1.class == name);
        let view = walk.view();
        let mut same = view.classes().iter().filter(|it| it.name == name);
        Self {
            class,
            holds_references: same.any(|it| it.elements == Some(Elements::Refs)),
            paths: paths.map(|it| it.0).collect(),
            courses,
            growth: growth(&lists),
            held: held(&lists),
            again: false,
            waits: false,
            at_once: false,
            containers: containers.clone(),
        }
    }

    /// Returns the paths on which it has grown; none as long as that is not clear and may become so.
    fn ends(&self) -> Vec<End> {
        let end = |&path: &u32| {
            let course = &self.courses[path as usize];
            let volumes: Vec<u64> = course.iter().map(|it| it.1).collect();
            let bytes = monotone(&volumes);
            let steps = volumes.windows(2).map(|it| it[1].saturating_sub(it[0]));
            let least = steps.clone().min().unwrap_or(0);
            let largest = steps.max().unwrap_or(0);
            let rest = bytes.saturating_sub(largest) as f64;
            let is_steady = least > 0 && largest as f64 <= STEADY * bytes as f64;
            End {
                path,
                bytes,
                beside: true,
                is_room: self.holds_references && more(course) <= 0,
                // A single step says nothing.
                is_spike: volumes.len() > 2 && rest <= BESIDE_LARGEST * bytes as f64,
                is_steady: is_steady && volumes.len() >= CENSUSES,
            }
        };
        let mut ends: Vec<End> = self.paths.iter().map(end).collect();
        let all: u64 = ends.iter().map(|it| it.bytes).sum();
        let is_part = |it: &End, part: f64| it.bytes > 0 && it.bytes as f64 >= part * all as f64;
        let is_clear = ends.iter().any(|it| is_part(it, CLEAR) && !it.is_spike);
        if self.waits && !is_clear {
            return Vec::new();
        }
        // What grows in leaps, as an array that doubles, is seen by there being nothing else.
        let leaps = |it: &End| self.at_once || !self.again && is_part(it, CLEAR);
        ends.retain(|it| is_part(it, PART) && (!it.is_spike || leaps(it)));
        // What is no spike comes first. Of equals, the first.
        let order = |it: &&mut End| (!it.is_spike, it.bytes);
        if let Some(most) = ends.iter_mut().rev().max_by_key(order) {
            most.beside = false;
        }
        ends
    }

    /// Returns where the growth of a path begins.
    fn begins(&self, census: &Census, path: u32) -> Part {
        let course = |path: u32| &self.courses[path as usize];
        let all = more(course(path));
        let way = census.way(path);
        let begins = |&at: &u32| {
            let here = more(course(at));
            here > 0 && here as f64 >= AS_MANY * all as f64
        };
        let first = way.iter().position(begins).unwrap_or(way.len() - 1);
        let step = |&at: &u32| {
            let it = &census.paths[at as usize];
            (it.slot.clone(), it.class.clone())
        };
        Part {
            way: way[..=first].iter().map(step).collect(),
            more: course(way[first])
                .windows(2)
                .map(|pair| pair[1].0 as i64 - pair[0].0 as i64)
                .collect(),
        }
    }

    /// Returns the container that has grown on a path: the innermost that has most of the growth.
    ///
    /// Only those count whose objects of the class are mostly on the path: what others have grown by may be on
    /// another. The way of classes does not tell which are on it, since where it comes back to a class, as in a
    /// list of lists, it leaves out what is in between.
    fn container<T: Traceable>(
        &self,
        walk: &Walk<'_, T>,
        by_path: &ByPath,
        path: u32,
    ) -> Option<usize> {
        let on_path = walk.on_path(by_path, path);
        let is_on_path = |it: &Container| 2 * on_path.within(by_path.stretch(it)) >= it.bytes;
        let mut grown: Vec<(u32, u64, usize)> = Vec::new();
        let mut depths: Vec<u32> = Vec::with_capacity(self.containers.len());
        for (number, (it, &bytes)) in self.containers.iter().zip(&self.growth).enumerate() {
            let depth = it.within.map_or(0, |around| depths[around as usize] + 1);
            depths.push(depth);
            if bytes > 0 && is_on_path(it) {
                grown.push((depth, bytes, number));
            }
        }
        // One that was filled in one step is not meant, if there is another.
        let sustained = |it: &(u32, u64, usize)| {
            let steps = self.held[it.2].windows(2);
            let largest = steps.map(|it| it[1].saturating_sub(it[0])).max();
            it.1.saturating_sub(largest.unwrap_or(0))
        };
        if grown.iter().any(|it| sustained(it) > 0) {
            for it in &mut grown {
                it.1 = sustained(it);
            }
        }
        let most = grown.iter().map(|it| it.1).max().unwrap_or(0);
        grown.retain(|it| it.1 as f64 >= MOST_OF_IT * most as f64);
        let found = grown.into_iter().max_by_key(|it| (it.0, it.1));
        found.map(|it| it.2)
    }
}

/// Returns how many objects there are more at the end of a course than at its beginning.
fn more(course: &[(u64, u64)]) -> i64 {
    let objects = |at: Option<&(u64, u64)>| at.map_or(0, |it| it.0 as i64);
    objects(course.last()) - objects(course.first())
}

/// Keeps the last ones.
fn keep<C>(all: &mut VecDeque<C>, new: C) {
    all.push_back(new);
    while all.len() > CENSUSES - 1 {
        all.pop_front();
    }
}

/// Returns the numbers that a class of a series has in a view. More than one class may have its name.
fn numbers_of<T: Traceable>(view: &T, class: ClassId, classes: &[ClassInfo]) -> Vec<ClassId> {
    let name = &classes[class.0 as usize - 1].name;
    let same = view.classes().iter().filter(|it| it.name == *name);
    same.map(|it| it.id).collect()
}
