//! A small heap that generators build and change, and that is written as heap text.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// An object, by its place in the sketch.
pub type Id = usize;

/// No object.
pub const NULL: Id = 0;

#[derive(Clone)]
struct Object {
    class: &'static str,
    number: usize,
    slots: Vec<(&'static str, Id)>,
    values: Vec<(&'static str, i64)>,
    /// Of an array of references.
    elements: Option<Vec<Id>>,
    /// Of an object whose size is not that of its fields.
    bytes: Option<usize>,
}

/// Where a reference stands: in a slot or in an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Slot(Id, &'static str),
    Element(Id, usize),
}

/// All objects that were ever made. What is not reachable is not written.
#[derive(Clone)]
pub struct Sketch {
    objects: Vec<Object>,
    counts: HashMap<&'static str, usize>,
    roots: Vec<(String, Id)>,
}

impl Sketch {
    pub fn new() -> Self {
        let null = Object {
            class: "null",
            number: 0,
            slots: Vec::new(),
            values: Vec::new(),
            elements: None,
            bytes: None,
        };
        Self {
            objects: vec![null],
            counts: HashMap::new(),
            roots: Vec::new(),
        }
    }

    fn push(&mut self, class: &'static str) -> &mut Object {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        self.objects.push(Object {
            class,
            number: *count,
            slots: Vec::new(),
            values: Vec::new(),
            elements: None,
            bytes: None,
        });
        self.objects.last_mut().unwrap()
    }

    pub fn add(
        &mut self,
        class: &'static str,
        slots: &[(&'static str, Id)],
        values: &[(&'static str, i64)],
    ) -> Id {
        let object = self.push(class);
        object.slots = slots.to_vec();
        object.values = values.to_vec();
        self.objects.len() - 1
    }

    /// Makes an object without references, of that size.
    pub fn data(&mut self, class: &'static str, bytes: usize) -> Id {
        self.push(class).bytes = Some(bytes);
        self.objects.len() - 1
    }

    /// Makes an array of null references.
    pub fn array(&mut self, class: &'static str, len: usize) -> Id {
        self.push(class).elements = Some(vec![NULL; len]);
        self.objects.len() - 1
    }

    pub fn root(&mut self, name: &str, id: Id) {
        match self.roots.iter_mut().find(|(it, _)| it == name) {
            Some(root) => root.1 = id,
            None => self.roots.push((name.into(), id)),
        }
    }

    pub fn class(&self, id: Id) -> &'static str {
        self.objects[id].class
    }

    pub fn name(&self, id: Id) -> String {
        format!("{}#{}", self.objects[id].class, self.objects[id].number)
    }

    pub fn at(&self, id: Id, slot: &str) -> Id {
        let object = &self.objects[id];
        let found = object.slots.iter().find(|it| it.0 == slot);
        found
            .unwrap_or_else(|| panic!("{} has no slot {slot}", object.class))
            .1
    }

    pub fn set(&mut self, id: Id, slot: &str, to: Id) {
        let object = &mut self.objects[id];
        let class = object.class;
        let found = object.slots.iter_mut().find(|it| it.0 == slot);
        found
            .unwrap_or_else(|| panic!("{class} has no slot {slot}"))
            .1 = to;
    }

    pub fn value(&self, id: Id, field: &str) -> i64 {
        let object = &self.objects[id];
        let found = object.values.iter().find(|it| it.0 == field);
        found
            .unwrap_or_else(|| panic!("{} has no field {field}", object.class))
            .1
    }

    pub fn put(&mut self, id: Id, field: &str, value: i64) {
        let object = &mut self.objects[id];
        let found = object.values.iter_mut().find(|it| it.0 == field);
        found.expect("the field").1 = value;
    }

    pub fn elements(&self, id: Id) -> &[Id] {
        self.objects[id].elements.as_ref().expect("an array")
    }

    pub fn element(&self, id: Id, index: usize) -> Id {
        self.elements(id)[index]
    }

    pub fn set_element(&mut self, id: Id, index: usize, to: Id) {
        self.objects[id].elements.as_mut().expect("an array")[index] = to;
    }

    pub fn elements_mut(&mut self, id: Id) -> &mut Vec<Id> {
        self.objects[id].elements.as_mut().expect("an array")
    }

    pub fn read(&self, place: Place) -> Id {
        match place {
            Place::Slot(id, slot) => self.at(id, slot),
            Place::Element(id, index) => self.element(id, index),
        }
    }

    pub fn write(&mut self, place: Place, to: Id) {
        match place {
            Place::Slot(id, slot) => self.set(id, slot, to),
            Place::Element(id, index) => self.set_element(id, index, to),
        }
    }

    /// Returns the places of an object.
    pub fn places(&self, id: Id) -> Vec<Place> {
        let object = &self.objects[id];
        let slots = object.slots.iter().map(|it| Place::Slot(id, it.0));
        let len = object.elements.as_ref().map_or(0, Vec::len);
        slots
            .chain((0..len).map(|index| Place::Element(id, index)))
            .collect()
    }

    /// Returns what is reachable from some objects, nearest to the first ones first (depth-first).
    pub fn reachable(&self, from: &[Id]) -> Vec<Id> {
        let mut seen = HashSet::from([NULL]);
        let mut order = Vec::new();
        let mut stack: Vec<Id> = from.iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            if seen.insert(id) {
                order.push(id);
                for place in self.places(id).into_iter().rev() {
                    stack.push(self.read(place));
                }
            }
        }
        order
    }

    /// Returns what lives, as heap text, in the order of allocation.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, id) in self.roots.iter().filter(|it| it.1 != NULL) {
            writeln!(text, "root {name} -> {}", self.name(*id)).unwrap();
        }
        let roots: Vec<Id> = self.roots.iter().map(|it| it.1).collect();
        let mut live = self.reachable(&roots);
        live.sort_unstable();
        let target = |id: Id| match id {
            NULL => "null".to_string(),
            id => self.name(id),
        };
        for id in live {
            let object = &self.objects[id];
            text.push_str(&self.name(id));
            if let Some(bytes) = object.bytes {
                write!(text, " ({bytes} bytes)").unwrap();
            }
            let mut said: Vec<String> = Vec::new();
            for (slot, to) in &object.slots {
                said.push(format!("{slot} -> {}", target(*to)));
            }
            for (field, value) in &object.values {
                said.push(format!("{field} = {value}"));
            }
            if !said.is_empty() {
                write!(text, " {{ {} }}", said.join(", ")).unwrap();
            }
            if let Some(elements) = &object.elements {
                let elements: Vec<String> = elements.iter().map(|it| target(*it)).collect();
                write!(text, " [ {} ]", elements.join(", ")).unwrap();
            }
            text.push('\n');
        }
        text
    }
}
