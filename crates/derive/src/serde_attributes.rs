//! The attributes of serde in a design module: those we add, read and refuse.

use syn::Item;
use syn::spanned::Spanned as _;

use crate::arg::derives;
use crate::model::Field;
use crate::rust_type::Kind;

/// Has serde's derives name serde as this crate re-exports it, so that a program needs no dependency on serde.
pub(crate) fn find_serde(item: &mut Item) {
    let attributes = match item {
        Item::Struct(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        _ => return,
    };
    let is_serde = |name: &String| name == "Serialize" || name == "Deserialize";
    let has_crate = attributes.iter().any(|attribute| {
        let mut found = false;
        if attribute.path().is_ident("serde") {
            // What cannot be read stays for serde to report.
            let _ = attribute.parse_nested_meta(|meta| {
                found |= meta.path.is_ident("crate");
                let _ = meta.value().and_then(syn::parse::ParseBuffer::parse::<syn::Expr>);
                Ok(())
            });
        }
        found
    });
    if !has_crate && derives(attributes).iter().any(is_serde) {
        attributes.push(syn::parse_quote!(#[serde(crate = "::keyloom::serde")]));
    }
}

/// Stores a time as DynamoDB wants a time to live.
pub(crate) fn store_seconds(
    found: &mut Field,
    attributes: &mut Vec<syn::Attribute>,
) -> syn::Result<()> {
    refuse(
        attributes,
        &["with", "serialize_with", "deserialize_with"],
        "a time to live is stored as seconds, which `#[field(ttl)]` takes care of: leave this out",
    )?;
    (found.seconds, found.kind) = (true, Kind::Unsigned("u64"));
    let form: syn::Attribute = if !found.optional {
        syn::parse_quote!(#[serde(with = "::keyloom::macros::seconds")])
    } else if mentions(attributes, &["default"]).is_some() {
        syn::parse_quote!(#[serde(with = "::keyloom::macros::optional_seconds")])
    } else {
        syn::parse_quote!(#[serde(default, with = "::keyloom::macros::optional_seconds")])
    };
    attributes.push(form);
    Ok(())
}

/// Where one of these words stands in the attributes of serde.
fn mentions(attributes: &[syn::Attribute], words: &[&str]) -> Option<proc_macro2::Span> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // What serde itself does not understand, serde reports.
        let _ = attribute.parse_nested_meta(|meta| {
            if words.iter().any(|word| meta.path.is_ident(word)) {
                found = found.or(Some(meta.path.span()));
            }
            if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            }
            Ok(())
        });
    }
    found
}

fn refuse(attributes: &[syn::Attribute], words: &[&str], message: &str) -> syn::Result<()> {
    mentions(attributes, words).map_or(Ok(()), |span| Err(syn::Error::new(span, message)))
}

/// The name that serde writes for a field, if it is another one.
pub(crate) fn renamed(attributes: &[syn::Attribute]) -> Option<String> {
    let mut name = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // What serde itself does not understand, serde reports.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.input.peek(syn::Token![=]) {
                let value: syn::Expr = meta.value()?.parse()?;
                if meta.path.is_ident("rename")
                    && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value
                {
                    name = Some(text.value());
                }
            }
            Ok(())
        });
    }
    name
}

/// All fields are attributes of the item; what changes that would make the design lie.
pub(crate) fn refuse_serde(attributes: &[syn::Attribute], words: &[&str]) -> syn::Result<()> {
    let message = "all fields of an entity are stored, each as one attribute that the design knows: leave this out, or use `rename` on a field";
    refuse(attributes, words, message)
}
