//! Which references count.

use std::fmt;

use crate::view::{HeapView, Place};

/// The slots whose references count, by their names; without any, all references do. A node of a tree
/// that is asserted unshared by `left` and `right` may have children that point back to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Slots {
    names: Vec<String>,
}

impl Slots {
    /// The name that elements of arrays have.
    pub const ELEMENTS: &str = "[]";

    /// Slots of these names, whatever objects have them. That of an inline array stands for all its
    /// elements, and [`Slots::ELEMENTS`] for the elements of arrays.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().collect();
        Self { names }
    }

    /// Whether all references count, also those of roots.
    pub fn are_all(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the reference in a slot of an object counts.
    pub fn counts<V: HeapView>(&self, view: &V, from: V::Object, place: Place) -> bool {
        if self.are_all() {
            return true;
        }
        let name = match place {
            Place::Field(index) => {
                let class = view.class(view.class_of(from));
                class.fields[index as usize].name.as_str()
            }
            Place::Element(_) => Self::ELEMENTS,
        };
        let inline = |own: &str| {
            let index = name.strip_prefix(own).and_then(|it| it.strip_prefix('['));
            index.is_some_and(|it| it.ends_with(']'))
        };
        self.names.iter().any(|own| own == name || inline(own))
    }
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))
    }
}
