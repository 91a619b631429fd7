//! `#[derive(Plain)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Result};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "only a fieldless enum can derive `Plain`",
        ));
    };
    if !crate::has_repr(input, "u8")? {
        return Err(Error::new_spanned(
            &input.ident,
            "an enum that derives `Plain` must be `#[repr(u8)]`",
        ));
    }
    if data.variants.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "an enum without variants has no values to store",
        ));
    }
    for variant in &data.variants {
        if !variant.fields.is_empty() {
            return Err(Error::new_spanned(
                variant,
                "a variant with fields is not plain data",
            ));
        }
        if let Some((_, value)) = &variant.discriminant {
            return Err(Error::new_spanned(
                value,
                "variants of plain data are numbered by their order",
            ));
        }
    }
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|variant| variant.unraw().to_string());
    let numbers = 0..=u8::MAX;
    let first = variants[0];
    Ok(quote! {
        ::heaphound::support::plain_enum! { #name: #first, #(#variants #names #numbers),* }
    })
}
