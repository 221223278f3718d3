//! `docs/design-language.md`.
