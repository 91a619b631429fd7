//! `#[derive(Interface)]`, and lists of interfaces.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Result, Token, Type};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let is_empty = match &input.data {
        Data::Struct(data) => data.fields.is_empty(),
        Data::Enum(data) => data.variants.is_empty(),
        Data::Union(_) => false,
    };
    if !is_empty {
        return Err(Error::new_spanned(
            &input.ident,
            "an interface has no fields: derive it for a unit struct",
        ));
    }
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "an interface has no parameters",
        ));
    }
    let mut name_in_reports = input.ident.unraw().to_string();
    let mut extends = Vec::new();
    for attribute in &input.attrs {
        if !attribute.path().is_ident("interface") {
            continue;
        }
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("name") {
                name_in_reports = meta.value()?.parse::<syn::LitStr>()?.value();
                Ok(())
            } else if meta.path.is_ident("extends") {
                list(&meta, &mut extends)
            } else {
                Err(meta.error("expected `name = \"…\"` or `extends(…)`"))
            }
        })?;
    }
    let name = &input.ident;
    Ok(quote! {
        const _: () = {
            use ::heaphound::support as h;

            impl h::Interface for #name {
                const NAME: &'static str = #name_in_reports;
                const EXTENDS: &'static [h::InterfaceDescriptor] =
                    &[#(h::InterfaceDescriptor::of::<#extends>()),*];
            }
        };
    })
}

/// The types behind `implements` or `extends`, in parentheses, each once.
pub(crate) fn list(meta: &ParseNestedMeta<'_>, interfaces: &mut Vec<Type>) -> Result<()> {
    let inside;
    syn::parenthesized!(inside in meta.input);
    for interface in Punctuated::<Type, Token![,]>::parse_terminated(&inside)? {
        if interfaces.contains(&interface) {
            let name = interface.to_token_stream();
            let message = format!("`{name}` is named twice");
            return Err(Error::new_spanned(&interface, message));
        }
        interfaces.push(interface);
    }
    Ok(())
}
