//! Script runner, reference model and generators for Keyloom's own tests.
