//! `#[managed]`, `#[derive(Managed)]`, `#[derive(Interface)]` and `#[derive(Plain)]`, see the traits of the
//! same names; and `deal!`.
//!
//! ```
//! use heaphound::{Heap, Slot, managed};
//!
//! #[managed]
//! struct Node {
//!     value: u64,
//!     next: Slot<Node>,
//! }
//!
//! let heap = Heap::builder().build()?;
//! let mut m = heap.attach("main")?;
//! let node = m.alloc(NodeInit { value: 1, next: None })?;
//! assert_eq!(m[node].value, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Programs use the crate `heaphound`, which exports all of them.

use proc_macro::TokenStream;

mod deal;
mod interface;
mod managed;
mod plain;

/// Makes a struct a class of managed objects.
///
/// ```ignore
/// #[managed]
/// struct Node {
///     value: u64,
///     next: Slot<Node>,
/// }
/// ```
///
/// Its fields are references (`Ref`, `Slot`, `WeakSlot`, arrays of `Slot`), values of any kind (`ValueSlot`), plain data
/// (numbers, `bool`, `char`, what derives `Plain`, arrays of these; in a `Var` if it changes), or Rust memory that the object owns (`String`, `Vec` and the
/// like as they are, any other type with `#[managed(owned)]`). The first may be its superclass, with
/// `#[managed(superclass)]`.
///
/// It adds what every object begins with, a header, and `#[repr(C)]`. For `Node` it also writes `NodeInit`, from
/// which `Mutator::alloc` makes an instance: the same fields, references as locals.
///
/// `#[managed(name = "…")]` gives the class another name in reports.
/// `#[managed(implements(Serializable, Closeable))]` names the interfaces that it implements.
/// `#[managed(caption)]` on a field makes reports show it beside the names of instances,
/// `Window#2 (title="preferences")`: plain data, or a reference to a string.
///
/// A generic class is a class for each of its type arguments, which its name shows:
/// `List<Order>`. An argument that is `Managed` by the bounds of the struct goes by the name of
/// its class, any other by the name of its type without modules, a constant by its value.
/// Where several types of a heap have the same name, each is called by its path:
/// `shop::Node` and `bank::Node`.
#[proc_macro_attribute]
pub fn managed(arguments: TokenStream, input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    managed::expand_attribute(arguments.into(), input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a struct a class of managed objects, as [`macro@managed`] does, without adding anything to it: it
/// is `#[repr(C)]`, and its first field is a `Header`, or its superclass with `#[managed(superclass)]`.
#[proc_macro_derive(Managed, attributes(managed))]
pub fn derive_managed(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    managed::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a unit struct stand for an interface, which classes can implement and rules can speak
/// of.
///
/// `#[interface(name = "…")]` gives it another name in reports, `#[interface(extends(Closeable))]`
/// names the interfaces that it extends.
#[proc_macro_derive(Interface, attributes(interface))]
pub fn derive_interface(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    interface::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a struct or an enum of plain data plain data that managed objects can hold, as a field or in a `Var`. It is
/// `Copy`; a fieldless enum is `#[repr(u8)]`.
///
/// Reports and rules see the fields of a struct (`x.position.y`) and the variants of an enum that is in a `Var`.
#[proc_macro_derive(Plain)]
pub fn derive_plain(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    plain::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Text about a heap whose syntax is checked while the program is compiled: a `Rules` with its
/// host variables bound.
///
/// ```ignore
/// let links = deal!(m, "forall Node x: reach[d](x) -> x.next.prev == x", d);
/// let apart = deal!(m, "assertDisjoint(forall x: !(reach[a](x) && reach[b](x)))",
///     a = males, weak b = &females);
/// let tails = deal!("exists Node x: x.next == null");
/// ```
///
/// - The mutator comes first, where variables are bound: it makes the handles. The mutator and the
///   objects behind the text are borrowed during this call only.
/// - Then the text, a literal: assertions or a file of rules, as `docs/deal.md` has them. A
///   formula on its own is asserted.
/// - Then the host variables: `d`, or `d = object`, where an object is whatever refers to one: a
///   local, a `Root`, a `Weak`, a `Static`, an option of these. Its object is kept alive for
///   as long as the `Rules` lives; behind `weak` it is not.
///
/// All mistakes of the text are errors of the compiler, as are a variable that the text does not
/// have, and one that is missing. What may also be the variant of an enum is reported when the
/// text meets the heap, as unknown classes and fields are.
#[proc_macro]
pub fn deal(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as deal::Input);
    deal::expand(&input).into()
}

/// Returns whether `#[repr(…)]` names this representation.
fn has_repr(input: &syn::DeriveInput, wanted: &str) -> syn::Result<bool> {
    let mut found = false;
    for attribute in &input.attrs {
        if attribute.path().is_ident("repr") {
            attribute.parse_nested_meta(|meta| {
                found |= meta.path.is_ident(wanted);
                if meta.input.peek(syn::token::Paren) {
                    let _: proc_macro2::Group = meta.input.parse()?;
                }
                Ok(())
            })?;
        }
    }
    Ok(found)
}
