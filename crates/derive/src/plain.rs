//! `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Ident, Index, Result};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "plain data has no parameters: derive `Plain` for a type without them",
        ));
    }
    match &input.data {
        Data::Struct(data) => Ok(a_struct(&input.ident, &data.fields)),
        Data::Enum(data) => an_enum(input, data),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "only a struct or an enum can derive `Plain`",
        )),
    }
}

/// The fields of a struct or a variant: as they are named in the program and what that adds to names in reports. The
/// only field of a tuple goes without a name.
fn names(fields: &Fields) -> Vec<(TokenStream, String)> {
    let is_newtype = matches!(fields, Fields::Unnamed(_)) && fields.len() == 1;
    let all = fields.iter().enumerate();
    let all = all.map(|(at, field)| match &field.ident {
        Some(name) => (quote!(#name), format!(".{}", name.unraw())),
        None => {
            let place = Index::from(at);
            let text = if is_newtype {
                String::new()
            } else {
                format!(".{at}")
            };
            (quote!(#place), text)
        }
    });
    all.collect()
}

fn a_struct(name: &Ident, fields: &Fields) -> TokenStream {
    let (places, texts): (Vec<_>, Vec<_>) = names(fields).into_iter().unzip();
    let types = fields.iter().map(|it| &it.ty);
    quote! {
        ::heaphound::support::plain_struct! { #name { #(#places: #types, #texts;)* } }
    }
}

fn an_enum(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    if data.variants.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "an enum without variants has no values to store",
        ));
    }
    for variant in &data.variants {
        if let Some((_, value)) = &variant.discriminant {
            return Err(Error::new_spanned(
                value,
                "variants of plain data are numbered by their order",
            ));
        }
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names_shown = variants.iter().map(|variant| variant.unraw().to_string());
    let numbers = 0..=u8::MAX;
    if data.variants.iter().all(|it| it.fields.is_empty()) {
        if !crate::has_repr(input, "u8")? {
            return Err(Error::new_spanned(
                &input.ident,
                "a fieldless enum that derives `Plain` must be `#[repr(u8)]`",
            ));
        }
        let first = variants[0];
        return Ok(quote! {
            ::heaphound::support::plain_enum! { #name: #first, #(#variants #names_shown #numbers),* }
        });
    }
    if variants.len() > u8::MAX as usize {
        return Err(Error::new_spanned(
            &input.ident,
            "an enum with data has at most 255 variants",
        ));
    }
    let bodies = data.variants.iter().map(|variant| {
        let fields = names(&variant.fields).into_iter().zip(&variant.fields);
        let fields = fields.enumerate().map(|(at, ((place, _), field))| {
            let (local, ty) = (format_ident!("field_{at}"), &field.ty);
            quote!(#place: #local #ty,)
        });
        quote!(#(#fields)*)
    });
    Ok(quote! {
        ::heaphound::support::plain_data_enum! {
            #name { #(#variants #names_shown #numbers { #bodies })* }
        }
    })
}
