//! The designs in `examples/designs`, as tests read them.

use std::path::{Path, PathBuf};

/// The file names and texts of those whose name is wanted, in order. Designs as their authors wrote them, before the
/// linter's findings were fixed, have names that end in `.as-written.toml`.
pub(crate) fn examples(is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let is_design = path.extension()? == "toml" && is_wanted(&name);
        is_design.then(|| (name, std::fs::read_to_string(path).unwrap()))
    });
    let designs: Vec<_> = named.collect();
    assert!(!designs.is_empty(), "no such example");
    designs
}
