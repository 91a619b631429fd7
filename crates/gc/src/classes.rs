//! The classes of a heap: typed ones, made when first used, and dynamic ones.
//!
//! Class ids are dense, never reused, and read without a lock: a table that only
//! grows, in chunks of doubling size, so that nothing in it ever moves.
//!
//! No two classes of a heap have the same name. When several Rust types do, each of them is called
//! by its path: `shop::Node` and `bank::Node`, whichever was used first. A class gets another
//! name at most once, and never back. Dynamic classes of one name are numbered in the order of
//! definition: `Node`, `Node~2`.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use heaphound_heap::class::{self, Elements, short_name};
use heaphound_heap::sync::Mutex;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind};

use crate::casts::{Casts, Row, Rows};
use crate::interface::{InterfaceDescriptor, interface_info};
use crate::raw::{
    Descriptor, FieldDescriptor, Instance, MAX_CLASSES, Managed, Object, Pinned, Root, Shape, Trace,
};

/// A class of one heap.
pub(crate) struct Class {
    pub(crate) info: Info,
    pub(crate) trace: Trace,
    /// Offsets and kinds of all slots; what `Trace` could not hold.
    pub(crate) slots: Vec<(u32, FieldKind)>,
    pub(crate) drop: Option<unsafe fn(*mut u8)>,
    descriptor: &'static Descriptor,
    /// Whether it is known where its first object was allocated.
    met: AtomicBool,
    /// Whether some site of it is pretenured.
    routed: AtomicBool,
}

/// What is known of a class, with the name that it has now.
pub(crate) struct Info {
    first: ClassInfo,
    /// The same, once another class has come that has the name too.
    renamed: OnceLock<ClassInfo>,
    origin: Origin,
}

impl Deref for Info {
    type Target = ClassInfo;

    #[inline]
    fn deref(&self) -> &ClassInfo {
        self.renamed.get().unwrap_or(&self.first)
    }
}

/// Where a class comes from, which decides what it is called if its name is taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A Rust type at this path.
    Type(String),
    /// The program, at run time.
    Dynamic,
}

impl Class {
    /// Whether instances have slots that depend on a weak one.
    pub(crate) fn is_ephemeron(&self) -> bool {
        let mut kinds = self.slots.iter().map(|&(_, kind)| kind);
        kinds.any(|kind| kind == FieldKind::Dependent)
    }

    /// Bytes of each instance, if all have as many.
    pub(crate) fn fixed_bytes(&self) -> Option<usize> {
        match self.info.elements {
            None => Some(self.trace.fixed_bytes(self.slots.len())),
            Some(_) => None,
        }
    }
}

/// All classes of one heap.
pub(crate) struct Classes {
    chunks: [OnceLock<Box<[OnceLock<Class>]>>; 20],
    casts: Casts,
    rows: Rows,
    names: Mutex<Names>,
    /// What was known of all of them when somebody asked last.
    infos: Mutex<Arc<[ClassInfo]>>,
}

#[derive(Default)]
struct Names {
    count: usize,
    typed: HashMap<TypeId, ClassId>,
    /// Apart from `typed`: nothing keeps a type from being a class and an interface.
    interfaces: HashMap<TypeId, ClassId>,
    by_name: HashMap<String, ClassId>,
    /// Names that several Rust types have, so that none of them is called so.
    ambiguous: HashSet<String>,
    /// The last number that a name got behind it.
    last_number: HashMap<String, usize>,
}

/// Panics if an object would own roots. What a root keeps alive stays for as long as the root does, so that a cycle that
/// leads through one is never freed. Only what the type of a field names is seen: a struct of the program's own
/// may hide roots.
fn refuse_roots(class: &str, descriptor: &Descriptor) {
    let roots = [
        std::any::type_name::<Root<()>>(),
        std::any::type_name::<Pinned<()>>(),
    ];
    let roots = roots.map(|it| it.trim_end_matches("()>"));
    for field in descriptor.fields {
        let held = (field.type_name)();
        assert!(
            field.kind != FieldKind::Owned || !roots.iter().any(|it| held.contains(it)),
            "field `{}` of class `{class}` holds roots ({held}): what they refer to would never be freed. Use a \
             `Slot`, a `RefArray` or a `GcVec`, or `Weak` handles",
            field.name,
        );
    }
}

/// What is known of a field as it was written: one for each element of an array, and for each part.
fn infos(field: &FieldDescriptor) -> Vec<FieldInfo> {
    let mut infos = Vec::new();
    let mut add = |name: String, offset: usize, kind| {
        infos.push(FieldInfo {
            name: format!("{}{name}", field.name),
            offset: (field.offset + offset) as u32,
            kind,
        })
    };
    if let Some(parts) = field.parts {
        parts(&mut |part| add(part.name, part.offset, part.kind));
        return infos;
    }
    let bytes = match field.kind {
        FieldKind::Plain(kind) => kind.bytes(),
        _ => 4,
    };
    for at in 0..field.count {
        let name = match field.count {
            1 => String::new(),
            _ => format!("[{at}]"),
        };
        add(name, at * bytes, field.kind);
    }
    infos
}

/// The heap has as many classes as a header can name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TooManyClasses;

impl std::fmt::Display for TooManyClasses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a heap has at most {MAX_CLASSES} classes")
    }
}

impl std::error::Error for TooManyClasses {}

impl Classes {
    pub(crate) fn new() -> Self {
        Self {
            chunks: Default::default(),
            casts: Casts::new(),
            rows: Rows::new(),
            names: Mutex::default(),
            infos: Mutex::new(Arc::new([])),
        }
    }

    /// The class of that id, which must exist.
    #[inline]
    pub(crate) fn get(&self, id: ClassId) -> &Class {
        self.place(id.0).get().expect("a class id names a class")
    }

    #[inline]
    fn place(&self, id: u32) -> &OnceLock<Class> {
        // Chunk k holds ids 2^k … 2^(k+1) − 1.
        let chunk = id.ilog2();
        let chunk = self.chunks[chunk as usize]
            .get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        &chunk[(id - (1 << id.ilog2())) as usize]
    }

    /// How many classes there are; their ids are 1 to this.
    pub(crate) fn count(&self) -> usize {
        self.names.lock().unwrap().count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Class> {
        (1..=self.count() as u32).map(|id| self.get(ClassId(id)))
    }

    /// What is known of all classes, in the order of their ids. The same list, until there are others or one
    /// has another name: names change only when a class is added.
    pub(crate) fn infos(&self) -> Arc<[ClassInfo]> {
        // Whoever adds a class has the lock, too.
        let names = self.names.lock().unwrap();
        let mut infos = self.infos.lock().unwrap();
        if infos.len() != names.count {
            let ids = 1..=names.count as u32;
            *infos = ids.map(|id| self.get(ClassId(id)).info.clone()).collect();
        }
        infos.clone()
    }

    /// The class of a Rust type, made if this is its first use.
    pub(crate) fn of(&self, descriptor: &'static Descriptor) -> Result<ClassId, TooManyClasses> {
        let key = (descriptor.type_id)();
        if let Some(&id) = self.names.lock().unwrap().typed.get(&key) {
            return Ok(id);
        }
        let superclass = descriptor.superclass.map(|it| self.of(it)).transpose()?;
        let interfaces = self.interfaces(descriptor.interfaces)?;
        // The program's own code may have a say in them, and may ask for classes.
        let (name, path) = ((descriptor.name)(), (descriptor.path)());
        refuse_roots(&name, descriptor);
        let own: Vec<Vec<FieldInfo>> = descriptor.fields.iter().map(infos).collect();
        let mut names = self.names.lock().unwrap();
        if let Some(&id) = names.typed.get(&key) {
            return Ok(id);
        }
        let (mut fields, mut caption) = match superclass {
            Some(id) => {
                let above = &self.get(id).info;
                (above.fields.clone(), above.caption)
            }
            None => (Vec::new(), None),
        };
        for (number, own) in own.into_iter().enumerate() {
            if descriptor.caption == Some(number) {
                caption = Some(fields.len() as u32);
            }
            fields.extend(own);
        }
        let elements = match descriptor.shape {
            Shape::Fixed(_) => None,
            Shape::Refs => Some(Elements::Refs),
            Shape::Plain(kind) => Some(Elements::Plain(kind)),
            Shape::Text => Some(Elements::Text),
        };
        let info = ClassInfo {
            id: ClassId(0),
            name,
            superclass,
            interfaces,
            is_interface: false,
            fields,
            elements,
            caption,
        };
        let id = self.add(&mut names, info, Origin::Type(path), |info| {
            Class::new(info, descriptor.shape, 0, descriptor)
        })?;
        self.rows.fill(id, descriptor);
        names.typed.insert(key, id);
        Ok(id)
    }

    /// The interface of a Rust type, made if this is its first use.
    pub(crate) fn interface(
        &self,
        descriptor: &InterfaceDescriptor,
    ) -> Result<ClassId, TooManyClasses> {
        let key = (descriptor.type_id)();
        if let Some(id) = self.known_interface(key) {
            return Ok(id);
        }
        let above = self.interfaces(descriptor.extends)?;
        let mut names = self.names.lock().unwrap();
        if let Some(&id) = names.interfaces.get(&key) {
            return Ok(id);
        }
        let info = interface_info(descriptor.name.into(), above);
        let origin = Origin::Type((descriptor.path)().into());
        let id = self.add(&mut names, info, origin, Class::interface)?;
        names.interfaces.insert(key, id);
        Ok(id)
    }

    /// Several of them, each once.
    fn interfaces(&self, all: &[InterfaceDescriptor]) -> Result<Vec<ClassId>, TooManyClasses> {
        let mut ids = Vec::new();
        for descriptor in all {
            let id = self.interface(descriptor)?;
            // An alias can name an interface twice, which the compiler does not see.
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The interface of a Rust type, if it was used.
    pub(crate) fn known_interface(&self, key: TypeId) -> Option<ClassId> {
        self.names.lock().unwrap().interfaces.get(&key).copied()
    }

    /// Defines a class at run time. Returns it with its id and name.
    pub(crate) fn define(&self, info: ClassInfo, tail: usize) -> Result<ClassInfo, TooManyClasses> {
        let mut names = self.names.lock().unwrap();
        let id = self.add(&mut names, info, Origin::Dynamic, |info| {
            Class::new(info, Shape::Refs, tail, Instance::DESCRIPTOR)
        })?;
        self.rows.fill(id, Instance::DESCRIPTOR);
        Ok(self.get(id).info.clone())
    }

    /// Defines an interface at run time. Returns it with its id and name.
    pub(crate) fn define_interface(&self, info: ClassInfo) -> Result<ClassInfo, TooManyClasses> {
        let mut names = self.names.lock().unwrap();
        let id = self.add(&mut names, info, Origin::Dynamic, Class::interface)?;
        Ok(self.get(id).info.clone())
    }

    /// Adds a class, with an id and a name that no other has.
    fn add(
        &self,
        names: &mut Names,
        mut info: ClassInfo,
        origin: Origin,
        class: impl FnOnce(Info) -> Class,
    ) -> Result<ClassId, TooManyClasses> {
        if names.count == MAX_CLASSES {
            return Err(TooManyClasses);
        }
        let id = ClassId(names.count as u32 + 1);
        info.id = id;
        info.name = self.name(names, info.name, &origin);
        names.by_name.insert(info.name.clone(), id);
        let info = Info {
            first: info,
            renamed: OnceLock::new(),
            origin,
        };
        let added = self.place(id.0).set(class(info));
        assert!(added.is_ok(), "ids are given out once, under the lock");
        names.count += 1;
        Ok(id)
    }

    /// The name of a new class. A Rust type that has the wanted one gets its path instead.
    fn name(&self, names: &mut Names, wanted: String, origin: &Origin) -> String {
        let holder = names.by_name.get(&wanted).copied();
        let holder = holder.map(|id| self.get(id));
        if let Some(holder) = holder
            && let Origin::Type(path) = &holder.info.origin
            && holder.info.renamed.get().is_none()
            && *path != wanted
        {
            names.by_name.remove(&wanted);
            let renamed = ClassInfo {
                name: names.free(path),
                ..holder.info.first.clone()
            };
            names.by_name.insert(renamed.name.clone(), renamed.id);
            names.ambiguous.insert(wanted.clone());
            let set = holder.info.renamed.set(renamed);
            assert!(set.is_ok(), "names change under the lock");
        }
        match origin {
            Origin::Dynamic => names.free(&wanted),
            Origin::Type(path) => {
                let is_taken = holder.is_some() || names.ambiguous.contains(&wanted);
                names.free(if is_taken { path } else { &wanted })
            }
        }
    }

    /// Whether a class is another one, or extends or implements it. Everything is an `Object`.
    pub(crate) fn extends(&self, id: ClassId, above: ClassId) -> bool {
        if (self.get(above).descriptor.type_id)() == TypeId::of::<Object>() {
            return true;
        }
        class::extends(id, above, |id| &self.get(id).info)
    }

    /// What is known of a class, for [`extends`](crate::casts::extends).
    #[inline(always)]
    pub(crate) fn row(&self, id: ClassId) -> &Row {
        self.rows.of(id)
    }

    /// Whether `id` is the class of a Rust type, or extends it, if its row does not tell.
    pub(crate) fn ask_extends(&self, id: ClassId, descriptor: &'static Descriptor) -> bool {
        self.casts
            .ask(id, descriptor, || self.find_superclass(id, descriptor))
    }

    #[cold]
    fn find_superclass(&self, id: ClassId, descriptor: &'static Descriptor) -> bool {
        let mut next = Some(id);
        while let Some(id) = next {
            let class = self.get(id);
            if (class.descriptor.type_id)() == (descriptor.type_id)() {
                return true;
            }
            next = class.info.superclass;
        }
        false
    }

    /// Whether a class implements the interface of a Rust type, itself or through its supertypes.
    #[inline]
    pub(crate) fn implements(&self, id: ClassId, interface: &'static InterfaceDescriptor) -> bool {
        self.casts
            .ask(id, interface, || self.find_interface(id, interface))
    }

    /// The interfaces of a class are known when it is: one that nobody has used is not among them.
    #[cold]
    fn find_interface(&self, id: ClassId, interface: &InterfaceDescriptor) -> bool {
        let interface = self.known_interface((interface.type_id)());
        interface.is_some_and(|interface| self.extends(id, interface))
    }
}

impl Names {
    /// A name that is not taken: this one, or with a number behind it.
    fn free(&mut self, name: &str) -> String {
        let mut free = name.to_string();
        while self.by_name.contains_key(&free) {
            let last = self.last_number.entry(name.into()).or_insert(1);
            *last += 1;
            free = format!("{name}~{last}");
        }
        free
    }
}

/// The name of a class with type arguments: `Map<Str, List<Order>>`.
#[doc(hidden)]
pub fn class_name(name: &str, arguments: &[String]) -> String {
    match arguments {
        [] => name.into(),
        _ => format!("{name}<{}>", arguments.join(", ")),
    }
}

/// The path of a class, from the name of its type, with type arguments.
#[doc(hidden)]
pub fn class_path(type_name: &str, arguments: &[String]) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    class_name(path, arguments)
}

/// The name of a type that is not a class, without modules.
#[doc(hidden)]
pub fn type_name<T: ?Sized>() -> String {
    short_name(std::any::type_name::<T>())
}

/// Describes interfaces as far as the table of classes needs it: they have no instances.
struct NoInstances;

impl NoInstances {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || String::new(),
        path: || String::new(),
        type_id: TypeId::of::<Self>,
        shape: Shape::Fixed(8),
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || None,
    };
}

impl Class {
    fn interface(info: Info) -> Self {
        Self::new(info, Shape::Fixed(8), 0, NoInstances::DESCRIPTOR)
    }

    fn new(info: Info, shape: Shape, tail: usize, descriptor: &'static Descriptor) -> Self {
        let slots: Vec<_> = info.slots().map(|slot| (slot.offset, slot.kind)).collect();
        let trace = Trace::new(
            shape,
            slots.iter().map(|&(offset, kind)| (offset as usize, kind)),
            tail,
        );
        Self {
            trace,
            slots,
            drop: descriptor.drop,
            descriptor,
            info,
            met: AtomicBool::new(false),
            routed: AtomicBool::new(false),
        }
    }

    /// Whether it is known where the first object was allocated.
    pub(crate) fn is_met(&self) -> bool {
        self.met.load(Relaxed)
    }

    /// Whether some site is pretenured, so that it matters where an object is allocated.
    pub(crate) fn is_routed(&self) -> bool {
        self.routed.load(Relaxed)
    }

    pub(crate) fn set_routed(&self, on: bool) {
        self.routed.store(on, Relaxed);
    }

    /// An object is allocated. Returns whether it is the first.
    pub(crate) fn meet(&self) -> bool {
        !self.met.swap(true, Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_class_that_a_header_can_name_is_one_and_the_next_is_refused() {
        let classes = Classes::new();
        let info = || ClassInfo {
            id: ClassId(0),
            name: "Record".into(),
            superclass: None,
            interfaces: Vec::new(),
            is_interface: false,
            fields: Vec::new(),
            elements: None,
            caption: None,
        };
        // As if there were all but two already.
        classes.names.lock().unwrap().count = MAX_CLASSES - 2;
        for id in [MAX_CLASSES - 1, MAX_CLASSES] {
            let class = classes.define(info(), 0).unwrap();
            assert_eq!(class.id, ClassId(id as u32));
            assert_eq!(classes.get(class.id).info.name, class.name);
        }
        assert_eq!(classes.define(info(), 0).err(), Some(TooManyClasses));
        assert_eq!(classes.define_interface(info()).err(), Some(TooManyClasses));
        let typed = classes.of(Object::DESCRIPTOR);
        assert_eq!(typed.err(), Some(TooManyClasses));
        assert_eq!(classes.count(), MAX_CLASSES);
    }
}
