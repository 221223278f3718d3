//! The code that makes a module's structs entities and access patterns.

use keyloom_design::model::{Design, FieldKind};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::arg::{Text, Value};
use crate::file::used_in_keys;
use crate::model::{Access, Entity, Field, Module};
use crate::patch::patch;
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
    let patch = patch(entity, &key_name, &key_fields);
    let tally = tally(entity, &key_fields, design);
    let texts = texts(entity);
    let fields = entity.fields.iter().map(|field| field.attribute.as_str());
    let was = was(entity);
    quote! {
        impl ::keyloom::Entity for #name {
            type Design = #design_name;
            type Key = #key_name;
            const NAME: &'static str = #text;
            const COUNTERS: &'static [::keyloom::Counter] = &[#(#counters),*];
            const TEXTS: &'static [&'static str] = &[#(#texts),*];
            const FIELDS: &'static [&'static str] = &[#(#fields),*];
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
    let earlier = entity.fields.iter().flat_map(|field| &field.options).filter_map(|option| {
        let (word, Value::Text(field)) = option else { return None };
        (word.value == "was").then_some(field)
    });
    let known = earlier.map(|field| {
        let text = &field.value;
        let unknown = format!("`{}` has no field `{text}`", before.value);
        quote_spanned! {field.span=>
            const _: () = ::core::assert!(
                ::keyloom::macros::is_among(<#path as ::keyloom::Entity>::FIELDS, #text),
                #unknown
            );
        }
    });
    Some(quote! {
        impl ::keyloom::migrate::Was<<#path as ::keyloom::Entity>::Design> for #name {
            type Before = #path;
        }

        #(#known)*
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
pub(crate) fn parameter(field: &Field) -> TokenStream {
    let ty = &field.ty;
    let is_number = matches!(field.kind, Kind::Unsigned(_) | Kind::Signed | Kind::Number);
    if is_number && !field.optional && !field.seconds {
        quote!(#ty)
    } else {
        quote!(impl ::std::convert::Into<#ty>)
    }
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

fn counter_of(counter: &crate::model::Counter, module: &Module) -> TokenStream {
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
