//! Every dependency may be used under a permissive licence.

use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than a notice.
const PERMISSIVE: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "ISC",
    "Zlib",
    "0BSD",
    "BSD-3-Clause",
    "BSL-1.0",
    "Unlicense",
    "Unicode-3.0",
    "BlueOak-1.0.0",
    // The root certificates of webpki-roots, which are data.
    "CDLA-Permissive-2.0",
];

/// Whether a licence expression lets us choose permissive licences. `/` is an old way to write `OR`.
fn is_permissive(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let is_listed = |licence: &str| PERMISSIVE.contains(&licence.trim());
    expression.split(" AND ").all(|part| part.split(" OR ").any(is_listed))
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "run `cargo fetch` first, as scripts/test does: {complaint}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_permissive))
        .map(|package| {
            format!("{} {}: {}", package["name"], package["version"], package["license"])
        })
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn expressions_are_read_as_choices_and_sums() {
    for (expression, expected) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("Apache-2.0 OR GPL-2.0-only", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0", false),
        ("MIT AND GPL-3.0", false),
        ("MPL-2.0", false),
    ] {
        assert_eq!(is_permissive(expression), expected, "{expression}");
    }
}
