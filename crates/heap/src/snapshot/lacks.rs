//! What a file does not say of the heap that it was made from, and what nobody may conclude from that.

use super::Snapshot;
use crate::class::ClassId;
use crate::view::HeapView;

/// What a heap in a file lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lacks {
    /// Parts of the heap: the file was cut short, or was not understood everywhere. What holds on the rest need not hold on
    /// the whole.
    pub parts: bool,
    /// Which classes are interfaces, and which ones implement them.
    pub interfaces: bool,
    /// Which class extends which.
    pub superclasses: bool,
    /// Numbers in slots, which seem to be null.
    pub numbers: bool,
}

impl Lacks {
    /// What can be lacking, as files spell it, in the order of their numbers there.
    pub const WORDS: [&'static str; 4] = ["parts", "interfaces", "superclasses", "numbers"];

    /// Whether each of [`Self::WORDS`] is lacking.
    pub fn all(self) -> [bool; 4] {
        [self.parts, self.interfaces, self.superclasses, self.numbers]
    }

    /// The words for what is lacking.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let all = Self::WORDS.into_iter().zip(self.all());
        all.filter(|it| it.1).map(|it| it.0)
    }

    /// Adds what a word says. Returns false if there is no such word.
    pub fn add(&mut self, word: &str) -> bool {
        match word {
            "parts" => self.parts = true,
            "interfaces" => self.interfaces = true,
            "superclasses" => self.superclasses = true,
            "numbers" => self.numbers = true,
            _ => return false,
        }
        true
    }
}

impl Snapshot {
    /// What the file lacks that the heap was read from.
    pub fn lacks(&self) -> Lacks {
        self.lacks
    }

    /// The classes that may be interfaces, where the heap does not say which are. Such a class has no objects, no fields and
    /// no subclasses, and extends nothing but the class that is above all.
    pub fn may_be_interfaces(&self) -> Vec<ClassId> {
        if !self.lacks.interfaces {
            return Vec::new();
        }
        let is_top = |id: ClassId| self.class(id).superclass.is_none();
        let mut may_be = vec![false; self.classes.len() + 1];
        for class in &self.classes {
            may_be[class.id.0 as usize] = !class.is_interface
                && class.fields.is_empty()
                && class.elements.is_none()
                && class.superclass.is_none_or(is_top);
        }
        for above in self.classes.iter().filter_map(|it| it.superclass) {
            may_be[above.0 as usize] = false;
        }
        for &class in &self.class_of {
            may_be[class as usize] = false;
        }
        let ids = self.classes.iter().map(|it| it.id);
        ids.filter(|id| may_be[id.0 as usize]).collect()
    }
}
