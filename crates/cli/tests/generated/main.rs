//! Code that `keyloom generate` writes for other languages, against a real server: one behaviour suite for all of
//! them and all corrected designs.
//!
//! For each design the suite has rows, the items that they are stored as, and calls of each pattern with the rows that
//! the runner in Rust returns (`cases`). A driver in each language (`tests/clients`) writes the rows through generated code,
//! compares all stored items byte by byte, calls each pattern, and pages through it by cursors.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod cases;
#[path = "../shared/process.rs"]
mod process;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::ServerProcess;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The corrected designs of the corpus, and those that state every element of the language.
fn designs() -> Vec<PathBuf> {
    let folders = [
        root().join("examples/designs"),
        root().join("crates/keyloom/tests/generated"),
        root().join("crates/cli/tests/generated"),
    ];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.ends_with(".toml") && !name.ends_with(".as-written.toml")
        })
        .collect();
    files.sort();
    files
}

/// Whether what a test needs is there; it must be where all clients are asked for.
fn is_installed(path: &str) -> bool {
    if root().join(path).exists() {
        return true;
    }
    assert!(
        std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
        "{path} is not installed, and KEYLOOM_REQUIRE_CLIENTS demands it; run scripts/setup-clients"
    );
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "SKIPPED: {path} is not installed; run scripts/setup-clients");
    false
}

fn must_succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}{err}");
    out
}

/// Generates the module of a design.
fn generate(language: &str, design: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    must_succeed(command.args(["generate", language]).arg(design))
}

/// A folder with a module of each design in a language, `suffix` at the end of its name.
fn modules(language: &str, suffix: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for design in designs() {
        let name = cases::module_name(&design);
        let file = folder.path().join(format!("{name}{suffix}"));
        std::fs::write(file, generate(language, &design)).unwrap();
    }
    folder
}

/// Runs the driver of a language over designs.
fn suite(driver: &mut Command, folder: &Path, designs: &[PathBuf]) {
    let cases: Vec<serde_json::Value> =
        designs.iter().map(|design| cases::of_design(design)).collect();
    let file = folder.join("cases.json");
    std::fs::write(&file, serde_json::to_string(&cases).unwrap()).unwrap();
    let server = ServerProcess::start(&["--memory"]);
    let out = must_succeed(
        driver
            .args([&server.url, file.to_str().unwrap()])
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("NO_PROXY", "127.0.0.1"),
    );
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "{out}");
    assert!(out.contains(&format!("{} designs", designs.len())), "{out}");
}

const TSCONFIG: &str = r#"{
  "compilerOptions": {
    "strict": true, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext",
    "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "skipLibCheck": true,
    "noImplicitOverride": true, "noFallthroughCasesInSwitch": true, "types": ["node"], "outDir": "js"
  },
  "include": ["*.ts"]
}"#;

/// A folder in which TypeScript is compiled, with the driver of a suite.
#[cfg(unix)]
fn with_typescript(place: &Path, driver: &str) {
    let js = root().join("tests/clients/js");
    std::os::unix::fs::symlink(js.join("node_modules"), place.join("node_modules")).unwrap();
    std::fs::write(place.join("package.json"), r#"{ "type": "module" }"#).unwrap();
    std::fs::write(place.join("tsconfig.json"), TSCONFIG).unwrap();
    std::fs::copy(js.join(driver), place.join(driver)).unwrap();
    let tsc = place.join("node_modules/.bin/tsc");
    must_succeed(Command::new(tsc).args(["-p", "."]).current_dir(place));
}

#[test]
#[cfg(unix)]
fn electrodb_writes_and_reads_the_keys_of_the_design() {
    if !is_installed("tests/clients/js/node_modules/electrodb") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mut told = Vec::new();
    for design in designs() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
        let output = command.args(["generate", "electrodb"]).arg(&design).output().unwrap();
        if output.status.success() {
            let name = format!("{}.ts", cases::module_name(&design));
            std::fs::write(place.join(name), output.stdout).unwrap();
            told.push(design);
        } else {
            let reason = String::from_utf8_lossy(&output.stderr);
            assert!(reason.contains("entity `"), "{design:?}: {reason}");
        }
    }
    assert!(told.len() >= 45, "{} designs only", told.len());
    with_typescript(place, "electrodb.ts");
    suite(Command::new("node").arg("js/electrodb.js").current_dir(place), place, &told);
}

#[test]
#[cfg(unix)]
fn typescript_behaves_as_the_runner_in_rust() {
    if !is_installed("tests/clients/js/node_modules/typescript") {
        return;
    }
    let folder = modules("typescript", ".ts");
    let place = folder.path();
    with_typescript(place, "generated.ts");
    let tool = |name: &str| Command::new(place.join("node_modules/.bin").join(name));
    must_succeed(tool("prettier").args(["--check", "*.ts"]).current_dir(place));
    suite(Command::new("node").arg("js/generated.js").current_dir(place), place, &designs());
}

#[test]
fn python_behaves_as_the_runner_in_rust() {
    if !is_installed(".venv/bin/mypy") {
        return;
    }
    let folder = modules("python", ".py");
    let place = folder.path();
    let tool = |name: &str| Command::new(root().join(".venv/bin").join(name));
    must_succeed(tool("mypy").args(["--strict", "."]).current_dir(place));
    must_succeed(tool("black").args(["--check", "--diff", "--quiet", "."]).current_dir(place));
    let driver = root().join("tests/clients/generated.py");
    suite(tool("python").arg(driver).current_dir(place), place, &designs());
}
