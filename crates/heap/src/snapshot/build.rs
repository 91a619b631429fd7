//! Putting a snapshot together: object by object, or from whole columns.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{Addresses, FAR, HUGE, Hold, Lacks, ObjectId, Snapshot, TextPlace, Values};
use super::{bits_of, encode_values, plain_fields};
use crate::class::{ClassId, ClassInfo, Elements, FieldKind, find_cycles};
use crate::root::{Root, RootKind, RootSet};
use crate::value::{PlainKind, Value};
use crate::view::{HeapView, Place, Strength};

/// What a builder was given does not make a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// Builds a snapshot object by object.
///
/// ```
/// use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
/// use heaphound_heap::view::{HeapView, Place};
/// use heaphound_heap::{Root, RootKind};
///
/// let mut builder = SnapshotBuilder::default();
/// let node = builder.add_class("Node", None, &["next"]);
/// let first = builder.add_object(node, 16);
/// builder.add_edge(Place::Field(0), ObjectId(1));
/// builder.add_object(node, 16);
/// builder.add_root(Root::new(RootKind::Static, "list"), first);
/// let heap = builder.finish().unwrap();
/// assert_eq!(heap.name_of(ObjectId(1)), "Node#2");
/// ```
#[derive(Debug, Default)]
pub struct SnapshotBuilder {
    columns: Columns,
    /// The place of the last edge of the object being built.
    last: u32,
    values: Option<Vec<(usize, u64)>>,
    elements: Option<Vec<u8>>,
}

/// A snapshot as the arrays that it is made of; what they mean is said at
/// [`Snapshot`](super::Snapshot).
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Columns {
    pub classes: Vec<ClassInfo>,
    pub threads: Vec<String>,
    pub roots: Vec<(Root, ObjectId)>,
    pub class_of: Vec<u32>,
    pub bytes_of: Vec<u32>,
    /// Where the edges of each object start. One longer than there are objects, or
    /// as long: then the last one's end with the last edge.
    pub first_edge: Vec<u64>,
    pub targets: Vec<u32>,
    pub steps: Vec<u16>,
    pub far: HashMap<u64, u32>,
    pub huge: HashMap<u32, u64>,
    pub lengths: Vec<(u32, u32)>,
    pub numbers: Vec<u64>,
    pub cut: Vec<(u32, u32)>,
    pub first_value: Vec<u64>,
    pub values: Vec<u8>,
    /// Whether every plain field and every plain element of every object is among these values, and the length of every array is
    /// known.
    pub knows_all: bool,
    /// Classes whose instances have their text elsewhere, by class id. Their elements are text.
    pub texts: HashMap<u32, TextPlace>,
    pub captions: HashMap<u32, String>,
    pub addresses: Addresses,
    pub notes: Vec<String>,
    pub lacks: Lacks,
}

impl Columns {
    /// Adds an object without edges.
    #[inline]
    pub fn push_object(&mut self, class: ClassId, bytes: usize) -> ObjectId {
        let id = self.class_of.len() as u32;
        self.class_of.push(class.0);
        let bytes = bytes as u64;
        self.bytes_of.push(match u32::try_from(bytes) {
            Ok(bytes) if bytes != HUGE => bytes,
            _ => {
                self.huge.insert(id, bytes);
                HUGE
            }
        });
        self.first_edge.push(self.targets.len() as u64);
        ObjectId(id)
    }

    /// Adds an edge to the last object: how many places behind the one before (or behind
    /// 0) it starts, and where it leads.
    #[inline]
    pub fn push_edge(&mut self, step: u32, to: u32) {
        match u16::try_from(step) {
            Ok(step) if step != FAR => self.steps.push(step),
            _ => {
                self.far.insert(self.targets.len() as u64, step);
                self.steps.push(FAR);
            }
        }
        self.targets.push(to);
    }

    /// Adds a slot of the last object whose reference was pruned or invalidated: its place, behind those
    /// that were added before.
    pub fn push_cut(&mut self, place: u32) {
        self.cut.push((self.class_of.len() as u32 - 1, place));
    }

    /// Adds the objects of others, with all that is known of them, behind its own, and leaves those empty. They have no numbers;
    /// their targets are numbers of all objects.
    pub fn append(&mut self, more: &mut Self) {
        let object = self.class_of.len() as u32;
        let edge = self.targets.len() as u64;
        let value = self.values.len() as u64;
        self.class_of.append(&mut more.class_of);
        self.bytes_of.append(&mut more.bytes_of);
        let first = more.first_edge.drain(..);
        self.first_edge.extend(first.map(|it| it + edge));
        self.targets.append(&mut more.targets);
        self.steps.append(&mut more.steps);
        self.far
            .extend(more.far.drain().map(|(at, it)| (at + edge, it)));
        self.huge
            .extend(more.huge.drain().map(|(at, it)| (at + object, it)));
        let lengths = more.lengths.drain(..);
        self.lengths
            .extend(lengths.map(|(at, it)| (at + object, it)));
        self.cut
            .extend(more.cut.drain(..).map(|(at, it)| (at + object, it)));
        let first = more.first_value.drain(..);
        self.first_value.extend(first.map(|it| it + value));
        self.values.append(&mut more.values);
    }

    /// Makes the snapshot of columns that are known to fit together: a capture's. Others
    /// would make questions panic later.
    pub fn trusted(mut self) -> Snapshot {
        if cfg!(debug_assertions) {
            return self.finish().expect("a capture fits together");
        }
        if self.first_edge.len() == self.class_of.len() {
            self.first_edge.push(self.targets.len() as u64);
        }
        self.roots.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.into_snapshot()
    }

    /// Makes the snapshot, once everything has been found to fit together.
    pub fn finish(mut self) -> Result<Snapshot, Malformed> {
        let objects = self.class_of.len();
        let fail = |what: String| Err(Malformed(what));
        if objects > u32::MAX as usize {
            return fail(format!("{objects} objects are more than a snapshot holds"));
        }
        if self.first_edge.len() == objects {
            self.first_edge.push(self.targets.len() as u64);
        }
        for (place, class) in self.classes.iter().enumerate() {
            if class.id.0 as usize != place + 1 {
                return fail(format!("class `{}` has the wrong id", class.name));
            }
            let is_there = |id: ClassId| (1..=self.classes.len()).contains(&(id.0 as usize));
            if !class.supertypes().all(is_there) {
                return fail(format!("class `{}` extends what is not there", class.name));
            }
        }
        check_supertypes(&self.classes)?;
        let sizes_fit = self.bytes_of.len() == objects
            && self.first_edge.len() == objects + 1
            && self.first_edge.first() == Some(&0)
            && self.first_edge.last() == Some(&(self.targets.len() as u64))
            && self.first_edge.is_sorted()
            && self.steps.len() == self.targets.len()
            && (self.numbers.is_empty() || self.numbers.len() == objects)
            && self.huge.len() == self.bytes_of.iter().filter(|&&it| it == HUGE).count()
            && self
                .huge
                .keys()
                .all(|&it| self.bytes_of.get(it as usize) == Some(&HUGE));
        let values_fit = self.first_value.is_empty()
            || self.first_value.len() == objects + 1
                && self.first_value.first() == Some(&0)
                && self.first_value.is_sorted()
                && self.first_value.last() == Some(&(self.values.len() as u64));
        if !sizes_fit || !values_fit || !self.lengths.is_sorted() {
            return fail("the columns of the snapshot do not fit together".into());
        }
        let classes = self.classes.len() as u32;
        if let Some(at) = self.class_of.iter().position(|&c| c == 0 || c > classes) {
            return fail(format!("object {at} has no class"));
        }
        let is_interface = |&c: &u32| self.classes[c as usize - 1].is_interface;
        if self.classes.iter().any(|class| class.is_interface)
            && let Some(at) = self.class_of.iter().position(is_interface)
        {
            let name = &self.classes[self.class_of[at] as usize - 1].name;
            return fail(format!("object {at} is of interface `{name}`"));
        }
        let far_away = |id: &u32| *id as usize >= objects;
        if let Some(to) = self.targets.iter().find(|id| far_away(id)) {
            return fail(format!("an edge leads to object {to}, which is not there"));
        }
        if self.roots.iter().any(|(_, to)| far_away(&to.0)) {
            return fail("a root refers to an object that is not there".into());
        }
        self.roots.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut threads: Vec<&String> = self.threads.iter().collect();
        threads.sort();
        if let Some(pair) = threads.windows(2).find(|pair| pair[0] == pair[1]) {
            return fail(format!("two threads have the name `{}`", pair[0]));
        }
        for (root, _) in &self.roots {
            let of_thread = matches!(root.kind, RootKind::ThreadStack | RootKind::ThreadObject);
            if of_thread && threads.binary_search(&&root.name).is_err() {
                return fail(format!("`{}` is not a thread of this heap", root.name));
            }
        }
        let objects = self.roots.iter().map(|(root, _)| root);
        let mut objects = objects.filter(|root| root.kind == RootKind::ThreadObject);
        let mut before = objects.next();
        for root in objects {
            if before.is_some_and(|before| before.name == root.name) {
                return fail(format!("thread `{}` has two thread objects", root.name));
            }
            before = Some(root);
        }
        let mut snapshot = self.into_snapshot();
        snapshot.check_places()?;
        snapshot.check_cut()?;
        snapshot.values.are_all = snapshot.check_values()?;
        Ok(snapshot)
    }

    fn into_snapshot(self) -> Snapshot {
        let mixed = |class: &ClassInfo| {
            let odd = |kind| matches!(kind, FieldKind::Weak | FieldKind::Dependent);
            match class.fields.iter().any(|field| odd(field.kind)) {
                true => Hold::Mixed,
                false => Hold::Strong,
            }
        };
        let holds: Vec<Hold> = std::iter::once(Hold::Strong)
            .chain(self.classes.iter().map(mixed))
            .collect();
        let mut has_cut = vec![false; self.classes.len() + 1];
        for (object, _) in &self.cut {
            // Whether they are right is checked later.
            let class = self.class_of.get(*object as usize).copied();
            if let Some(has) = class.and_then(|it| has_cut.get_mut(it as usize)) {
                *has = true;
            }
        }
        let mut snapshot = Snapshot {
            holds,
            has_cut,
            classes: self.classes,
            threads: self.threads,
            roots: self.roots,
            class_of: self.class_of,
            bytes_of: self.bytes_of,
            first_edge: self.first_edge,
            targets: self.targets,
            steps: self.steps,
            far: self.far,
            huge: self.huge,
            lengths: self.lengths,
            numbers: self.numbers,
            cut: self.cut,
            values: Values {
                first: self.first_value,
                bytes: self.values,
                are_all: self.knows_all,
            },
            lapsed: HashSet::new(),
            texts: self.texts,
            captions: self.captions,
            addresses: self.addresses,
            notes: self.notes,
            lacks: self.lacks,
        };
        snapshot.lapsed = snapshot.find_lapsed();
        snapshot
    }
}

/// Supertypes are what they must be: a class begins with the fields of the class that it extends,
/// interfaces have nothing but a name and interfaces, and no class extends itself.
fn check_supertypes(classes: &[ClassInfo]) -> Result<(), Malformed> {
    let fail = |what: String| Err(Malformed(what));
    let get = |id: ClassId| &classes[id.0 as usize - 1];
    if let Some(cycle) = find_cycles(classes).first() {
        return fail(format!("class `{}` extends itself", get(cycle.class).name));
    }
    for class in classes {
        let name = &class.name;
        let has_more =
            class.superclass.is_some() || !class.fields.is_empty() || class.elements.is_some();
        if class.is_interface && has_more {
            return fail(format!(
                "interface `{name}` has fields, elements or a superclass"
            ));
        }
        let mut met = HashSet::new();
        for &id in &class.interfaces {
            let above = &get(id).name;
            if !get(id).is_interface {
                return fail(format!(
                    "`{above}`, which `{name}` implements, is not an interface"
                ));
            }
            if !met.insert(id) {
                return fail(format!("class `{name}` implements `{above}` twice"));
            }
        }
        let Some(above) = class.superclass.map(get) else {
            continue;
        };
        if above.is_interface {
            return fail(format!(
                "`{}`, which `{name}` extends, is an interface",
                above.name
            ));
        }
        let own = class.fields.iter().zip(&above.fields);
        let same = own.filter(|(own, it)| own.name == it.name && own.kind == it.kind);
        if same.count() != above.fields.len() {
            return fail(format!(
                "class `{name}` does not begin with the fields of `{}`",
                above.name
            ));
        }
    }
    Ok(())
}

impl Snapshot {
    /// The bytes of plain data are as [`encode_values`] writes them. Returns whether nothing is missing: neither a value nor the
    /// length of an array.
    fn check_values(&self) -> Result<bool, Malformed> {
        if self.values.first.is_empty() {
            return Ok(false);
        }
        let (mut are_all, mut arrays) = (true, 0);
        // Found once, so that a class of many slots costs no more than its plain fields.
        let kinds = |class| plain_fields(class).map(|(_, kind)| kind).collect();
        let kinds: Vec<Vec<PlainKind>> = self.classes.iter().map(kinds).collect();
        for object in self.objects() {
            let bytes = self.values.of(object);
            let class = self.class(self.class_of(object));
            let kinds = &kinds[class.id.0 as usize - 1];
            let has_bytes = matches!(class.elements, Some(Elements::Plain(_) | Elements::Text));
            arrays += usize::from(class.elements == Some(Elements::Refs));
            if bytes.is_empty() {
                are_all &= kinds.is_empty() && !has_bytes;
                continue;
            }
            let mut known = 0..kinds.len() + usize::from(has_bytes);
            are_all &= known.all(|nth| {
                bytes
                    .get(nth / 8)
                    .is_some_and(|it| it >> (nth % 8) & 1 == 1)
            });
            let mut at = (kinds.len() + 1).div_ceil(8);
            let mut fits = true;
            for kind in kinds {
                let width = kind.bytes();
                fits &= match bytes.get(at..at + width) {
                    Some(value) => kind.is_valid(bits_of(value)),
                    None => false,
                };
                at += width;
            }
            let elements = bytes.get(at..).unwrap_or_default();
            fits &= bytes.len() >= at
                && match class.elements {
                    None | Some(Elements::Refs) => elements.is_empty(),
                    Some(Elements::Text) => true,
                    Some(Elements::Plain(kind)) => {
                        let mut all = elements.chunks(kind.bytes());
                        all.all(|it| it.len() == kind.bytes() && kind.is_valid(bits_of(it)))
                    }
                };
            if !fits {
                let name = self.name_of(object);
                return Err(Malformed(format!(
                    "the values of {name} do not fit its class"
                )));
            }
        }
        // A text that is elsewhere may be missing there.
        are_all &= self.texts.is_empty() && self.lengths.is_sorted_by(|a, b| a.0 < b.0);
        if !are_all {
            return Ok(false);
        }
        let mut counted = 0;
        for &(object, length) in &self.lengths {
            let class = self.class_of.get(object as usize).copied();
            let class = class.map(|it| self.class(ClassId(it)));
            let width = match class.and_then(|it| it.elements) {
                Some(Elements::Plain(kind)) => kind.bytes(),
                Some(Elements::Text) => 1,
                Some(Elements::Refs) => {
                    counted += 1;
                    continue;
                }
                None => continue,
            };
            // An array may have more elements than are known.
            let own = self.own_elements(ObjectId(object));
            are_all &= own.is_some_and(|it| it.len() == length as usize * width);
        }
        Ok(are_all && counted == arrays)
    }

    /// Every edge starts at a slot of its object, and no two at the same.
    fn check_places(&self) -> Result<(), Malformed> {
        // Where all fields are slots, only the number of the last edge's place matters;
        // most objects need no more than a look at their steps.
        for object in self.objects() {
            let range = self.edge_range(object);
            if range.is_empty() {
                continue;
            }
            let class = self.class(self.class_of(object));
            let mut at = 0u64;
            for edge in range.clone() {
                let step = match self.steps[edge] {
                    FAR => match self.far.get(&(edge as u64)) {
                        Some(&step) => step,
                        None => return Err(Malformed("an edge has no place".into())),
                    },
                    step => step as u32,
                };
                at += step as u64;
                let is_slot = match class.fields.get(at as usize) {
                    Some(field) => field.kind.is_slot(),
                    None => class.elements == Some(Elements::Refs) && at <= u32::MAX as u64,
                };
                if !is_slot || step == 0 && edge > range.start {
                    return Err(Malformed(format!(
                        "{} has no slot, or two edges, at place {at}",
                        self.name_of(object)
                    )));
                }
            }
        }
        Ok(())
    }

    /// Every slot that was cut is one, and is neither given twice nor has an edge.
    fn check_cut(&self) -> Result<(), Malformed> {
        if !self.cut.is_sorted_by(|a, b| a < b) {
            return Err(Malformed("slots that were cut are out of order".into()));
        }
        for &(object, place) in &self.cut {
            if object as usize >= self.len() {
                return Err(Malformed(format!("there is no object {object}")));
            }
            let object = ObjectId(object);
            let class = self.class(self.class_of(object));
            let is_slot = match class.fields.get(place as usize) {
                Some(field) => field.kind.is_slot(),
                None => class.elements == Some(Elements::Refs),
            };
            if !is_slot || self.target_at(object, place as usize).is_some() {
                return Err(Malformed(format!(
                    "{} has no slot, or an edge, at place {place}, which was cut",
                    self.name_of(object)
                )));
            }
        }
        Ok(())
    }

    /// The objects whose dependent edges hold nothing: they have no key, or one of their
    /// keys is dead. An ephemeron counts what it still waits for, so that each is
    /// looked at once for each key, however they hang on one another.
    fn find_lapsed(&self) -> HashSet<u32> {
        let dependent = |class: &ClassInfo| {
            let mut fields = class.fields.iter();
            fields.any(|field| field.kind == FieldKind::Dependent)
        };
        let is_ephemeron: Vec<bool> = std::iter::once(false)
            .chain(self.classes.iter().map(dependent))
            .collect();
        if !is_ephemeron.contains(&true) {
            return HashSet::new();
        }
        // For each ephemeron how many of itself and its keys are not yet known to live, and
        // for each of those which ephemerons wait for it.
        let mut waits: HashMap<u32, usize> = HashMap::new();
        let mut waiting: Vec<(u32, u32)> = Vec::new();
        let mut lapsed = HashSet::new();
        for object in self.objects() {
            if !is_ephemeron[self.class_of[object.0 as usize] as usize] {
                continue;
            }
            let before = waiting.len();
            self.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Weak {
                    waiting.push((to.0, object.0));
                }
            });
            let keys = waiting.len() - before;
            lapsed.insert(object.0);
            if keys > 0 {
                waiting.push((object.0, object.0));
                waits.insert(object.0, keys + 1);
            }
        }
        waiting.sort_unstable();
        let mut live = vec![false; self.len()];
        let mut stack = Vec::new();
        self.for_each_root_target(RootSet::All, |object| stack.push(object));
        while let Some(object) = stack.pop() {
            if std::mem::replace(&mut live[object.0 as usize], true) {
                continue;
            }
            self.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Strong {
                    stack.push(to);
                }
            });
            let first = waiting.partition_point(|it| it.0 < object.0);
            let held = waiting[first..].iter().take_while(|it| it.0 == object.0);
            for &(_, ephemeron) in held {
                let left = waits.entry(ephemeron).or_default();
                *left -= 1;
                if *left > 0 {
                    continue;
                }
                lapsed.remove(&ephemeron);
                self.for_each_edge(ObjectId(ephemeron), |_, strength, to| {
                    if strength == Strength::Dependent {
                        stack.push(to);
                    }
                });
            }
        }
        // Garbage holds garbage, by the same rule: those that only wait for themselves.
        let keys_live =
            |(object, left): (u32, usize)| (left == 1 && !live[object as usize]).then_some(object);
        for object in waits.into_iter().filter_map(keys_live) {
            lapsed.remove(&object);
        }
        lapsed
    }
}

impl SnapshotBuilder {
    /// A builder of a heap with these classes, whose ids are 1, 2, …
    pub fn new(classes: Vec<ClassInfo>) -> Self {
        Self {
            columns: Columns {
                classes,
                ..Columns::default()
            },
            ..Self::default()
        }
    }

    /// Adds a class with the slots of its superclass, if any, and these.
    pub fn add_class(&mut self, name: &str, above: Option<ClassId>, slots: &[&str]) -> ClassId {
        let classes = &mut self.columns.classes;
        let id = ClassId(classes.len() as u32 + 1);
        let mut fields = match above {
            Some(above) => classes[above.0 as usize - 1].fields.clone(),
            None => Vec::new(),
        };
        for slot in slots {
            fields.push(crate::class::FieldInfo {
                name: slot.to_string(),
                offset: 8 + 4 * fields.len() as u32,
                kind: FieldKind::Opt,
            });
        }
        classes.push(ClassInfo {
            id,
            name: name.into(),
            superclass: above,
            interfaces: Vec::new(),
            is_interface: false,
            fields,
            elements: None,
            caption: None,
        });
        id
    }

    /// Adds an interface that extends these.
    pub fn add_interface(&mut self, name: &str, above: &[ClassId]) -> ClassId {
        let id = self.add_class(name, None, &[]);
        self.columns.classes[id.0 as usize - 1].is_interface = true;
        self.implement(id, above);
        id
    }

    /// Says that a class implements these interfaces too.
    pub fn implement(&mut self, class: ClassId, interfaces: &[ClassId]) {
        let class = &mut self.columns.classes[class.0 as usize - 1];
        class.interfaces.extend_from_slice(interfaces);
    }

    /// Adds a class of reference arrays.
    pub fn add_array_class(&mut self, name: &str) -> ClassId {
        let id = self.add_class(name, None, &[]);
        self.columns.classes[id.0 as usize - 1].elements = Some(Elements::Refs);
        id
    }

    /// Adds an object. What is added next belongs to it.
    pub fn add_object(&mut self, class: ClassId, bytes: usize) -> ObjectId {
        self.close_object();
        self.last = 0;
        self.columns.push_object(class, bytes)
    }

    /// The place of a slot of the last object, as edges have it.
    fn place_of(&self, place: Place) -> u32 {
        let class = *self.columns.class_of.last().expect("an object comes first");
        let fields = self
            .columns
            .classes
            .get((class as usize).wrapping_sub(1))
            .map_or(0, |class| class.fields.len() as u32);
        match place {
            Place::Field(at) => at,
            Place::Element(at) => fields.saturating_add(at),
        }
    }

    /// Adds an edge of the last object, behind those it has. The target may be an object that
    /// is still to come.
    pub fn add_edge(&mut self, place: Place, to: ObjectId) {
        let at = self.place_of(place);
        // A step back becomes one of 0, which `finish` finds.
        self.columns.push_edge(at.saturating_sub(self.last), to.0);
        self.last = at;
    }

    /// Says that a slot of the last object has a reference that was pruned or invalidated. Such slots come
    /// in order.
    pub fn add_cut(&mut self, place: Place) {
        let at = self.place_of(place);
        self.columns.push_cut(at);
    }

    /// Says how many elements the last object has.
    pub fn set_length(&mut self, length: u32) {
        let object = self.columns.class_of.len() as u32 - 1;
        self.columns.lengths.push((object, length));
    }

    /// Gives the last object the number that its name has. Either all objects get one or
    /// none.
    pub fn set_number(&mut self, number: u64) {
        self.columns.numbers.push(number);
    }

    /// Says what a plain field of the last object holds.
    ///
    /// # Errors
    /// If it cannot hold that.
    pub fn set_value(&mut self, field: usize, value: Value) -> Result<(), Malformed> {
        let class = *self.columns.class_of.last().expect("an object comes first");
        let class = &self.columns.classes[class as usize - 1];
        let bits = match class.fields.get(field).map(|field| field.kind) {
            Some(FieldKind::Plain(kind)) => kind.encode(value),
            _ => None,
        };
        let Some(bits) = bits else {
            return Err(Malformed(format!(
                "a {} cannot hold {value} there",
                class.name
            )));
        };
        self.values.get_or_insert_default().push((field, bits));
        Ok(())
    }

    /// Gives the bytes of the last object's text or plain elements.
    pub fn set_elements(&mut self, bytes: Vec<u8>) {
        self.elements = Some(bytes);
    }

    /// Adds a thread, which may be without roots. Its name must be its own.
    pub fn add_thread(&mut self, name: &str) {
        self.columns.threads.push(name.into());
    }

    /// Adds a root, and its thread if it has one that is not known yet.
    pub fn add_root(&mut self, root: Root, object: ObjectId) {
        let of_thread = matches!(root.kind, RootKind::ThreadStack | RootKind::ThreadObject);
        if of_thread && !self.columns.threads.contains(&root.name) {
            self.columns.threads.push(root.name.clone());
        }
        self.columns.roots.push((root, object));
    }

    /// How many objects there are so far.
    pub fn len(&self) -> usize {
        self.columns.class_of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the values of the object that was being built.
    fn close_object(&mut self) {
        let columns = &mut self.columns;
        let Some(&class) = columns.class_of.last() else {
            return;
        };
        let known = self.values.is_some() || self.elements.is_some();
        if known || !columns.first_value.is_empty() {
            // Objects before the first value have none.
            columns
                .first_value
                .resize(columns.class_of.len(), columns.values.len() as u64);
        }
        if known {
            let values = self.values.take().unwrap_or_default();
            let bits = |field| {
                let found = values.iter().rev().find(|(at, _)| *at == field);
                found.map(|&(_, bits)| bits)
            };
            let elements = self.elements.take();
            let class = &columns.classes[class as usize - 1];
            encode_values(class, bits, elements.as_deref(), &mut columns.values);
        }
    }

    /// Makes the snapshot, once everything has been found to fit together.
    pub fn finish(mut self) -> Result<Snapshot, Malformed> {
        self.close_object();
        let columns = &mut self.columns;
        if !columns.first_value.is_empty() {
            columns
                .first_value
                .resize(columns.class_of.len() + 1, columns.values.len() as u64);
        }
        self.columns.finish()
    }
}
