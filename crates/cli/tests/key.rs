//! `keyloom key`, run as people run it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::process::{Command, Output};

const ORDER: &str = "ORDER#{placed_at:datetime}#{order_id:ulid}";

fn keyloom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyloom")).arg("key").args(arguments).output().unwrap()
}

fn answer(arguments: &[&str]) -> String {
    let output = keyloom(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let mut arguments = arguments.to_vec();
    arguments.extend(["--format", "json"]);
    serde_json::from_str(&answer(&arguments)).unwrap()
}

/// The exit code and what was said on standard error.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let output = keyloom(arguments);
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_key_is_built_and_taken_apart() {
    let key = "ORDER#2024-01-15T10:30:00Z#01HM5KXJ8M0000000000000001";
    let fields = ["placed_at=2024-01-15T10:30:00Z", "order_id=01HM5KXJ8M0000000000000001"];
    assert_eq!(answer(&[ORDER, "build", fields[0], fields[1]]), format!("{key}\n"));
    assert_eq!(json(&[ORDER, "build", fields[1], fields[0]])["key"], key);
    assert_eq!(
        answer(&[ORDER, "parse", key]),
        "placed_at  2024-01-15T10:30:00Z\norder_id   01HM5KXJ8M0000000000000001\n"
    );
    assert_eq!(json(&[ORDER, "parse", key])["fields"]["order_id"], "01HM5KXJ8M0000000000000001");
}

#[test]
fn prefixes_end_at_a_separator_unless_asked_otherwise() {
    assert_eq!(answer(&["USER#{id}#ORDER#{n:u8}", "prefix", "id=1"]), "USER#1#ORDER#\n");
    assert_eq!(answer(&[ORDER, "prefix", "--partial", "placed_at=2024-12"]), "ORDER#2024-12\n");
    assert_eq!(json(&[ORDER, "prefix"])["prefix"], "ORDER#");
    let (code, message) = refusal(&["USER#{id}", "prefix", "id=1"]);
    assert_eq!(code, 1);
    assert!(message.contains("keys below it begin with `USER#1#`"), "{message}");
}

#[test]
fn a_condition_becomes_one_range() {
    let range = json(&[ORDER, "range", "placed_at between 2024-01-01 and 2024-01-31"]);
    assert_eq!(range["kind"], "between");
    assert_eq!(range["lower"], "ORDER#2024-01-01T00:00:00Z#00000000000000000000000000");
    assert_eq!(range["upper"], "ORDER#2024-01-31T23:59:59Z#7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    let line = answer(&["{c}#{n:u16}#{x}", "range", "n >= 3 and n < 9", "c=C1"]);
    assert!(
        line.starts_with("condition  BETWEEN 'C1#00003#' AND 'C1#00008#\\u{10ffff}'\n"),
        "{line}"
    );
    let (code, message) = refusal(&["{c}#{n:u16}", "range", "n >= 3"]);
    assert_eq!(code, 1);
    assert!(message.contains("a range on `n` needs `c` to its left"), "{message}");
}

#[test]
fn a_template_is_described() {
    let text =
        answer(&["V#{version:u32:plain}#{at:date}", "describe", "--against", "V#LATEST", "--sort"]);
    assert!(text.contains("length     14 to 23 bytes; always fits a sort key"), "{text}");
    assert!(text.contains("`V#9#9999-12-31` sorts after `V#10#0000-01-01`"), "{text}");
    assert!(text.contains("`V#LATEST`: no, their keys never meet"), "{text}");
    let described =
        json(&["PRODUCT#{id}", "describe", "--against", "PRODUCT#{id}#VARIANT#{color}"]);
    assert_eq!(described["order"]["proven"], true);
    assert_eq!(described["length"]["max"], serde_json::Value::Null);
    assert_eq!(described["relations"][0]["relation"], "prefix_of");
}

#[test]
fn separator_and_policy_can_be_chosen() {
    let template = "{a}::{b}";
    assert_eq!(answer(&[template, "build", "a=x:y", "b=1"]), "x:y::1\n");
    assert_eq!(answer(&[template, "--policy", "percent", "build", "a=x:y", "b=1"]), "x%3Ay::1\n");
    assert_eq!(answer(&["{a}#{b}", "build", "a=x y", "b=1", "--policy", "ordered"]), "x$20y#1\n");
    assert_eq!(answer(&["{a}, {b}", "--separator", ", ", "build", "a=x", "b=y"]), "x, y\n");
}

#[test]
fn what_differs_in_old_keys_is_reported() {
    let text =
        answer(&["V#{n:u32:4}#{at:datetime}", "parse", "--lenient", "V#2#2023-05-15T14:22:10Z"]);
    assert!(
        text.contains(
            "! field n, byte 2: `2` is not the canonical form of this value, which is `0002`"
        ),
        "{text}"
    );
    assert!(text.contains("should be  V#0002#2023-05-15T14:22:10Z"), "{text}");
}

#[test]
fn refusals_say_what_and_how() {
    for (arguments, code, expected) in [
        (
            &["{a}{b}", "describe"][..],
            1,
            "it is ambiguous where `a` ends and `b` begins\n  {a}{b}\n  ^^^^^^\n",
        ),
        (&["U#{id:u8}", "build", "id=256"], 1, "field `id`: 256 is outside 0 to 255"),
        (&["U#{id}", "build"], 1, "template `U#{id}`: no value for field `id`"),
        (&["U#{id}", "build", "name=x"], 1, "has no field `name`; its fields are id"),
        (&["U#{id}", "build", "id=a#b"], 1, "contains the separator `#` or ends with a part of it"),
        (
            &["U#{id}", "parse", "X#1"],
            1,
            "key `X#1` does not match template `U#{id}`: at byte 0: `U#` is missing",
        ),
        (&["U#{id}", "range", "id ~ 5"], 1, "at byte 3: expected `=`"),
        (&["U#{id}", "build", "id"], 2, "write it as name=value, for example id=id"),
        (&["U#{id}"], 2, "Usage: keyloom key"),
        (&["U#{id}", "build", "--format", "xml"], 2, "possible values: human, json"),
    ] {
        let (found, message) = refusal(arguments);
        assert_eq!(found, code, "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn every_command_shows_an_example() {
    for action in ["build", "parse", "prefix", "range", "describe"] {
        let help = answer(&["U#{id}", action, "--help"]);
        assert!(help.contains("Example") && help.contains("keyloom key '"), "{help}");
    }
    assert!(answer(&["--help"]).contains("Examples:"));
}

#[test]
fn shards_are_listed_chosen_and_counted() {
    let all = answer(&["STATUS#{s}", "shard", "--count", "3", "s=open"]);
    assert_eq!(all, "STATUS#open#SHARD_0\nSTATUS#open#SHARD_1\nSTATUS#open#SHARD_2\n");
    let one = json(&["STATUS#{s}", "shard", "--count", "10", "s=open", "--of", "order-7"]);
    let again = answer(&["STATUS#{s}", "shard", "--count", "10", "s=open", "--of", "order-7"]);
    assert_eq!(one["key"], again.trim());
    assert_eq!(one["key"], format!("STATUS#open#SHARD_{}", one["shard"]));
    // 5,000 writes per second are five partitions, and half as many again.
    assert_eq!(json(&["S#{s}", "shard", "--writes", "5000", "s=open"])["shards"], 8);
    for (arguments, code, words) in [
        (&["S#{s}", "shard", "s=open"][..], 2, "--count"),
        (&["S#{s}", "shard", "--count", "0", "s=open"], 1, "0"),
        (&["S#{s}", "shard", "--count", "2"], 1, "`s`"),
        (&["S#{s}", "shard", "--writes", "-1", "s=open"], 2, "-1"),
    ] {
        let (found, said) = refusal(arguments);
        assert!(found == code && said.contains(words), "{arguments:?}: {found} {said}");
    }
}
