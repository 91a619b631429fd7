//! Interfaces: classes without fields and instances, of which a class may have several above it.
//!
//! Rules and limits speak of an interface as of a class, and mean the objects of all classes that
//! implement it. Rust types implement those that `#[derive(Managed)]` names; dynamic
//! classes those that [`ClassBuilder::implements`](crate::ClassBuilder::implements) is given.
//! An interface cannot extend itself: a [`DynInterface`] exists only when it is defined, and the
//! compiler refuses constants that need themselves.

use std::any::{TypeId, type_name};
use std::sync::Arc;

use heaphound_heap::{ClassId, ClassInfo};

use crate::classes::TooManyClasses;
use crate::heap::{Heap, HeapInner};
use crate::raw::{ClassError, DynClass, Mutator};

/// A Rust type that stands for an interface: classes name it to say that they implement it.
///
/// `#[derive(Interface)]` on a unit struct is the way in. The type is a name for the compiler and
/// the heap, and need not have values.
///
/// ```ignore
/// #[derive(Interface)]
/// struct Serializable;
///
/// #[derive(Managed)]
/// #[managed(implements(Serializable))]
/// #[repr(C)]
/// struct Session { header: Header }
/// ```
///
/// An interface that extends itself does not compile:
///
/// ```compile_fail,E0391
/// use heaphound_gc::{Interface, InterfaceDescriptor};
///
/// struct First;
/// struct Second;
///
/// impl Interface for First {
///     const NAME: &'static str = "First";
///     const EXTENDS: &'static [InterfaceDescriptor] = &[InterfaceDescriptor::of::<Second>()];
/// }
/// impl Interface for Second {
///     const NAME: &'static str = "Second";
///     const EXTENDS: &'static [InterfaceDescriptor] = &[InterfaceDescriptor::of::<First>()];
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an interface",
    note = "add `#[derive(Interface)]` to it: it is a unit struct that stands for the interface"
)]
pub trait Interface: 'static {
    /// Its name in reports and rules.
    const NAME: &'static str;
    /// The interfaces that it extends.
    const EXTENDS: &'static [InterfaceDescriptor];
}

/// What the heap must know of an interface, known when the program is compiled.
#[derive(Clone, Copy)]
pub struct InterfaceDescriptor {
    pub(crate) name: &'static str,
    pub(crate) path: fn() -> &'static str,
    pub(crate) type_id: fn() -> TypeId,
    pub(crate) extends: &'static [InterfaceDescriptor],
}

impl InterfaceDescriptor {
    /// Describes an interface.
    pub const fn of<I: Interface>() -> Self {
        Self {
            name: I::NAME,
            path: type_name::<I>,
            type_id: TypeId::of::<I>,
            extends: I::EXTENDS,
        }
    }
}

/// An interface of one heap: defined at run time, or that of a Rust type.
#[derive(Clone)]
pub struct DynInterface(Arc<DynInterfaceInner>);

struct DynInterfaceInner {
    heap: u64,
    id: ClassId,
    name: String,
}

/// An interface in the making; see [`Heap::define_interface`].
#[must_use]
pub struct InterfaceBuilder<'h> {
    heap: &'h HeapInner,
    name: String,
    above: Supertypes,
}

impl Heap {
    /// Begins the definition of an interface at run time.
    pub fn define_interface(&self, name: impl Into<String>) -> InterfaceBuilder<'_> {
        InterfaceBuilder {
            heap: self.inner(),
            name: name.into(),
            above: Supertypes::default(),
        }
    }

    /// The interface that a Rust type stands for, which the heap knows from now on.
    ///
    /// # Errors
    /// If there are too many classes.
    pub fn interface<I: Interface>(&self) -> Result<DynInterface, TooManyClasses> {
        self.inner().interface::<I>()
    }
}

impl HeapInner {
    fn interface<I: Interface>(&self) -> Result<DynInterface, TooManyClasses> {
        let id = self.classes.interface(&InterfaceDescriptor::of::<I>())?;
        Ok(DynInterface(Arc::new(DynInterfaceInner {
            heap: self.id,
            id,
            name: I::NAME.into(),
        })))
    }
}

impl Mutator<'_> {
    /// Makes an interface known to the heap, so that rules can speak of it. One that a known
    /// class implements is known.
    ///
    /// # Panics
    /// If there are too many classes.
    pub fn know_interface<I: Interface>(&self) -> DynInterface {
        let interface = self.heap.interface::<I>();
        interface.unwrap_or_else(|error| panic!("{error}"))
    }
}

impl InterfaceBuilder<'_> {
    /// Extends another interface: what implements this one implements that one too.
    ///
    /// # Errors
    /// If it is of another heap, or was named before.
    pub fn extends(mut self, interface: &DynInterface) -> Result<Self, ClassError> {
        self.above.add(self.heap, interface)?;
        Ok(self)
    }

    /// Defines the interface.
    ///
    /// # Errors
    /// If there are too many classes.
    pub fn define(self) -> Result<DynInterface, ClassError> {
        let classes = &self.heap.classes;
        let info = interface_info(self.name, self.above.0);
        let info = classes.define_interface(info);
        let info = info.map_err(ClassError::TooMany)?;
        Ok(DynInterface(Arc::new(DynInterfaceInner {
            heap: self.heap.id,
            id: info.id,
            name: info.name,
        })))
    }
}

/// An interface that is still to get its id.
pub(crate) fn interface_info(name: String, extends: Vec<ClassId>) -> ClassInfo {
    ClassInfo {
        id: ClassId(0),
        name,
        superclass: None,
        interfaces: extends,
        is_interface: true,
        fields: Vec::new(),
        elements: None,
        caption: None,
    }
}

/// The interfaces that a class in the making implements.
#[derive(Default)]
pub(crate) struct Supertypes(pub(crate) Vec<ClassId>);

impl Supertypes {
    pub(crate) fn add(
        &mut self,
        heap: &HeapInner,
        interface: &DynInterface,
    ) -> Result<(), ClassError> {
        let DynInterfaceInner {
            heap: of,
            id,
            ref name,
        } = *interface.0;
        if of != heap.id {
            return Err(ClassError::ForeignInterface(name.clone()));
        }
        if self.0.contains(&id) {
            return Err(ClassError::DuplicateInterface(name.clone()));
        }
        self.0.push(id);
        Ok(())
    }
}

/// A handle of a class of one heap: a [`DynClass`] or a [`DynInterface`].
pub trait ClassHandle: sealed::Handle {}

impl ClassHandle for DynClass {}
impl ClassHandle for DynInterface {}

pub(crate) mod sealed {
    use heaphound_heap::ClassId;

    /// What a handle of a class knows.
    pub trait Handle {
        /// The heap, the class, its name, and whether it is an interface.
        fn class(&self) -> (u64, ClassId, &str, bool);
    }
}

impl sealed::Handle for DynInterface {
    fn class(&self) -> (u64, ClassId, &str, bool) {
        (self.0.heap, self.0.id, &self.0.name, true)
    }
}
