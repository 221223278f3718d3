//! `keyloom import-model` and `export-model` on files as people have them: templates in YAML, and mistakes in them.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs the command with a text on its standard input.
fn keyloom(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    let command = command.args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The design that a model becomes, without the line that names the format.
fn imported(model: &str) -> String {
    let output = keyloom(&["import-model", "-"], model);
    assert!(output.status.success(), "{}\n{model}", text(&output.stderr));
    text(&output.stdout).split_once('\n').unwrap().1.to_owned()
}

fn designs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".toml") && !name.ends_with(".as-written.toml")
        })
        .collect();
    files.sort();
    files
}

#[test]
fn templates_in_yaml_say_what_requests_say() {
    let designs = designs();
    assert!(designs.len() >= 49, "{}", designs.len());
    for design in designs {
        let design = std::fs::read_to_string(design).unwrap();
        let model = |format: &str| {
            let output = keyloom(&["export-model", "-", "--format", format], &design);
            assert!(output.status.success(), "{}", text(&output.stderr));
            text(&output.stdout)
        };
        let (template, requests) = (model("cloudformation"), model("create-table"));
        assert!(template.contains("AWSTemplateFormatVersion:"), "{template}");
        // A template also has what CreateTable does not take: the expiry time, and a condition for it.
        let kept = |text: String| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("ttl "));
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            lines.map(words).collect()
        };
        assert_eq!(kept(imported(&template)), kept(imported(&requests)), "{template}");
    }
}

#[test]
fn mistakes_in_templates_are_said_with_their_line() {
    for (model, expected) in [
        ("Resources:\n  A: [1\n", "line 3"),
        ("Resources:\n  A: 1\n  A: 2\n", "`A` is twice"),
        ("name: x\n", "--from"),
        ("", "standard input: it is empty"),
        ("just words", "--from"),
        ("Resources:\n  T: {Type: AWS::SNS::Topic}\n", "there is no table"),
        ("{\"Resources\": ", "it is no JSON"),
    ] {
        let output = keyloom(&["import-model", "-"], model);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{model}: {said}");
        assert!(said.contains("standard input"), "{model}: {said}");
    }
}

#[test]
fn the_resources_of_other_tools_are_read() {
    let serverless = "
service: shop
resources:
  Resources:
    Orders:
      Type: AWS::DynamoDB::Table
      DeletionPolicy: Retain
      Properties:
        TableName: ${self:service}-orders
        AttributeDefinitions:
          - { AttributeName: id, AttributeType: S }
        KeySchema:
          - { AttributeName: id, KeyType: HASH }
        TimeToLiveSpecification: { AttributeName: expires, Enabled: true }
";
    let output = keyloom(&["import-model", "-"], serverless);
    let (design, said) = (text(&output.stdout), text(&output.stderr));
    assert!(design.contains("[table.Orders]") && design.contains("\"expires\""), "{design}{said}");
    assert!(said.contains("resource Orders: TableName"), "{said}");
}
