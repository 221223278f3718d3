//! The grammar of our attributes: words, `name = value` pairs and `name(…)` lists.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Lit, LitStr, Token, bracketed, parenthesized};

/// A text and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) span: Span,
}

impl Text {
    pub(crate) fn new(value: impl Into<String>, span: Span) -> Self {
        Self { value: value.into(), span }
    }
}

/// What stands right of `=`.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Text),
    Number(Text),
    Bool(bool, Span),
    List(Vec<Value>),
    Table(Vec<(Text, Value)>),
}

/// One argument of an attribute of the macro.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// `desc`, `"a text"`, `Team::member_count`, `8`
    Word(Text),
    /// `limit = 50`
    Pair(Text, Value),
    /// `unique(email)`
    List(Text, Vec<Arg>),
}

/// The arguments of an attribute.
pub(crate) struct Args(pub(crate) Vec<Arg>);

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let args = Punctuated::<Arg, Token![,]>::parse_terminated(input)?;
        Ok(Self(args.into_iter().collect()))
    }
}

impl Parse for Arg {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(LitStr) {
            let text: LitStr = input.parse()?;
            let text = Text::new(text.value(), text.span());
            if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                return Ok(Self::Pair(text, input.parse()?));
            }
            return Ok(Self::Word(text));
        }
        if input.peek(syn::LitInt) {
            let number: syn::LitInt = input.parse()?;
            return Ok(Self::Word(Text::new(number.base10_digits(), number.span())));
        }
        let name = input.call(Ident::parse_any)?;
        let mut text = Text::new(name.to_string(), name.span());
        while input.peek(Token![::]) {
            input.parse::<Token![::]>()?;
            let next = input.call(Ident::parse_any)?;
            text.value.push_str("::");
            text.value.push_str(&next.to_string());
        }
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            return Ok(Self::Pair(text, input.parse()?));
        }
        if input.peek(syn::token::Paren) {
            let inner;
            parenthesized!(inner in input);
            return Ok(Self::List(text, Args::parse(&inner)?.0));
        }
        Ok(Self::Word(text))
    }
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(syn::token::Bracket) {
            let inner;
            bracketed!(inner in input);
            let values = Punctuated::<Value, Token![,]>::parse_terminated(&inner)?;
            return Ok(Self::List(values.into_iter().collect()));
        }
        if input.peek(Ident::peek_any) && !input.peek(syn::LitBool) {
            let name = input.call(Ident::parse_any)?;
            return Ok(Self::Text(Text::new(name.to_string(), name.span())));
        }
        match input.parse::<Lit>()? {
            Lit::Str(text) => Ok(Self::Text(Text::new(text.value(), text.span()))),
            Lit::Int(number) => Ok(Self::Number(Text::new(number.base10_digits(), number.span()))),
            Lit::Float(number) => {
                Ok(Self::Number(Text::new(number.base10_digits(), number.span())))
            }
            Lit::Bool(flag) => Ok(Self::Bool(flag.value, flag.span)),
            other => Err(syn::Error::new(other.span(), "a text, a number or a list was expected")),
        }
    }
}

impl Arg {
    pub(crate) fn name(&self) -> &Text {
        match self {
            Self::Word(name) | Self::Pair(name, _) | Self::List(name, _) => name,
        }
    }
}

impl Arg {
    /// What design files write as a member: `flag` is `flag = true`, `name(a, b)` is a list, `name(a = 1)` a table.
    pub(crate) fn member(self) -> syn::Result<(Text, Value)> {
        match self {
            Self::Word(name) => Ok((name.clone(), Value::Bool(true, name.span))),
            Self::Pair(name, value) => Ok((name, value)),
            Self::List(name, parts) => {
                let is_table = parts.iter().any(|part| matches!(part, Self::Pair(..)));
                if is_table {
                    let members =
                        parts.into_iter().map(Self::member).collect::<syn::Result<_>>()?;
                    return Ok((name, Value::Table(members)));
                }
                let values = parts.into_iter().map(|part| match part {
                    Self::Word(text) => Ok(Value::Text(text)),
                    other => Err(syn::Error::new(other.name().span, "a name was expected")),
                });
                let values = values.collect::<syn::Result<_>>()?;
                Ok((name, Value::List(values)))
            }
        }
    }
}

impl Value {
    /// The text, or an error that says that one was expected.
    pub(crate) fn text(&self) -> syn::Result<&Text> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(syn::Error::new(other.span(), "a text was expected")),
        }
    }

    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Text(text) | Self::Number(text) => text.span,
            Self::Bool(_, span) => *span,
            Self::List(values) => values.first().map_or_else(Span::call_site, Self::span),
            Self::Table(members) => {
                members.first().map_or_else(Span::call_site, |(name, _)| name.span)
            }
        }
    }
}

/// All arguments of the attributes with this name, which are taken away.
pub(crate) fn take_args(attributes: &mut Vec<syn::Attribute>, name: &str) -> syn::Result<Vec<Arg>> {
    let mut args = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        args.extend(attribute.parse_args::<Args>()?.0);
    }
    attributes.retain(|attribute| !attribute.path().is_ident(name));
    Ok(args)
}

/// Takes a name out of the derive lists, and says whether it was there.
pub(crate) fn take_derive(attributes: &mut [syn::Attribute], name: &str) -> syn::Result<bool> {
    let mut found = false;
    for attribute in attributes.iter_mut().filter(|attribute| attribute.path().is_ident("derive")) {
        let paths =
            attribute.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated)?;
        let ours = |path: &syn::Path| path.segments.last().is_some_and(|last| last.ident == name);
        if paths.iter().any(ours) {
            found = true;
            let rest = paths.into_iter().filter(|path| !ours(path));
            *attribute = syn::parse_quote!(#[derive(#(#rest),*)]);
        }
    }
    Ok(found)
}

/// The names in the derive lists.
pub(crate) fn derives(attributes: &[syn::Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        if let Ok(paths) =
            attribute.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated)
        {
            names.extend(
                paths.iter().filter_map(|path| Some(path.segments.last()?.ident.to_string())),
            );
        }
    }
    names
}

/// The documentation as one text.
pub(crate) fn documentation(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => {
                Some(text.value().trim().to_owned())
            }
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}
