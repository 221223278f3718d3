//! The code of patches: for each entity a struct with a setter per field, or one for all the fields of a key that must be
//! set together. Setters that would break a key exist, and refuse to compile with the reason.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::expand::parameter;
use crate::file::{mentions, template_fields};
use crate::model::{Entity, Field};

/// Fields that share an index key, hence are set together; the name of the key for each group.
fn groups<'e>(entity: &'e Entity, fixed: &[&Field]) -> Vec<(Vec<&'e Field>, Option<String>)> {
    let is_fixed = |name: &str| fixed.iter().any(|field| field.attribute == name);
    let guarded =
        |name: &str| entity.uniques.iter().any(|u| u.fields.iter().any(|f| f.value == name));
    let free: Vec<&Field> = entity
        .fields
        .iter()
        .filter(|field| {
            let name = field.attribute.clone();
            !is_fixed(&name) && !guarded(&name) && !field.version
        })
        .collect();
    // Each field's group is named by its first member.
    let mut group: BTreeMap<String, usize> =
        free.iter().enumerate().map(|(at, field)| (field.attribute.clone(), at)).collect();
    let mut keys: BTreeMap<usize, String> = BTreeMap::new();
    for (attribute, template) in &entity.keys {
        let names: Vec<String> = template_fields(&template.value)
            .into_iter()
            .flat_map(|(name, _)| match entity.shards.iter().find(|s| s.name.value == name) {
                Some(shard) => shard.by.iter().map(|by| by.value.clone()).collect(),
                None => vec![name],
            })
            .chain(conditions(entity, &attribute.value))
            .filter(|name| group.contains_key(name))
            .collect();
        let Some(first) = names.iter().filter_map(|name| group.get(name)).min().copied() else {
            continue;
        };
        let joined: Vec<usize> = names.iter().filter_map(|name| group.get(name)).copied().collect();
        for number in group.values_mut().filter(|number| joined.contains(number)) {
            *number = first;
        }
        keys.entry(first).or_insert_with(|| attribute.value.clone());
    }
    let mut all: BTreeMap<usize, Vec<&Field>> = BTreeMap::new();
    for field in free {
        if let Some(number) = group.get(&field.attribute) {
            all.entry(*number).or_default().push(field);
        }
    }
    all.into_iter().map(|(number, fields)| (fields, keys.get(&number).cloned())).collect()
}

/// The fields that decide whether a key attribute is written.
fn conditions<'e>(entity: &'e Entity, attribute: &'e str) -> impl Iterator<Item = String> + 'e {
    let whens = entity.whens.iter().filter(move |(name, _)| name.value == attribute);
    whens.flat_map(|(_, condition)| {
        let names = entity.fields.iter().map(|field| field.attribute.clone());
        names.filter(|name| mentions(&condition.value, name))
    })
}

/// The struct `{Entity}Patch` with its setters, and the entity's constructor of it.
pub(crate) fn patch(entity: &Entity, key_name: &Ident, key: &[&Field]) -> TokenStream {
    let (name, visibility) = (&entity.name, &entity.visibility);
    let patch_name = format_ident!("{name}Patch");
    let counted = !entity.counters.is_empty();
    let setters = groups(entity, key).into_iter().map(|(fields, attribute)| match attribute {
        // What every item has, and what never changes, is never set.
        _ if fields.iter().all(|field| field.is_fixed()) => {
            fields.iter().map(|field| fixed(entity, &patch_name, field)).collect()
        }
        // A counted entity's keys must not change without its counter.
        Some(_) if counted && fields.len() > 1 => TokenStream::new(),
        attribute => setter(entity, &patch_name, &fields, attribute.as_deref()),
    });
    let names: Vec<&Ident> = key.iter().map(|field| &field.name).collect();
    let parameters = key.iter().map(|field| parameter(field));
    let about = format!("New values for some fields of a [`{name}`]; `Table::apply` sends them.");
    let made = format!("A patch of the `{name}` with this key.");
    quote! {
        #[doc = #about]
        #[must_use = "nothing is sent until the patch is applied"]
        #visibility struct #patch_name(::keyloom::Patch<#name>);

        impl ::std::convert::From<#patch_name> for ::keyloom::Patch<#name> {
            fn from(patch: #patch_name) -> Self {
                patch.0
            }
        }

        impl #name {
            #[doc = #made]
            #visibility fn patch(#(#names: #parameters),*) -> #patch_name {
                #patch_name(::keyloom::Patch::new(#key_name { #(#names: #names.into()),* }))
            }
        }

        #(#setters)*
    }
}

fn setter(
    entity: &Entity,
    patch_name: &Ident,
    fields: &[&Field],
    attribute: Option<&str>,
) -> TokenStream {
    let visibility = &entity.visibility;
    let names: Vec<&Ident> = fields.iter().map(|field| &field.name).collect();
    let types: Vec<&syn::Type> = fields.iter().map(|field| &field.ty).collect();
    let texts: Vec<String> = fields.iter().map(|field| field.attribute.clone()).collect();
    let parameters = fields.iter().map(|field| parameter(field));
    // A field alone keeps its own name, which may be a word of Rust's.
    let joined = match names.as_slice() {
        [one] => (*one).clone(),
        several => {
            let words: Vec<String> = several.iter().map(|name| name.unraw().to_string()).collect();
            format_ident!("{}", words.join("_and_"))
        }
    };
    let about = match attribute {
        Some(attribute) => format!("Sets `{}`; makes `{attribute}` anew.", texts.join("`, `")),
        None => format!("Sets `{}`.", texts.join("`, `")),
    };
    let set = if attribute.is_some() { quote!(set_key) } else { quote!(set) };
    let adder = fields.first().filter(|field| {
        let number = field.kind.is_whole_number() && !field.optional && !field.ttl;
        attribute.is_none() && number && !field.is_immutable()
    });
    let adder = adder.map(|field| {
        let text = field.attribute.clone();
        let add = format_ident!("add_{}", field.name.unraw());
        let about = format!("Adds to `{text}`.");
        quote! {
            #[doc = #about]
            #visibility fn #add(self, by: i64) -> Self {
                Self(self.0.add(#text, by))
            }
        }
    });
    let fixed: Vec<String> =
        fields.iter().filter(|f| f.is_immutable()).map(|f| f.attribute.clone()).collect();
    let about = if fixed.is_empty() {
        about
    } else {
        format!("{about} `{}` must be absent or the same.", fixed.join("`, `"))
    };
    let values = fields.iter().map(|field| {
        let name = &field.name;
        if field.seconds { quote!(::keyloom::macros::Seconds(#name)) } else { quote!(#name) }
    });
    let alone = (fields.len() > 1).then(|| {
        names.iter().zip(&texts).map(|(name, text)| {
            alone(entity, patch_name, name, text, &texts, attribute.unwrap_or_default(), &joined)
        })
    });
    let alone = alone.into_iter().flatten();
    quote! {
        impl #patch_name {
            #[doc = #about]
            #visibility fn #joined(self, #(#names: #parameters),*) -> Self {
                let patch = self.0;
                #(
                    let #names: #types = #names.into();
                    let patch = patch.#set(#texts, &#values);
                )*
                Self(patch)
            }

            #adder
        }

        #(#alone)*
    }
}

/// The setter of a field that never changes, which does not compile and says why.
fn fixed(entity: &Entity, patch_name: &Ident, field: &Field) -> TokenStream {
    let text = &field.attribute;
    let message = format!("`{text}` is immutable: it never changes once the item is written");
    let note = "write a new item, or take `immutable` from the field";
    let about = format!("Does not compile: `{text}` is immutable.");
    refusal(entity, patch_name, &field.name, "Fixed", &about, (&message, "set here", note))
}

/// The setter of a field that shares a key, which does not compile and says why.
fn alone(
    entity: &Entity,
    patch_name: &Ident,
    name: &Ident,
    text: &str,
    texts: &[String],
    attribute: &str,
    joined: &Ident,
) -> TokenStream {
    let others: Vec<&str> = texts.iter().map(String::as_str).filter(|t| *t != text).collect();
    let message = format!(
        "`{text}` cannot be set alone: it is in the key `{attribute}` together with `{}`",
        others.join("`, `")
    );
    let note = format!(
        "set them together with `.{joined}(…)`, or use `Table::update`, which reads the item first"
    );
    let about = format!("Does not compile: `{text}` shares a key; use `{joined}`.");
    refusal(entity, patch_name, name, "Alone", &about, (&message, "set alone here", &note))
}

/// A setter that no call can satisfy: its bound has a message, a label and a note.
fn refusal(
    entity: &Entity,
    patch_name: &Ident,
    name: &Ident,
    ending: &str,
    about: &str,
    (message, label, note): (&str, &str, &str),
) -> TokenStream {
    let visibility = &entity.visibility;
    let trait_name =
        format_ident!("{patch_name}{}{ending}", crate::read::camel_case(&name.unraw().to_string()));
    quote! {
        #[doc(hidden)]
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        #visibility trait #trait_name {}

        impl #patch_name {
            #[doc = #about]
            #visibility fn #name<T: #trait_name>(self, _value: T) -> Self {
                self
            }
        }
    }
}
