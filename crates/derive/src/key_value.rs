//! Enums in keys.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, LitStr};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        let message = "only enums can derive KeyValue: other types implement it by hand";
        return Err(syn::Error::new(input.ident.span(), message));
    };
    let mut arms = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a variant with data cannot stand in a key";
            return Err(syn::Error::new(variant.ident.span(), message));
        }
        let (name, text) = (&variant.ident, stored_name(variant));
        arms.push(quote!(Self::#name => #text));
    }
    let name = &input.ident;
    Ok(quote! {
        impl ::keyloom::KeyValue for #name {
            fn to_value(&self) -> ::std::option::Option<::keyloom::Value<'_>> {
                let text: &'static str = match self {
                    #(#arms,)*
                };
                ::std::option::Option::Some(::keyloom::Value::from(text))
            }
        }
    })
}

/// The name that serde stores the variant under.
fn stored_name(variant: &syn::Variant) -> String {
    let mut name = variant.ident.to_string();
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // What serde itself does not understand, serde reports.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.input.peek(syn::Token![=]) {
                let value = meta.value()?.parse::<syn::Lit>()?;
                if let (true, syn::Lit::Str(text)) = (meta.path.is_ident("rename"), &value) {
                    name = LitStr::value(text);
                }
            }
            Ok(())
        });
    }
    name
}
