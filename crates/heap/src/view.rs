//! A stopped heap of any origin, read-only.

use std::collections::HashSet;
use std::hash::Hash;

use crate::class::{ClassId, ClassInfo, Elements, FieldKind};
use crate::root::{Root, RootSet};
use crate::spelling::field_name;
/// What plain data holds.
pub use crate::value::Value;

/// Where in its object an edge starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// A named slot: an index into the class's `fields`.
    Field(u32),
    /// An element of a reference array.
    Element(u32),
}

/// How strongly an edge holds its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strength {
    /// The target lives while the source does.
    Strong,
    /// The target may die.
    Weak,
    /// The target lives while the source and the source's weak target do.
    Dependent,
}

impl Strength {
    /// How a slot of that kind holds its target.
    pub fn of(kind: FieldKind) -> Self {
        match kind {
            FieldKind::Weak => Self::Weak,
            FieldKind::Dependent => Self::Dependent,
            _ => Self::Strong,
        }
    }
}

/// A heap that stands still while it is looked at.
pub trait HeapView {
    /// What stands for an object within this view: a dense number in a snapshot,
    /// something that nobody can make up in a live heap.
    type Object: Copy + Eq + Ord + Hash + Send + Sync;

    /// All classes, in the order of their ids.
    fn classes(&self) -> &[ClassInfo];

    /// The class of an object.
    fn class_of(&self, object: Self::Object) -> ClassId;

    /// Bytes that the object itself takes, header included.
    fn bytes_of(&self, object: Self::Object) -> usize;

    /// The running threads, each by a name that no other has.
    fn threads(&self) -> &[String];

    /// All roots, ordered by kind, name and index.
    fn for_each_root(&self, f: impl FnMut(&Root, Self::Object));

    /// What some of the roots refer to, in any order; an object may come more than once.
    fn for_each_root_target(&self, roots: RootSet<'_>, mut f: impl FnMut(Self::Object)) {
        self.for_each_root(|root, object| {
            if roots.includes(root.kind, &root.name) {
                f(object);
            }
        });
    }

    /// The edges that leave an object, in the order of its slots.
    fn for_each_edge(&self, object: Self::Object, f: impl FnMut(Place, Strength, Self::Object));

    /// The edges that retain, in the order of slots: strong ones, and dependent ones
    /// whose key lives. Traces and paths follow these.
    fn for_each_strong_edge(&self, object: Self::Object, f: impl FnMut(Place, Self::Object));

    /// The targets of the edges that retain, in the order of slots: what a search needs until
    /// it has found something.
    fn for_each_target(&self, object: Self::Object, mut f: impl FnMut(Self::Object)) {
        self.for_each_strong_edge(object, |_, to| f(to));
    }

    /// Whether every plain value of every object is known, and so is the length of every array. No answer is no.
    fn knows_all_values(&self) -> bool {
        false
    }

    /// The plain-data value at an index into the class's `fields`, where it is known.
    fn plain_value(&self, object: Self::Object, field: usize) -> Option<Value>;

    /// What the slot at an index into the class's `fields` refers to, however strongly. None
    /// if that is null, or no slot is there.
    fn slot(&self, object: Self::Object, field: usize) -> Option<Self::Object> {
        let wanted = u32::try_from(field).ok().map(Place::Field);
        self.edge_at(object, wanted?)
    }

    /// What an element of a reference array refers to. None if that is null, or no element is
    /// there.
    fn element(&self, object: Self::Object, index: usize) -> Option<Self::Object> {
        let wanted = u32::try_from(index).ok().map(Place::Element);
        self.edge_at(object, wanted?)
    }

    /// Whether the slot at a place has a reference that was pruned or invalidated. It is not null, and no
    /// edge: nobody knows where it led.
    fn is_cut(&self, object: Self::Object, place: Place) -> bool;

    /// What the edge at a place refers to, by looking at all edges.
    #[doc(hidden)]
    fn edge_at(&self, object: Self::Object, wanted: Place) -> Option<Self::Object> {
        let mut found = None;
        self.for_each_edge(object, |place, _, to| {
            if place == wanted {
                found = Some(to);
            }
        });
        found
    }

    /// An element of an array of plain data, or a byte of a string, where it is known.
    fn plain_element(&self, object: Self::Object, index: usize) -> Option<Value> {
        let text = self.text_of(object)?;
        let byte = text.as_bytes().get(index)?;
        Some(Value::Unsigned(*byte as u64))
    }

    /// How many elements an array has, where it is known.
    fn length_of(&self, object: Self::Object) -> Option<usize>;

    /// The text of a string object, where it is known.
    fn text_of(&self, object: Self::Object) -> Option<String>;

    /// The text of a string object, where all of it is known: a file may have only how it
    /// begins.
    fn whole_text_of(&self, object: Self::Object) -> Option<String> {
        let text = self.text_of(object)?;
        let last = self.length_of(object).and_then(|it| it.checked_sub(1));
        let is_whole = last.is_none_or(|last| self.plain_element(object, last).is_some());
        is_whole.then_some(text)
    }

    /// The name by which reports speak of an object: `Node#17`, `"a b"#1`
    /// ([`spelling::object_name`](crate::spelling::object_name)).
    fn name_of(&self, object: Self::Object) -> String;

    /// What tells an object from others of its class, as reports show it beside its name, where
    /// it is known: `title="preferences"`. Long texts are shortened.
    fn caption_of(&self, object: Self::Object) -> Option<String> {
        caption_of(self, object)
    }

    /// How the text of a string object begins, up to that many bytes, and whether that is all of it.
    fn text_start(&self, object: Self::Object, most: usize) -> Option<(Vec<u8>, bool)> {
        text_start(self, object, most)
    }

    /// What is known of a class.
    fn class(&self, id: ClassId) -> &ClassInfo {
        &self.classes()[id.0 as usize - 1]
    }

    /// The slot at a place of an object, as it follows the object in a report: `.next`,
    /// `[3]`.
    fn slot_name(&self, object: Self::Object, place: Place) -> String {
        match place {
            Place::Field(i) => {
                let class = self.class(self.class_of(object));
                format!(".{}", field_name(&class.fields[i as usize].name))
            }
            Place::Element(i) => format!("[{i}]"),
        }
    }
}

/// The most characters of a text that a caption shows.
const CAPTION_CHARS: usize = 40;

/// The field of an object that is its caption, as [`HeapView::caption_of`] gives it.
pub(crate) fn caption_of<V: HeapView + ?Sized>(view: &V, object: V::Object) -> Option<String> {
    let class = view.class(view.class_of(object));
    let field = class.caption_field()?;
    let at = class.caption? as usize;
    let value = match field.kind {
        FieldKind::Plain(_) => view.plain_value(object, at)?.to_string(),
        FieldKind::Owned => return None,
        // What is text itself keeps it in that slot.
        _ if class.elements == Some(Elements::Text) => quoted_start(view, object)?,
        _ => quoted_start(view, view.slot(object, at)?)?,
    };
    Some(format!("{}={value}", field.name))
}

/// How the text of a string object begins, in quotes. It is not read further than that.
pub(crate) fn quoted_start<V: HeapView + ?Sized>(view: &V, object: V::Object) -> Option<String> {
    if view.class(view.class_of(object)).elements != Some(Elements::Text) {
        return None;
    }
    // A character has four bytes at most.
    let (bytes, is_whole) = view.text_start(object, 4 * (CAPTION_CHARS + 1))?;
    let text = String::from_utf8_lossy(&bytes);
    let shown: String = text.chars().take(CAPTION_CHARS).collect();
    Some(match is_whole && shown.len() == text.len() {
        true => format!("{shown:?}"),
        false => format!("{shown:?}…"),
    })
}

/// How a text begins, element by element.
pub(crate) fn text_start<V: HeapView + ?Sized>(
    view: &V,
    object: V::Object,
    most: usize,
) -> Option<(Vec<u8>, bool)> {
    let length = view.length_of(object)?;
    let bytes = (0..length.min(most)).map_while(|at| match view.plain_element(object, at)? {
        Value::Unsigned(byte) => u8::try_from(byte).ok(),
        _ => None,
    });
    let bytes: Vec<u8> = bytes.collect();
    let is_whole = bytes.len() == length;
    (!bytes.is_empty() || length == 0).then_some((bytes, is_whole))
}

/// Every live object, in breadth-first order from the roots: the slow, obvious
/// twin of a collector's mark. A dependent edge counts once its object's weak
/// targets are known to live.
pub fn live_objects<V: HeapView>(view: &V) -> Vec<V::Object> {
    let mut seen = HashSet::new();
    let mut order = Vec::new();
    view.for_each_root(|_, object| {
        if seen.insert(object) {
            order.push(object);
        }
    });
    let mut next = 0;
    loop {
        while next < order.len() {
            view.for_each_edge(order[next], |_, strength, to| {
                if strength == Strength::Strong && seen.insert(to) {
                    order.push(to);
                }
            });
            next += 1;
        }
        let mut found = Vec::new();
        for &object in &order {
            let (mut keys, mut keys_live) = (0, true);
            view.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Weak {
                    keys += 1;
                    keys_live &= seen.contains(&to);
                }
            });
            view.for_each_edge(object, |_, strength, to| {
                if strength == Strength::Dependent && keys > 0 && keys_live {
                    found.push(to);
                }
            });
        }
        for object in found {
            if seen.insert(object) {
                order.push(object);
            }
        }
        if next == order.len() {
            return order;
        }
    }
}
