//! What a class knows about its instances (names, slots, plain fields) and about other classes.

use std::collections::HashSet;

use crate::value::PlainKind;

/// A class of one heap. Ids are dense, start at 1 and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub u32);

/// How a field of an object is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A reference that is never null.
    Ref,
    /// A reference or null.
    Opt,
    /// A reference that does not retain its target.
    Weak,
    /// A reference that retains its target while the object's weak slot
    /// still has its own: the value of an ephemeron.
    Dependent,
    /// Plain data, readable by name.
    Plain(PlainKind),
    /// Ordinary Rust memory, dropped with the object and opaque to us.
    Owned,
}

impl FieldKind {
    /// Whether the field is a slot: a place that holds a reference.
    pub const fn is_slot(self) -> bool {
        matches!(self, Self::Ref | Self::Opt | Self::Weak | Self::Dependent)
    }
}

/// One field of a class: a slot, plain data, or owned memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldInfo {
    /// The name as the program spells it; `name[i]` for an inline array.
    pub name: String,
    /// Bytes from the start of the object, header included.
    pub offset: u32,
    /// How it is stored.
    pub kind: FieldKind,
}

/// The elements of an array class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elements {
    /// Optional references.
    Refs,
    /// Plain data.
    Plain(PlainKind),
    /// The bytes of immutable UTF-8 text.
    Text,
}

/// What reports and queries know of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassInfo {
    /// The class's id in its heap.
    pub id: ClassId,
    /// Its name in reports.
    pub name: String,
    /// The class that it extends.
    pub superclass: Option<ClassId>,
    /// The interfaces that it implements itself, or extends if it is one, in declaration order.
    /// Those of its supertypes are not repeated.
    pub interfaces: Vec<ClassId>,
    /// Whether it is an interface: it has no superclass, no fields, no elements and no instances
    /// of its own.
    pub is_interface: bool,
    /// Fields in declaration order, inherited ones first.
    pub fields: Vec<FieldInfo>,
    /// What an array of this class holds, if it is one.
    pub elements: Option<Elements>,
    /// The field that tells instances apart for a person, an index into `fields`: reports show it
    /// beside their names. Plain data, or a reference to a string. A subclass has that of its
    /// superclass, unless it has its own.
    pub caption: Option<u32>,
}

impl ClassInfo {
    /// The fields that hold references, in declaration order.
    pub fn slots(&self) -> impl Iterator<Item = &FieldInfo> {
        self.fields.iter().filter(|field| field.kind.is_slot())
    }

    /// The field that reports show beside the names of instances.
    pub fn caption_field(&self) -> Option<&FieldInfo> {
        self.fields.get(self.caption? as usize)
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl ClassInfo {
    /// The class that it extends, and then its interfaces.
    pub fn supertypes(&self) -> impl Iterator<Item = ClassId> {
        let interfaces = self.interfaces.iter().copied();
        self.superclass.into_iter().chain(interfaces)
    }

    /// One of its supertypes, in that order.
    fn supertype(&self, nth: usize) -> Option<ClassId> {
        match (self.superclass, nth) {
            (Some(class), 0) => Some(class),
            (Some(_), nth) => self.interfaces.get(nth - 1).copied(),
            (None, nth) => self.interfaces.get(nth).copied(),
        }
    }
}

/// Whether a class is another one, or extends or implements it, directly or through other
/// classes. `info` finds a class by its id.
pub fn extends<'c>(
    class: ClassId,
    above: ClassId,
    info: impl Fn(ClassId) -> &'c ClassInfo,
) -> bool {
    let mut met = HashSet::new();
    let mut left = vec![class];
    while let Some(class) = left.pop() {
        if class == above {
            return true;
        }
        // An interface can be met on several ways.
        left.extend(info(class).supertypes().filter(|&it| met.insert(it)));
    }
    false
}

/// All classes that are one of these or have one of them above, as [`extends`] says for a
/// pair, in the order of their ids. The classes are those of a heap, in that order.
pub fn with_subclasses(classes: &[ClassInfo], of: &[ClassId]) -> Vec<ClassId> {
    let mut below: Vec<Vec<ClassId>> = vec![Vec::new(); classes.len() + 1];
    for class in classes {
        for above in class.supertypes() {
            if let Some(below) = below.get_mut(above.0 as usize) {
                below.push(class.id);
            }
        }
    }
    let mut met = vec![false; classes.len() + 1];
    let mut left = of.to_vec();
    while let Some(class) = left.pop() {
        let met = met.get_mut(class.0 as usize);
        if met.is_some_and(|met| !std::mem::replace(met, true)) {
            left.extend(&below[class.0 as usize]);
        }
    }
    let ids = classes.iter().map(|class| class.id);
    ids.filter(|id| met[id.0 as usize]).collect()
}

/// Supertypes that lead back to where they started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle {
    /// The class that extends itself.
    pub class: ClassId,
    /// The supertype of it on the way back.
    pub through: ClassId,
    /// The last class on that way: the class above is one of its supertypes.
    pub last: ClassId,
}

/// Finds where classes extend themselves. Once every [`Cycle::last`] has lost its supertype
/// [`Cycle::class`], none does any more. Supertypes that are not there are passed over.
pub fn find_cycles(classes: &[ClassInfo]) -> Vec<Cycle> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        /// On the way, at this place.
        Open(usize),
        Done,
    }
    let get = |id: ClassId| classes.get((id.0 as usize).wrapping_sub(1));
    let mut visits = vec![Visit::New; classes.len() + 1];
    let mut cycles = Vec::new();
    // Classes on the way from the first, each with how many of its supertypes were looked at.
    let mut way: Vec<(&ClassInfo, usize)> = Vec::new();
    for first in classes {
        if visits[first.id.0 as usize] == Visit::New {
            visits[first.id.0 as usize] = Visit::Open(0);
            way.push((first, 0));
        }
        while let Some((class, next)) = way.last_mut() {
            let (class, nth) = (*class, *next);
            *next += 1;
            let Some(above) = class.supertype(nth) else {
                visits[class.id.0 as usize] = Visit::Done;
                way.pop();
                continue;
            };
            let Some(above) = get(above) else {
                continue;
            };
            match visits[above.id.0 as usize] {
                Visit::Done => {}
                Visit::New => {
                    visits[above.id.0 as usize] = Visit::Open(way.len());
                    way.push((above, 0));
                }
                Visit::Open(place) => cycles.push(Cycle {
                    class: above.id,
                    through: above.supertype(way[place].1 - 1).expect("it led here"),
                    last: class.id,
                }),
            }
        }
    }
    cycles
}

/// A class's name without the modules or packages before it and before its type arguments:
/// `List<Order>` for `shop::List<shop::Order>`, `Node` for `java.util.Node`.
pub fn short_name(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    // Where the part that is being read starts.
    let mut start = 0;
    for c in name.chars() {
        short.push(c);
        match c {
            '.' | ':' => short.truncate(start),
            '<' | '>' | ',' | ' ' | '(' | ')' | '[' | ']' | '&' | '*' => start = short.len(),
            _ => {}
        }
    }
    short
}
