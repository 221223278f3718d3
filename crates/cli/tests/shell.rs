//! Completions and manual pages know every command.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

fn keyloom(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keyloom")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = keyloom(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = listed.lines().filter(is_name).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_shell_completes_every_command() {
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = keyloom(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
    }
}

#[test]
fn a_shell_can_read_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyloom");
    std::fs::write(&path, keyloom(&["completions", "bash"])).unwrap();
    let typed =
        "COMP_WORDS=(keyloom che) COMP_CWORD=1; _keyloom keyloom che keyloom; echo ${COMPREPLY[*]}";
    let script = format!("source {}; {typed}", path.display());
    let output = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "check");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man1");
    keyloom(&["man", "--to", directory.to_str().unwrap()]);
    for command in commands() {
        let page = std::fs::read_to_string(directory.join(format!("keyloom-{command}.1"))).unwrap();
        assert!(page.contains(&format!(".TH keyloom-{command} 1")), "{command}");
    }
    assert!(keyloom(&["man"]).contains(".TH keyloom 1"));
    assert!(directory.join("keyloom-migrate-run.1").exists());
    // Pages that pages refer to.
    for entry in std::fs::read_dir(&directory).unwrap() {
        let page = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in page.lines().filter(|line| line.ends_with("(1)")) {
            let name = line.trim_end_matches("(1)").replace('\\', "");
            if name.ends_with("-help") {
                continue;
            }
            assert!(directory.join(format!("{name}.1")).exists(), "there is no page {name}");
        }
    }
}
