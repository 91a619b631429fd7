//! Dynamic classes: defined at run time, for language runtimes that meet the classes
//! of their programs only then.
//!
//! An instance has its slots behind one another, so that slot `i` is found without
//! asking the class, and its plain data in eight-byte words behind them. A
//! subclass appends to both, so that an inherited index means the same in it.

use std::any::TypeId;
use std::ops::Deref;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Value};

use crate::classes::TooManyClasses;
use crate::error::OutOfMemory;
use crate::heap::{Heap, HeapInner};
use crate::interface::{DynInterface, Supertypes, sealed};
use crate::raw::memory::address::Base;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::header::Header;
use crate::raw::objects::layout::{
    ELEMENTS_OFFSET, LENGTH_OFFSET, MAX_FIXED_BYTES, array_len, refs_bytes,
};
use crate::raw::objects::object::{Descriptor, Managed, Object, Shape};
use crate::raw::objects::plain::Plain;
use crate::raw::objects::slot::Slot;
use crate::sites::Site;

/// An instance of a dynamic class. Dereferences to the slice of its slots.
#[repr(C)]
pub struct Instance {
    header: Header,
    len: u32,
    slots: [Slot<Object>],
}

// SAFETY: begins with a header; every slot follows from the length, which never
// changes; no owned fields; alignment 8. Only `alloc_instance` makes one.
unsafe impl Managed for Instance {
    const DESCRIPTOR: &'static Descriptor = &Descriptor {
        name: || "Instance".into(),
        path: || "heaphound::Instance".into(),
        type_id: TypeId::of::<Self>,
        shape: Shape::Refs,
        superclass: None,
        interfaces: &[],
        fields: &[],
        caption: None,
        drop: None,
        number: || None,
    };

    #[inline]
    unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
        // SAFETY: the caller's promise that this is a live instance, with as many
        // slots as its length says.
        unsafe {
            let len = array_len(object);
            &*(ptr::slice_from_raw_parts(object, len) as *const Self)
        }
    }
}

impl Deref for Instance {
    type Target = [Slot<Object>];

    #[inline]
    fn deref(&self) -> &[Slot<Object>] {
        &self.slots
    }
}

impl Instance {
    /// The plain-data field of that index, counted among the plain fields.
    ///
    /// # Panics
    /// If there is no such field, or it is of another type.
    #[track_caller]
    pub fn plain<T: Plain>(&self, index: usize) -> T
    where
        T::Cell: crate::raw::objects::plain::PlainCell<Bits: TryFrom<u64>>,
    {
        let bits = self.word(index, T::KIND).load(Relaxed);
        let bits = bits.try_into().ok().expect("stored by `set_plain`");
        T::from_bits(bits)
    }

    /// Sets the plain-data field of that index.
    ///
    /// # Panics
    /// If there is no such field, or it is of another type.
    #[track_caller]
    pub fn set_plain<T: Plain>(&self, index: usize, value: T)
    where
        T::Cell: crate::raw::objects::plain::PlainCell<Bits: Into<u64>>,
    {
        self.word(index, T::KIND)
            .store(value.to_bits().into(), Relaxed);
    }

    /// The plain-data value of that name, whatever its type.
    pub fn plain_named(&self, name: &str) -> Option<Value> {
        let field = self.as_object().class().field(name)?;
        let FieldKind::Plain(kind) = field.kind else {
            return None;
        };
        let index = (field.offset as usize - refs_bytes(self.len())) / 8;
        Some(kind.decode(self.word(index, kind).load(Relaxed)))
    }

    #[track_caller]
    fn word(&self, index: usize, kind: PlainKind) -> &AtomicU64 {
        let class = self.as_object().class();
        let offset = refs_bytes(self.len()) + 8 * index;
        let field = class
            .fields
            .iter()
            .find(|field| field.offset as usize == offset)
            .unwrap_or_else(|| panic!("{} has no plain field {index}", class.name));
        assert!(
            field.kind == FieldKind::Plain(kind),
            "plain field {index} of {} is not a {kind:?} but {:?}",
            class.name,
            field.kind
        );
        let at = Base::of(&self.header).at(self.as_object().raw().offset() + offset);
        // SAFETY: the class has a plain word at that offset of every instance;
        // plain words are only accessed as atomics.
        unsafe { AtomicU64::from_ptr(at.cast()) }
    }
}

/// A class defined at run time, of one heap.
#[derive(Clone)]
pub struct DynClass(Arc<DynClassInner>);

struct DynClassInner {
    heap: u64,
    /// The heap again, once an instance has been allocated; 0 before.
    met: AtomicU64,
    info: ClassInfo,
    slots: usize,
    plain: usize,
}

impl DynClass {
    /// What reports know of the class.
    pub fn info(&self) -> &ClassInfo {
        &self.0.info
    }

    /// The index of a slot, by name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.0.info.slots().position(|slot| slot.name == name)
    }

    /// The index of a plain field among the plain fields, by name.
    pub fn plain(&self, name: &str) -> Option<usize> {
        let mut plain = self.0.info.fields.iter().filter(|it| !it.kind.is_slot());
        plain.position(|field| field.name == name)
    }
}

impl sealed::Handle for DynClass {
    fn class(&self) -> (u64, ClassId, &str, bool) {
        let info = &self.0.info;
        (self.0.heap, info.id, &info.name, false)
    }
}

/// A dynamic class in the making; see [`Heap::define_class`].
#[must_use]
pub struct ClassBuilder<'h> {
    heap: &'h HeapInner,
    name: String,
    superclass: Option<ClassId>,
    interfaces: Supertypes,
    slots: Vec<String>,
    plain: Vec<(String, PlainKind)>,
    caption: Option<String>,
}

/// The most slots of a dynamic class.
const MAX_SLOTS: usize = 8192;

/// The most plain fields of a dynamic class: their size must fit the bits of its trace word.
const MAX_PLAIN: usize = MAX_FIXED_BYTES / 8;

/// Why a dynamic class was not defined.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassError {
    /// Two fields have this name.
    DuplicateField(String),
    /// The superclass is of another heap.
    ForeignSuperclass(String),
    /// The class has a superclass already, and this would be a second one.
    SecondSuperclass(String),
    /// The interface is of another heap.
    ForeignInterface(String),
    /// The class implements this interface already.
    DuplicateInterface(String),
    /// What was to be the caption is none of the fields.
    UnknownCaption(String),
    /// There are too many slots or plain fields.
    TooLarge,
    /// There are too many classes.
    TooMany(TooManyClasses),
}

impl std::fmt::Display for ClassError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DuplicateField(name) => write!(f, "two fields are called `{name}`"),
            Self::ForeignSuperclass(name) => {
                write!(f, "superclass `{name}` is a class of another heap")
            }
            Self::SecondSuperclass(name) => {
                write!(f, "`{name}` would be a second superclass")
            }
            Self::ForeignInterface(name) => {
                write!(f, "interface `{name}` is a class of another heap")
            }
            Self::DuplicateInterface(name) => write!(f, "interface `{name}` is named twice"),
            Self::UnknownCaption(name) => {
                write!(f, "the caption `{name}` is none of the fields")
            }
            Self::TooLarge => write!(
                f,
                "a dynamic class has at most {MAX_SLOTS} slots and {MAX_PLAIN} plain fields"
            ),
            Self::TooMany(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClassError {}

impl Heap {
    /// Begins the definition of a dynamic class. If another one of this heap has the name, the
    /// class is called `Name~2` (then `Name~3`, …), in the order of definition.
    pub fn define_class(&self, name: impl Into<String>) -> ClassBuilder<'_> {
        ClassBuilder {
            heap: self.inner(),
            name: name.into(),
            superclass: None,
            interfaces: Supertypes::default(),
            slots: Vec::new(),
            plain: Vec::new(),
            caption: None,
        }
    }
}

impl ClassBuilder<'_> {
    /// Extends a class: its slots and plain fields come first. Called before
    /// fields are added.
    ///
    /// # Errors
    /// If the class is of another heap, or this is the second one.
    pub fn extends(mut self, superclass: &DynClass) -> Result<Self, ClassError> {
        let info = &superclass.0.info;
        if superclass.0.heap != self.heap.id {
            return Err(ClassError::ForeignSuperclass(info.name.clone()));
        }
        if self.superclass.is_some() {
            return Err(ClassError::SecondSuperclass(info.name.clone()));
        }
        self.superclass = Some(info.id);
        let mut slots: Vec<_> = info.slots().map(|slot| slot.name.clone()).collect();
        slots.append(&mut self.slots);
        self.slots = slots;
        let mut plain: Vec<_> = info
            .fields
            .iter()
            .filter_map(|field| match field.kind {
                FieldKind::Plain(kind) => Some((field.name.clone(), kind)),
                _ => None,
            })
            .collect();
        plain.append(&mut self.plain);
        self.plain = plain;
        Ok(self)
    }

    /// Implements an interface: rules and limits that speak of it mean instances of this class
    /// and of its subclasses too.
    ///
    /// # Errors
    /// If the interface is of another heap, or was named before.
    pub fn implements(mut self, interface: &DynInterface) -> Result<Self, ClassError> {
        self.interfaces.add(self.heap, interface)?;
        Ok(self)
    }

    /// Adds a slot.
    pub fn slot(mut self, name: impl Into<String>) -> Self {
        self.slots.push(name.into());
        self
    }

    /// Adds a plain-data field.
    pub fn plain(mut self, name: impl Into<String>, kind: PlainKind) -> Self {
        self.plain.push((name.into(), kind));
        self
    }

    /// Shows a field beside the names of instances in reports: `Window#2 (title="preferences")`. It
    /// is plain data, or a slot that refers to a string. Without one, that of the superclass is
    /// shown.
    pub fn caption(mut self, field: impl Into<String>) -> Self {
        self.caption = Some(field.into());
        self
    }

    /// Defines the class.
    pub fn define(self) -> Result<DynClass, ClassError> {
        if self.slots.len() > MAX_SLOTS || self.plain.len() > MAX_PLAIN {
            return Err(ClassError::TooLarge);
        }
        let (slots, plain) = (self.slots.len(), self.plain.len());
        let slot_fields = self
            .slots
            .into_iter()
            .enumerate()
            .map(|(i, name)| FieldInfo {
                name,
                offset: (ELEMENTS_OFFSET + 4 * i) as u32,
                kind: FieldKind::Opt,
            });
        let words = refs_bytes(slots);
        let plain_fields = self
            .plain
            .into_iter()
            .enumerate()
            .map(|(i, (name, kind))| FieldInfo {
                name,
                offset: (words + 8 * i) as u32,
                kind: FieldKind::Plain(kind),
            });
        let mut fields: Vec<_> = slot_fields.chain(plain_fields).collect();
        if let Some(superclass) = self.superclass {
            // Inherited ones are listed first, wherever they lie.
            let above = &self.heap.classes.get(superclass).info.fields;
            let place = |name: &str| above.iter().position(|field| field.name == name);
            fields.sort_by_key(|field| place(&field.name).unwrap_or(above.len()));
        }
        let mut names = std::collections::HashSet::new();
        if let Some(twice) = fields.iter().find(|field| !names.insert(&field.name)) {
            return Err(ClassError::DuplicateField(twice.name.clone()));
        }
        let above = self.superclass.map(|id| &self.heap.classes.get(id).info);
        let caption = match self.caption {
            None => above.and_then(|it| it.caption),
            Some(name) => match fields.iter().position(|field| field.name == name) {
                Some(place) => Some(place as u32),
                None => return Err(ClassError::UnknownCaption(name)),
            },
        };
        let info = ClassInfo {
            id: ClassId(0),
            name: self.name,
            superclass: self.superclass,
            interfaces: self.interfaces.0,
            is_interface: false,
            fields,
            elements: None,
            caption,
        };
        let info = self.heap.classes.define(info, 8 * plain);
        let info = info.map_err(ClassError::TooMany)?;
        Ok(DynClass(Arc::new(DynClassInner {
            heap: self.heap.id,
            met: AtomicU64::new(0),
            info,
            slots,
            plain,
        })))
    }
}

impl<'a> Mutator<'a> {
    /// Allocates an instance of a dynamic class: slots null, plain data zero.
    ///
    /// # Panics
    /// If the class is of another heap.
    #[track_caller]
    pub fn alloc_instance(&mut self, class: &DynClass) -> Result<Local<'a, Instance>, OutOfMemory> {
        let site = Location::caller();
        let DynClassInner {
            ref met,
            ref info,
            slots,
            plain,
            ..
        } = *class.0;
        // One comparison tells that the heap is the right one and that the class has a site.
        if met.load(Relaxed) != self.heap.id {
            self.meet_instance(class, site);
        }
        let bytes = refs_bytes(slots) + 8 * plain;
        self.alloc_with(info.id.0, bytes, site, |at, _| {
            // SAFETY: room for `bytes`; zero is valid for slots and plain words.
            unsafe {
                at.write_bytes(0, bytes);
                at.add(LENGTH_OFFSET).cast::<u32>().write(slots as u32);
            }
        })
    }

    #[cold]
    #[track_caller]
    fn meet_instance(&self, class: &DynClass, site: Site) {
        let DynClassInner {
            heap,
            ref met,
            ref info,
            ..
        } = *class.0;
        assert!(
            heap == self.heap.id,
            "class `{}` is of another heap",
            info.name
        );
        let program = self.shared.sampler.program.get();
        self.heap.meet_site(program, site, info.id.0);
        met.store(heap, Relaxed);
    }
}
