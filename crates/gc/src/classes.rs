//! The classes of a heap: typed ones, made when first used, and dynamic ones.
//!
//! Class ids are dense, never reused, and read without a lock: a table that only
//! grows, in chunks of doubling size, so that nothing in it ever moves.

use std::any::TypeId;
use std::collections::HashMap;
use std::ptr;
use std::sync::OnceLock;

use heaphound_heap::class::Elements;
use heaphound_heap::sync::Mutex;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind};

use crate::raw::{Descriptor, Instance, MAX_CLASSES, Managed, Object, Shape, Trace};
use crate::sites::Sites;

/// A class of one heap.
pub(crate) struct Class {
    pub(crate) info: ClassInfo,
    pub(crate) trace: Trace,
    /// Offsets and kinds of all slots; what `Trace` could not hold.
    pub(crate) slots: Vec<(u32, FieldKind)>,
    pub(crate) drop: Option<unsafe fn(*mut u8)>,
    descriptor: &'static Descriptor,
    pub(crate) sites: Sites,
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
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    count: usize,
    typed: HashMap<TypeId, ClassId>,
}

/// The heap has as many classes as a header can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
            names: Mutex::default(),
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

    /// The class of a Rust type, made if this is its first use.
    pub(crate) fn of(&self, descriptor: &'static Descriptor) -> Result<ClassId, TooManyClasses> {
        let superclass = descriptor.superclass.map(|it| self.of(it)).transpose()?;
        let mut names = self.names.lock().unwrap();
        let key = (descriptor.type_id)();
        if let Some(&id) = names.typed.get(&key) {
            return Ok(id);
        }
        let mut fields = match superclass {
            Some(id) => self.get(id).info.fields.clone(),
            None => Vec::new(),
        };
        for field in descriptor.fields {
            let bytes = match field.kind {
                FieldKind::Plain(kind) => kind.bytes(),
                _ => 4,
            };
            for i in 0..field.count {
                fields.push(FieldInfo {
                    name: match field.count {
                        1 => field.name.into(),
                        _ => format!("{}[{i}]", field.name),
                    },
                    offset: (field.offset + i * bytes) as u32,
                    kind: field.kind,
                });
            }
        }
        let elements = match descriptor.shape {
            Shape::Fixed(_) => None,
            Shape::Refs => Some(Elements::Refs),
            Shape::Plain(kind) => Some(Elements::Plain(kind)),
            Shape::Text => Some(Elements::Text),
        };
        let id = self.add(&mut names, |id| {
            let info = ClassInfo {
                id,
                name: (descriptor.name)(),
                superclass,
                fields,
                elements,
            };
            Class::new(info, descriptor.shape, 0, descriptor)
        })?;
        names.typed.insert(key, id);
        Ok(id)
    }

    /// Defines a class at run time; `info` gets the new id.
    pub(crate) fn define(
        &self,
        mut info: ClassInfo,
        tail: usize,
    ) -> Result<ClassId, TooManyClasses> {
        let mut names = self.names.lock().unwrap();
        self.add(&mut names, |id| {
            info.id = id;
            Class::new(info, Shape::Refs, tail, Instance::DESCRIPTOR)
        })
    }

    fn add(
        &self,
        names: &mut Names,
        class: impl FnOnce(ClassId) -> Class,
    ) -> Result<ClassId, TooManyClasses> {
        if names.count == MAX_CLASSES {
            return Err(TooManyClasses);
        }
        let id = ClassId(names.count as u32 + 1);
        let added = self.place(id.0).set(class(id));
        assert!(added.is_ok(), "ids are given out once, under the lock");
        names.count += 1;
        Ok(id)
    }

    /// Whether a class is another one or extends it. Everything is an `Object`.
    pub(crate) fn extends(&self, id: ClassId, above: ClassId) -> bool {
        if (self.get(above).descriptor.type_id)() == TypeId::of::<Object>() {
            return true;
        }
        let mut next = Some(id);
        while let Some(id) = next {
            if id == above {
                return true;
            }
            next = self.get(id).info.superclass;
        }
        false
    }

    /// Whether `id` is the class of a Rust type, or extends it.
    #[inline]
    pub(crate) fn is_instance(&self, id: ClassId, descriptor: &'static Descriptor) -> bool {
        let mut next = Some(id);
        while let Some(id) = next {
            let class = self.get(id);
            let own = class.descriptor;
            // The same descriptor may stand in memory more than once.
            if ptr::eq(own, descriptor) || (own.type_id)() == (descriptor.type_id)() {
                return true;
            }
            next = class.info.superclass;
        }
        false
    }
}

impl Class {
    fn new(info: ClassInfo, shape: Shape, tail: usize, descriptor: &'static Descriptor) -> Self {
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
            sites: Sites::default(),
        }
    }
}
