//! The code that makes a module's structs entities and access patterns.

use std::collections::BTreeMap;

use keyloom_design::model::{Design, FieldKind};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::arg::Text;
use crate::file::{mentions, template_fields, used_in_keys};
use crate::read::{Access, Entity, Field, Module};
use crate::rust_type::Kind;
use crate::toml::Toml;

/// Everything that the module gets in addition to its own items.
pub(crate) fn module(
    module: &Module,
    design: &Design,
    toml: &Toml,
    earlier: &[Toml],
) -> TokenStream {
    let name = &module.design;
    let text = toml.as_str();
    let file = name.to_string();
    let entities = module.entities.iter().map(|entity| self::entity(entity, module, design));
    let accesses = module.accesses.iter().map(|access| self::access(access, module));
    let earlier = earlier.iter().map(Toml::as_str);
    quote! {
        /// The design of this module: its tables, entities and access patterns.
        #[derive(Clone, Copy, Debug)]
        pub struct #name;

        impl ::keyloom::Design for #name {
            const TOML: &'static str = #text;

            fn model() -> &'static ::std::result::Result<::keyloom::Model, ::std::string::String> {
                static MODEL: ::std::sync::LazyLock<
                    ::std::result::Result<::keyloom::Model, ::std::string::String>,
                > = ::std::sync::LazyLock::new(|| {
                    ::keyloom::Model::parse(#file, <#name as ::keyloom::Design>::TOML)
                });
                &MODEL
            }

            fn earlier() -> &'static ::std::result::Result<::std::vec::Vec<::keyloom::Model>, ::std::string::String> {
                static EARLIER: ::std::sync::LazyLock<
                    ::std::result::Result<::std::vec::Vec<::keyloom::Model>, ::std::string::String>,
                > = ::std::sync::LazyLock::new(|| {
                    let earlier: &[&str] = &[#(#earlier),*];
                    earlier.iter().map(|toml| ::keyloom::Model::parse(#file, toml)).collect()
                });
                &EARLIER
            }
        }

        #(#entities)*
        #(#accesses)*
    }
}

/// The fields that are texts in the struct, or types of the program's own, whatever the design says.
fn texts(entity: &Entity) -> Vec<&str> {
    let stated = entity.fields.iter().filter(|field| field.stated.is_some());
    let texts = stated.filter(|field| matches!(field.kind, Kind::Text | Kind::Own));
    texts.map(|field| field.attribute.as_str()).collect()
}

fn entity(entity: &Entity, module: &Module, design: &Design) -> TokenStream {
    let (name, design_name) = (&entity.name, &module.design);
    let text = name.to_string();
    let key_name = format_ident!("{name}Key");
    let key_fields = identity(entity, design);
    let key = key_struct(entity, &key_name, &key_fields);
    let key_parts = key_fields.iter().map(|field| {
        let name = &field.name;
        quote!(#name: ::std::clone::Clone::clone(&self.#name))
    });
    let readable = entity.fields.iter().filter(|field| is_read(entity, field, module, design));
    let arms = readable.map(arm);
    let versioned = versioned(entity);
    let counters = entity.counters.iter().map(|counter| counter_of(counter, module));
    let patch = patch(entity, &key_name, &key_fields, design);
    let tally = tally(entity, &key_fields, design);
    let texts = texts(entity);
    let was = was(entity);
    quote! {
        impl ::keyloom::Entity for #name {
            type Design = #design_name;
            type Key = #key_name;
            const NAME: &'static str = #text;
            const COUNTERS: &'static [::keyloom::Counter] = &[#(#counters),*];
            const TEXTS: &'static [&'static str] = &[#(#texts),*];
            #versioned

            fn model() -> &'static ::std::result::Result<::keyloom::EntityModel, ::std::string::String> {
                static MODEL: ::std::sync::LazyLock<
                    ::std::result::Result<::keyloom::EntityModel, ::std::string::String>,
                > = ::std::sync::LazyLock::new(|| {
                    ::keyloom::EntityModel::of::<#design_name>(
                        #text,
                        <#name as ::keyloom::Entity>::COUNTERS,
                    )
                });
                &MODEL
            }

            fn field(&self, name: &str) -> ::std::option::Option<::keyloom::Value<'_>> {
                match name {
                    #(#arms,)*
                    _ => ::std::option::Option::None,
                }
            }

            fn key(&self) -> #key_name {
                #key_name { #(#key_parts),* }
            }
        }

        impl ::keyloom::Output for #name {
            fn from_item(item: ::keyloom::Item) -> ::keyloom::Result<Self> {
                ::keyloom::macros::read(item)
            }

            fn is_expired(item: &::keyloom::Item, now_seconds: u64) -> bool {
                ::keyloom::macros::is_expired::<Self>(item, now_seconds)
            }
        }

        #key
        #patch
        #tally
        #was
    }
}

/// The version of an entity that has one.
fn versioned(entity: &Entity) -> Option<TokenStream> {
    let field = entity.fields.iter().find(|field| field.version)?;
    let (name, text) = (&field.name, field.attribute.clone());
    Some(quote! {
        const VERSION: ::std::option::Option<&'static str> = ::std::option::Option::Some(#text);

        fn version(&self) -> u64 {
            self.#name
        }

        fn set_version(&mut self, version: u64) {
            self.#name = version;
        }
    })
}

/// What says what an entity was, if it was one other.
fn was(entity: &Entity) -> Option<TokenStream> {
    let [before] = entity.was.as_slice() else { return None };
    // A name alone says what stored items were called; only a path leads to a type of the program.
    if !before.value.contains("::") {
        return None;
    }
    let (name, path) = (&entity.name, path(before));
    Some(quote! {
        impl ::keyloom::migrate::Was<<#path as ::keyloom::Entity>::Design> for #name {
            type Before = #path;
        }
    })
}

/// A path of the program, where it was written.
fn path(text: &Text) -> TokenStream {
    let parts = text.value.split("::").map(|part| match part {
        "super" | "self" | "crate" | "Self" => Ident::new(part, text.span),
        part => Ident::new_raw(part, text.span),
    });
    quote!(#(#parts)::*)
}

/// What a counter gets: the names of its parts, and its key without the shard.
fn tally(entity: &Entity, key: &[&Field], design: &Design) -> Option<TokenStream> {
    let counter = entity.fields.iter().find(|field| field.counter)?;
    let shard = crate::shard::random(entity)?;
    let (name, visibility) = (&entity.name, &entity.visibility);
    let declared = design.entity(&name.to_string())?.field(&shard.attribute)?;
    let FieldKind::Shard(shards) = &declared.kind else { return None };
    let most = shard.earlier.iter().filter_map(|number| number.value.parse::<u32>().ok());
    let (shards, most) = (shards.count, most.fold(shards.count, u32::max));
    let (count, shard_name) = (&counter.attribute, &shard.attribute);
    let fields: Vec<&&Field> = key.iter().filter(|field| field.name != shard.name).collect();
    let names: Vec<&Ident> = fields.iter().map(|field| &field.name).collect();
    let types: Vec<&syn::Type> = fields.iter().map(|field| &field.ty).collect();
    let texts = fields.iter().map(|field| &field.attribute);
    let parameters = fields.iter().map(|field| parameter(field));
    let about = "The counter of these fields, in all of its shards: `Table::count` adds to it.";
    Some(quote! {
        impl ::keyloom::Tallied for #name {
            const COUNT: &'static str = #count;
            const SHARD: &'static str = #shard_name;
            const SHARDS: u32 = #shards;
            const MOST_SHARDS: u32 = #most;
        }

        impl #name {
            #[doc = #about]
            #visibility fn tally(#(#names: #parameters),*) -> ::keyloom::Tally<#name> {
                let tally = ::keyloom::Tally::new();
                #(
                    let #names: #types = #names.into();
                    let tally = tally.with(#texts, &#names);
                )*
                tally
            }
        }
    })
}

fn arm(field: &Field) -> TokenStream {
    let (name, text) = (&field.name, field.attribute.clone());
    quote!(#text => ::keyloom::KeyValue::to_value(&self.#name))
}

/// The type of a parameter for a field: anything that becomes its type. A number is taken as it is, since a literal such
/// as `1` has no type of its own to convert from.
fn parameter(field: &Field) -> TokenStream {
    let ty = &field.ty;
    let is_number = matches!(field.kind, Kind::Unsigned(_) | Kind::Signed | Kind::Number);
    if is_number && !field.optional { quote!(#ty) } else { quote!(impl ::std::convert::Into<#ty>) }
}

/// The struct's fields that the primary key is made of.
fn identity<'e>(entity: &'e Entity, design: &Design) -> Vec<&'e Field> {
    let mut names: Vec<String> = Vec::new();
    let declared = design.entity(&entity.name.to_string());
    for name in declared.map(|declared| declared.identity()).unwrap_or_default() {
        match entity.shards.iter().find(|shard| shard.name.value == name) {
            Some(shard) => names.extend(shard.by.iter().map(|by| by.value.clone())),
            None => names.push(name.to_owned()),
        }
    }
    entity.fields.iter().filter(|field| names.contains(&field.attribute)).collect()
}

/// Whether keys of the entity, or of those that count it, need the field.
fn is_read(entity: &Entity, field: &Field, module: &Module, design: &Design) -> bool {
    let name = field.attribute.clone();
    // A field with the name of a key attribute is that key without anybody saying so.
    let declared = design.entity(&entity.name.to_string());
    used_in_keys(entity, &name)
        || declared.is_some_and(|declared| declared.key(&name).is_some())
        || entity.counters.iter().any(|counter| {
            let keeper = module.entities.iter().find(|e| e.name == counter.entity.value.as_str());
            keeper
                .is_some_and(|keeper| identity(keeper, design).iter().any(|f| f.attribute == name))
        })
}

fn key_struct(entity: &Entity, key_name: &Ident, fields: &[&Field]) -> TokenStream {
    let (name, visibility) = (&entity.name, &entity.visibility);
    let names: Vec<&Ident> = fields.iter().map(|field| &field.name).collect();
    let types: Vec<&syn::Type> = fields.iter().map(|field| &field.ty).collect();
    let docs = fields.iter().map(|field| format!("The key's `{}`.", field.attribute));
    let arms = fields.iter().map(|field| arm(field));
    let about = format!("The primary key of [`{name}`].");
    let at = format!("The primary key of the `{name}` with these fields.");
    let parameters = fields.iter().map(|field| parameter(field));
    quote! {
        #[doc = #about]
        #[derive(Clone, Debug, PartialEq)]
        #visibility struct #key_name {
            #(#[doc = #docs] pub #names: #types,)*
        }

        impl ::keyloom::EntityKey for #key_name {
            type Entity = #name;

            fn field(&self, name: &str) -> ::std::option::Option<::keyloom::Value<'_>> {
                match name {
                    #(#arms,)*
                    _ => ::std::option::Option::None,
                }
            }
        }

        impl #name {
            #[doc = #at]
            #visibility fn at(#(#names: #parameters),*) -> #key_name {
                #key_name { #(#names: #names.into()),* }
            }
        }
    }
}

fn counter_of(counter: &crate::read::Counter, module: &Module) -> TokenStream {
    let keeper = module.entities.iter().find(|e| e.name == counter.entity.value.as_str());
    let version = keeper.and_then(|keeper| keeper.fields.iter().find(|field| field.version));
    let version = if let Some(field) = version {
        let name = field.attribute.clone();
        quote!(::std::option::Option::Some(#name))
    } else {
        quote!(::std::option::Option::None)
    };
    let (entity, field) = (&counter.entity.value, &counter.field);
    quote!(::keyloom::Counter { entity: #entity, field: #field, version: #version })
}

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

fn patch(entity: &Entity, key_name: &Ident, key: &[&Field], design: &Design) -> TokenStream {
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
    let _ = design;
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
                    let patch = patch.#set(#texts, &#names);
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

fn access(access: &Access, module: &Module) -> TokenStream {
    let (name, design_name) = (&access.name, &module.design);
    let (generics, type_generics, bounds) = access.generics.split_for_impl();
    let title = &access.title.value;
    let (output, collection) = match access.find.as_slice() {
        [one] => {
            let entity = Ident::new(&one.value, one.span);
            (entity, None)
        }
        several => {
            let output = format_ident!("{name}Item");
            let entities: Vec<Ident> =
                several.iter().map(|text| Ident::new(&text.value, text.span)).collect();
            let collection = self::collection(access, &output, &entities, module);
            (output, Some(collection))
        }
    };
    let inputs = access.inputs.iter().map(|(name, _)| {
        let text = name.unraw().to_string();
        quote!((#text, ::keyloom::owned(&self.#name)))
    });
    let was = was_access(access);
    quote! {
        impl #generics ::keyloom::Access for #name #type_generics #bounds {
            type Design = #design_name;
            type Output = #output;
            const NAME: &'static str = #title;

            fn inputs(
                &self,
            ) -> ::std::vec::Vec<(&'static str, ::std::option::Option<::keyloom::Value<'static>>)> {
                ::std::vec![#(#inputs),*]
            }
        }

        #collection
        #was
    }
}

/// The same question to an earlier design: its inputs have the same names.
fn was_access(access: &Access) -> Option<TokenStream> {
    let (name, path) = (&access.name, path(access.was.as_ref()?));
    let inputs: Vec<&Ident> = access.inputs.iter().map(|(name, _)| name).collect();
    Some(quote! {
        impl ::keyloom::migrate::WasAccess<<#path as ::keyloom::Access>::Design> for #name {
            type Before = #path;

            fn before(&self) -> #path {
                #path { #(#inputs: ::std::convert::From::from(::std::clone::Clone::clone(&self.#inputs))),* }
            }
        }
    })
}

/// The enum of what a pattern over several entities finds.
fn collection(access: &Access, output: &Ident, entities: &[Ident], module: &Module) -> TokenStream {
    let visibility = &access.visibility;
    let name = &access.name;
    let about = format!("What [`{name}`] finds.");
    let docs = entities.iter().map(|entity| format!("A [`{entity}`]."));
    let declared: Vec<&Entity> =
        module.entities.iter().filter(|entity| entities.contains(&entity.name)).collect();
    let derived = ["Clone", "Debug", "PartialEq", "Eq"].into_iter().filter(|name| {
        declared.iter().all(|entity| entity.derives.iter().any(|derived| derived == name))
    });
    let derived = derived.map(|name| Ident::new(name, access.span));
    quote! {
        #[doc = #about]
        #[derive(#(#derived),*)]
        #visibility enum #output {
            #(#[doc = #docs] #entities(#entities),)*
        }

        impl ::keyloom::Output for #output {
            fn from_item(item: ::keyloom::Item) -> ::keyloom::Result<Self> {
                #(
                    if ::keyloom::macros::is_of::<#entities>(&item) {
                        return ::keyloom::macros::read(item).map(Self::#entities);
                    }
                )*
                ::std::result::Result::Err(::keyloom::macros::stranger(&item))
            }

            fn is_expired(item: &::keyloom::Item, now_seconds: u64) -> bool {
                false #(|| ::keyloom::macros::is_of::<#entities>(item)
                    && ::keyloom::macros::is_expired::<#entities>(item, now_seconds))*
            }
        }
    }
}
