//! `#[derive(Managed)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Data, DeriveInput, Error, Field, Fields, GenericParam, Generics, Ident, Result, Type,
    TypeParam, TypeParamBound, WherePredicate,
};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let class = Class::parse(input)?;
    let managed = class.managed();
    let init = class.init();
    Ok(quote!(#init #managed))
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
        for attribute in input
            .attrs
            .iter()
            .filter(|it| it.path().is_ident("managed"))
        {
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
            let (mut owned, mut extends) = (false, false);
            for attribute in field
                .attrs
                .iter()
                .filter(|it| it.path().is_ident("managed"))
            {
                let parsed = attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("owned") {
                        owned = true;
                    } else if meta.path.is_ident("superclass") {
                        extends = true;
                    } else {
                        return Err(meta.error("expected `owned` or `superclass`"));
                    }
                    Ok(())
                });
                parsed.unwrap_or_else(&mut fail);
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
            members.push(Member { field, name, owned });
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

    /// `unsafe impl Managed`, and what makes it safe.
    fn managed(&self) -> TokenStream {
        let name = &self.input.ident;
        let (impls, types, bounds) = self.input.generics.split_for_impl();
        let turbofish = types.as_turbofish();
        let reported = &self.name_in_reports;
        let first = &self.first;
        let superclass = match self.superclass {
            None => quote!(::core::option::Option::None),
            Some(ty) => quote!(::core::option::Option::Some(<#ty as h::Managed>::DESCRIPTOR)),
        };
        let interfaces = &self.interfaces;
        let (names, paths) = self.arguments();
        let fields = self.members.iter().map(|member| {
            let (field, text) = (member.name, member.name.unraw().to_string());
            let ty = member.stored();
            quote! {
                h::FieldDescriptor {
                    name: #text,
                    offset: ::core::mem::offset_of!(Self, #field),
                    kind: <#ty as h::Field>::KIND,
                    count: <#ty as h::Field>::COUNT,
                }
            }
        });
        quote! {
            const _: () = {
                use ::heaphound::support as h;

                // A user's `Drop` would see references to objects that are gone.
                trait MustNotImplementDrop {}
                #[allow(drop_bounds)]
                impl<T: ::core::ops::Drop> MustNotImplementDrop for T {}
                impl #impls MustNotImplementDrop for #name #types #bounds {}

                // SAFETY: the header (or the superclass, which begins with one) comes first and
                // nobody can make one, the compiler gives the offsets, and each field's type
                // says how it is stored.
                unsafe impl #impls h::Managed for #name #types #bounds {
                    const DESCRIPTOR: &'static h::Descriptor = {
                        ::core::assert!(::core::mem::offset_of!(Self, #first) == 0);
                        ::core::assert!(::core::mem::align_of::<Self>() == 8);
                        &h::Descriptor {
                            name: || h::class_name(#reported, &[#(#names),*]),
                            path: || h::class_path(::core::any::type_name::<Self>(), &[#(#paths),*]),
                            type_id: ::core::any::TypeId::of::<Self>,
                            shape: h::Shape::Fixed(::core::mem::size_of::<Self>()),
                            superclass: #superclass,
                            interfaces: &[#(h::InterfaceDescriptor::of::<#interfaces>()),*],
                            fields: &[#(#fields),*],
                            drop: if ::core::mem::needs_drop::<Self>() {
                                ::core::option::Option::Some({
                                    unsafe fn drop_owned #impls (object: *mut u8) #bounds {
                                        // SAFETY: the heap gives an object that nobody else sees. It has
                                        // no `Drop` of its own, nor have its header and its slots, so
                                        // that only what it owns is dropped.
                                        unsafe { ::core::ptr::drop_in_place(object.cast::<#name #types>()) };
                                    }
                                    drop_owned #turbofish
                                })
                            } else {
                                ::core::option::Option::None
                            },
                        }
                    };

                    #[inline]
                    unsafe fn from_object<'managed>(object: *const u8) -> &'managed Self {
                        // SAFETY: the caller gives a live object of this class.
                        unsafe { &*object.cast::<Self>() }
                    }
                }
            };
        }
    }

    /// Returns the names of type arguments, and their paths. Of a type that is a class by its bounds,
    /// that is the name of the class.
    fn arguments(&self) -> (Vec<TokenStream>, Vec<TokenStream>) {
        let generics = &self.input.generics;
        let both = generics.params.iter().filter_map(|param| match param {
            GenericParam::Lifetime(_) => None,
            GenericParam::Const(it) => {
                let name = &it.ident;
                let value = quote!(::std::format!("{:?}", #name));
                Some((value.clone(), value))
            }
            GenericParam::Type(it) => {
                let name = &it.ident;
                Some(match is_managed(generics, it) {
                    true => (
                        quote!((<#name as h::Managed>::DESCRIPTOR.name)()),
                        quote!((<#name as h::Managed>::DESCRIPTOR.path)()),
                    ),
                    false => (
                        quote!(h::type_name::<#name>()),
                        quote!(::std::string::String::from(::core::any::type_name::<#name>())),
                    ),
                })
            }
        });
        both.unzip()
    }

    /// Returns the struct of initial values.
    fn init(&self) -> TokenStream {
        let name = &self.input.ident;
        let vis = &self.input.vis;
        let init = format_ident!("{}Init", name.unraw());
        let doc = format!("The values that a new `{name}` is made from.");
        let first = &self.first;
        let empty = self.members.is_empty() && self.superclass.is_none();
        let mut with_scope = self.input.generics.clone();
        if !empty {
            with_scope.params.insert(0, syn::parse_quote!('managed));
        }
        let (class_impls, types, bounds) = self.input.generics.split_for_impl();
        let (init_impls, init_types, _) = with_scope.split_for_impl();
        let mut fields = Vec::new();
        let mut values = Vec::new();
        match self.superclass {
            None => values.push(quote!(#first: header)),
            Some(ty) => {
                let text = "The superclass's part.";
                fields.push(quote! {
                    #[doc = #text]
                    #vis #first: <#ty as ::heaphound::support::Create>::Init<'managed>
                });
                values.push(quote!(#first: h::Init::build(self.#first, header, filler)));
            }
        }
        for member in &self.members {
            let (field, ty, field_vis) = (member.name, member.stored(), &member.field.vis);
            let docs = member
                .field
                .attrs
                .iter()
                .filter(|it| it.path().is_ident("doc"));
            let text = format!("Initial `{field}`.");
            let documented = member
                .field
                .attrs
                .iter()
                .any(|it| it.path().is_ident("doc"));
            let doc = (!documented).then(|| quote!(#[doc = #text]));
            fields.push(quote! {
                #(#docs)* #doc
                #field_vis #field: <#ty as ::heaphound::support::Field>::Init<'managed>
            });
            values.push(match member.owned {
                true => quote!(#field: self.#field),
                false => quote!(#field: <#ty as h::Field>::fill(self.#field, filler)),
            });
        }
        let unused =
            (values.len() == 1 && self.superclass.is_none()).then(|| quote!(let _ = filler;));
        quote! {
            #[doc = #doc]
            #vis struct #init #init_impls #bounds {
                #(#fields),*
            }

            const _: () = {
                use ::heaphound::support as h;

                impl #class_impls h::Create for #name #types #bounds {
                    type Init<'managed> = #init #init_types;
                }

                // SAFETY: the header comes first, and every slot is made by the filler.
                unsafe impl #init_impls h::Init for #init #init_types #bounds {
                    type Class = #name #types;

                    #[inline]
                    fn build(self, header: h::Header, filler: &h::Filler<'_>) -> #name #types {
                        #unused
                        #name { #(#values),* }
                    }
                }
            };
        }
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
    /// Returns the type that says how the field is stored.
    fn stored(&self) -> TokenStream {
        let ty = &self.field.ty;
        match self.owned {
            true => quote!(::heaphound::support::Owned<#ty>),
            false => quote!(#ty),
        }
    }
}
