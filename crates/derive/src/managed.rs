//! `#[managed]` and `#[derive(Managed)]`: read a struct. What becomes of it is in a macro of the heap's crate,
//! `raw/objects/derived.rs`, with all that is `unsafe`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericParam, Generics, Ident, Result,
    Type, TypeParam, TypeParamBound, WherePredicate,
};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    Ok(Class::parse(input)?.class())
}

/// Expands `#[managed(arguments)]`: the struct with the header and the representation that it needs, and its class.
pub(crate) fn expand_attribute(
    arguments: TokenStream,
    mut input: DeriveInput,
) -> Result<TokenStream> {
    if crate::has_repr(&input, "C")? {
        return Err(Error::new_spanned(
            &input.ident,
            "`#[managed]` adds `#[repr(C)]` itself",
        ));
    }
    input.attrs.push(syn::parse_quote!(#[repr(C)]));
    input.attrs.push(syn::parse_quote!(#[managed(#arguments)]));
    if let Data::Struct(data) = &mut input.data
        && let Fields::Named(fields) = &mut data.fields
        && !fields.named.first().is_some_and(is_superclass)
    {
        let header = syn::parse_quote!(__header: ::heaphound::Header);
        fields.named.insert(0, header);
    }
    let class = expand(&input)?;
    // What was read is gone: these attributes have no meaning to the compiler.
    input.attrs.retain(|it| !is_ours(it));
    if let Data::Struct(data) = &mut input.data {
        for field in &mut data.fields {
            field.attrs.retain(|it| !is_ours(it));
        }
    }
    Ok(quote!(#input #class))
}

fn is_ours(attribute: &Attribute) -> bool {
    attribute.path().is_ident("managed")
}

/// Whether a field is marked as the superclass. Mistakes in its attributes are told later.
fn is_superclass(field: &Field) -> bool {
    let mut found = false;
    for attribute in field.attrs.iter().filter(|it| is_ours(it)) {
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("superclass");
            Ok(())
        });
    }
    found
}

struct Class<'a> {
    input: &'a DeriveInput,
    name_in_reports: String,
    /// The first field: the header or the superclass.
    first: Ident,
    superclass: Option<&'a Type>,
    interfaces: Vec<Type>,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    field: &'a Field,
    name: &'a Ident,
    owned: bool,
    caption: bool,
}

impl<'a> Class<'a> {
    fn parse(input: &'a DeriveInput) -> Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(Error::new_spanned(
                &input.ident,
                "only a struct can derive `Managed`; a fieldless enum can derive `Plain` and be a field",
            ));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(Error::new_spanned(
                &input.ident,
                "the fields of a managed struct need names: reports show them",
            ));
        };
        if !crate::has_repr(input, "C")? {
            return Err(Error::new_spanned(
                &input.ident,
                "a managed struct must be `#[repr(C)]`, for its header comes first",
            ));
        }
        let mut errors: Option<Error> = None;
        let mut fail = |error: Error| match &mut errors {
            Some(errors) => errors.combine(error),
            None => errors = Some(error),
        };
        let mut name_in_reports = input.ident.unraw().to_string();
        let mut interfaces = Vec::new();
        for attribute in input.attrs.iter().filter(|it| is_ours(it)) {
            let parsed = attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    name_in_reports = meta.value()?.parse::<syn::LitStr>()?.value();
                    Ok(())
                } else if meta.path.is_ident("implements") {
                    crate::interface::list(&meta, &mut interfaces)
                } else {
                    Err(meta.error("expected `name = \"…\"` or `implements(…)`"))
                }
            });
            parsed.unwrap_or_else(&mut fail);
        }
        let mut first = None;
        let mut superclass = None;
        let mut members = Vec::new();
        for field in &fields.named {
            let name = field.ident.as_ref().expect("fields are named");
            let (mut owned, mut extends, mut caption) = (false, false, false);
            for attribute in field.attrs.iter().filter(|it| is_ours(it)) {
                let parsed = attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("owned") {
                        owned = true;
                    } else if meta.path.is_ident("superclass") {
                        extends = true;
                    } else if meta.path.is_ident("caption") {
                        caption = true;
                    } else {
                        return Err(meta.error("expected `caption`, `owned` or `superclass`"));
                    }
                    Ok(())
                });
                parsed.unwrap_or_else(&mut fail);
            }
            let has_caption = || members.iter().any(|it: &Member<'_>| it.caption);
            if caption && (owned || first.is_none() || has_caption()) {
                fail(Error::new_spanned(
                    field,
                    "a class has one caption: plain data, or a reference to a string",
                ));
            }
            if first.is_none() {
                first = Some(name.clone());
                if extends {
                    superclass = Some(&field.ty);
                }
                continue;
            }
            if extends {
                fail(Error::new_spanned(
                    field,
                    "the superclass must be the first field",
                ));
            }
            members.push(Member {
                field,
                name,
                owned,
                caption,
            });
        }
        let Some(first) = first else {
            return Err(Error::new_spanned(
                &input.ident,
                "a managed struct begins with `header: Header`",
            ));
        };
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Self {
                input,
                name_in_reports,
                first,
                superclass,
                interfaces,
                members,
            }),
        }
    }

    /// Passes what was read to the macro that makes a class of it.
    fn class(&self) -> TokenStream {
        let Self {
            input,
            name_in_reports,
            first,
            superclass,
            interfaces,
            members,
        } = self;
        let (name, vis) = (&input.ident, &input.vis);
        let init = format_ident!("{}Init", name.unraw());
        let docs = format!("The values that a new `{name}` is made from.");
        let mut with_scope = input.generics.clone();
        if !members.is_empty() || superclass.is_some() {
            with_scope.params.insert(0, syn::parse_quote!('managed));
        }
        let (impls, types, bounds) = input.generics.split_for_impl();
        let (init_impls, init_types, _) = with_scope.split_for_impl();
        // Any class that the superclass can be seen as, and how far above it is.
        let mut with_above = input.generics.clone();
        with_above.params.push(syn::parse_quote!(ManagedAs));
        with_above.params.push(syn::parse_quote!(ManagedUp));
        let (above_impls, _, _) = with_above.split_for_impl();
        let above_bounds = input.generics.where_clause.iter().map(|it| &it.predicates);
        let arguments = self.arguments();
        let superclass = superclass.iter();
        let fields = members.iter().map(Member::passed);
        let mut captions = members.iter().enumerate().filter(|it| it.1.caption);
        let caption = captions.next().map(|(place, member)| {
            let ty = &member.field.ty;
            quote!(#place #ty)
        });
        quote! {
            ::heaphound::support::managed! {
                docs: #docs, #vis class: #name, init: #init,
                impls: [#impls], types: [#types],
                bounds: [#bounds],
                above: [ManagedAs, ManagedUp, #above_impls], above_bounds: [#(#above_bounds)*], init_impls: [#init_impls], init_types: [#init_types],
                name: #name_in_reports, arguments: [#arguments],
                first: #first, superclass: [#(#superclass)*], interfaces: [#(#interfaces),*],
                caption: [#caption],
                fields: [#({ #fields })*]
            }
        }
    }

    /// Returns the parameters that the name of a class shows. A type that is a class by its bounds goes by the
    /// name of that.
    fn arguments(&self) -> TokenStream {
        let generics = &self.input.generics;
        let arguments = generics.params.iter().filter_map(|param| match param {
            GenericParam::Lifetime(_) => None,
            GenericParam::Const(it) => {
                let name = &it.ident;
                Some(quote!((constant #name)))
            }
            GenericParam::Type(it) => {
                let name = &it.ident;
                Some(match is_managed(generics, it) {
                    true => quote!((class #name)),
                    false => quote!((other #name)),
                })
            }
        });
        arguments.collect()
    }
}

/// Whether a type parameter is a class, as far as its own bounds say.
fn is_managed(generics: &Generics, param: &TypeParam) -> bool {
    let predicates = generics.where_clause.iter().flat_map(|it| &it.predicates);
    let bounds = predicates.filter_map(|it| match it {
        WherePredicate::Type(it) => match &it.bounded_ty {
            Type::Path(ty) if ty.path.is_ident(&param.ident) => Some(&it.bounds),
            _ => None,
        },
        _ => None,
    });
    let mut all = bounds.chain([&param.bounds]).flatten();
    all.any(|bound| match bound {
        TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|it| it.ident == "Managed")
        }
        _ => false,
    })
}

impl Member<'_> {
    /// Returns what the macro must know of a field.
    fn passed(&self) -> TokenStream {
        let (name, text) = (self.name, self.name.unraw().to_string());
        let Field { attrs, vis, ty, .. } = self.field;
        let docs: Vec<_> = attrs
            .iter()
            .filter(|it| it.path().is_ident("doc"))
            .collect();
        let doc = format!("Initial `{name}`.");
        let doc = docs.is_empty().then(|| quote!(#[doc = #doc]));
        let stored = match self.owned {
            true => quote!(owned),
            false => quote!(itself),
        };
        quote! {
            docs: [#(#docs)* #doc], #vis name: #name, text: #text,
            stored: #stored, type: #ty
        }
    }
}
