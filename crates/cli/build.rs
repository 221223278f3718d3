//! Links the command so that it starts fast. Nothing here changes what it does: where a condition is not met, the
//! command is linked as any other.
//!
//! - libgcc's unwinder is linked into the command instead of loaded with it: a library less to open, map and search.
//! - What runs from the start of a server to its first answer is put together at one place. Otherwise it lies scattered
//!   over all of the code, and each first touch of a place is a page fault. `scripts/start-order` writes the list.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions, by the names of their symbols; `*` stands for the hash at the end of most.
const LIST: &str = "start-order.txt";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LIST}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    // Both need to know the linker: nothing is assumed of one that was chosen, nor of a cross-linker.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_usual = env::var_os("RUSTC_LINKER").is_none() && !flags.contains("link");
    let is_native = env::var("HOST")? == env::var("TARGET")?;
    if !(is_gnu && is_usual && is_native && is("PROFILE", "release")) {
        return Ok(());
    }
    if let Some(folder) = folder_of("libgcc_eh.a") {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
    // There rustc links with its own LLD, which takes linker scripts.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        let script = Path::new(&env::var("OUT_DIR")?).join("start.ld");
        fs::write(&script, linker_script(&fs::read_to_string(LIST)?)?)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(())
}

/// The folder in which the compiler finds a library of its own, if it has it.
fn folder_of(library: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name={library}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    // Without the library, the name comes back as it was given.
    path.is_absolute().then(|| path.parent().map(Path::to_owned)).flatten()
}

/// A section with the functions of the list, before that of all others.
fn linker_script(list: &str) -> Result<String, std::fmt::Error> {
    let mut script = String::from("SECTIONS\n{\n  .text.start :\n  {\n");
    for name in list.lines().filter(|line| !line.starts_with('#')) {
        writeln!(script, "    *(.text.{name} .text.unlikely.{name})")?;
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    Ok(script)
}
