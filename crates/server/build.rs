//! Embeds the finished files of the console (`console/dist`), compressed once at build time. They are compiled from
//! `console/src` by `console/build.mjs`, which needs Node; this build does not.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let source = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("console/dist");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    let mut names = Vec::new();
    list(&source, "", &mut names)?;
    names.sort();
    let mut table = String::from("&[\n");
    for (number, name) in names.iter().enumerate() {
        let plain = fs::read(source.join(name))?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&plain)?;
        let packed = out.join(format!("console-{number}.gz"));
        fs::write(&packed, encoder.finish()?)?;
        let (bytes, packed) = (grouped(plain.len()), packed.display().to_string());
        writeln!(
            table,
            "    Asset {{ name: {name:?}, plain_bytes: {bytes}, packed: include_bytes!({packed:?}) }},"
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join("console_assets.rs"), table)?;
    Ok(())
}

/// A number as Rust writes it: 12_345.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// The files of a folder and the folders in it, by their paths from the first one.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            println!("cargo::rerun-if-changed={}", entry.path().display());
            list(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
