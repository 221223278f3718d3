//! What each format reads, refuses and writes. The examples are those of AWS's documentation.

use keyloom_core::json::write_item;
use keyloom_core::{AttributeType, AttributeValue, Number};
use proptest::prelude::*;

use super::*;

fn keys() -> CsvKeys {
    vec![("id".into(), AttributeType::N), ("bin".into(), AttributeType::B)]
}

/// The rows of an object in DynamoDB JSON or as errors, one per line; the last line may be a fault.
fn rows(format: &InputFormat, text: &[u8]) -> Vec<String> {
    // One byte at a time, so that nothing relies on where a read ends.
    let mut reader = RowReader::new(format, &keys(), Trickle(text));
    let mut found = Vec::new();
    loop {
        match reader.next_row() {
            Ok(None) => return found,
            Ok(Some(Row { item: Ok(item), .. })) => found.push(json(&item)),
            Ok(Some(Row { item: Err(error), .. })) => {
                found.push(format!("error: {}", error.message()));
            }
            Err(Fault::Malformed(reason)) => {
                found.push(format!("fault: {reason}"));
                return found;
            }
            Err(Fault::Io(error)) => panic!("{error}"),
        }
    }
}

struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(1);
        self.0.read(&mut buffer[..room])
    }
}

fn json(item: &Item) -> String {
    let mut out = Vec::new();
    write_item(item, &mut out);
    String::from_utf8(out).unwrap()
}

fn check(format: &InputFormat, cases: &[(&str, &[&str])]) {
    for (text, expected) in cases {
        let found = rows(format, text.as_bytes());
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for (found, expected) in found.iter().zip(*expected) {
            match expected.strip_suffix('…') {
                Some(start) => assert!(found.starts_with(start), "{text}: {found}"),
                None => assert_eq!(found, expected, "{text}"),
            }
        }
    }
}

#[test]
fn json_lines() {
    check(
        &InputFormat::DynamoDbJson,
        &[
            ("", &[]),
            ("\n\r\n  \n", &[]),
            (r#"{"Item":{"a":{"S":"x"}}}"#, &[r#"{"a":{"S":"x"}}"#]),
            (
                "{\"Item\":{\"a\":{\"N\":\"1.0\"}}}\r\n\n{\"Item\":{}}\n",
                &[r#"{"a":{"N":"1"}}"#, "{}"],
            ),
            ("{\"a\":1}\n[]\n{\"Item\":{}}", &["error: A row must…", "error: A row must…", "{}"]),
            ("{\"Item\":{\"a\":{\"N\":\"x\"}}}\n{\"Item\":{}}", &["error: The parameter…", "{}"]),
            // AWS reads nothing behind a line that is not JSON: of ten lines with a broken sixth, it counted six.
            ("{\"Item\":{}}\n{\"Item\n{\"Item\":{}}", &["{}", "fault: a line is not JSON"]),
        ],
    );
}

#[test]
fn csv_rows() {
    check(
        &InputFormat::Csv(CsvOptions::default()),
        &[
            ("", &[]),
            ("id,value\n", &[]),
            ("id,v\n1,x\n\n2,\n", &[r#"{"id":{"N":"1"},"v":{"S":"x"}}"#, r#"{"id":{"N":"2"}}"#]),
            (
                "\u{feff}id,v\r\n1,\"x,\r\ny\"\r\n",
                &["{\"id\":{\"N\":\"1\"},\"v\":{\"S\":\"x,\\r\\ny\"}}"],
            ),
            // AWS's examples of quotes: the first is refused, the second is not.
            (
                "a,value\n\"123\",Women's Full \"Length\" Dress",
                &["fault: a quote stands inside a value…"],
            ),
            (
                "a,value\n\"\"\"123\"\"\",\"Women's Full \"\"Length\"\" Dress\"",
                &[r#"{"a":{"S":"\"123\""},"value":{"S":"Women's Full \"Length\" Dress"}}"#],
            ),
            ("id,bin\n7,AQI=\n8,?\n", &[r#"{"bin":{"B":"AQI="},"id":{"N":"7"}}"#, "error: …"]),
            (
                "id,v\nx,1\n3,true",
                &[
                    "error: The parameter cannot be converted…",
                    r#"{"id":{"N":"3"},"v":{"S":"true"}}"#,
                ],
            ),
            (
                "id,v\n1\n2,a,b\n3,c",
                &[
                    "error: The row has 1 values…",
                    "error: The row has 3…",
                    r#"{"id":{"N":"3"},"v":{"S":"c"}}"#,
                ],
            ),
            ("id,v\n1,\"x", &["fault: a quote is not closed"]),
            ("id,v\n1,\"x\"y", &["fault: text follows…"]),
            ("id,,v\n", &["fault: column 2 of the header has no name"]),
            ("id,id\n", &["fault: the header has the column 'id' twice"]),
        ],
    );
    let header = Some(vec!["id".into(), "v".into()]);
    check(
        &InputFormat::Csv(CsvOptions { delimiter: b';', header }),
        &[(
            "1;a,b\n2;c",
            &[r#"{"id":{"N":"1"},"v":{"S":"a,b"}}"#, r#"{"id":{"N":"2"},"v":{"S":"c"}}"#],
        )],
    );
    let tabs = CsvOptions { delimiter: b'\t', header: None };
    check(&InputFormat::Csv(tabs), &[("id\tv\n1\t \n", &[r#"{"id":{"N":"1"},"v":{"S":" "}}"#])]);
    assert_eq!(
        rows(&InputFormat::Csv(CsvOptions::default()), b"v\n\xff"),
        ["error: The row has a value that is not UTF-8"]
    );
}

const BOOK: &str = r#"{"Authors":{"SS":["Author1","Author2"]},"Dimensions":{"S":"8.5 x 11.0 x 1.5"},"ISBN":{"S":"333-3333333333"},"Id":{"N":"103"},"InPublication":{"BOOL":false},"PageCount":{"N":"600"},"Price":{"N":"2000"},"ProductCategory":{"S":"Book"},"Title":{"S":"Book 103 Title"}}"#;

const ION_BOOK: &str = r#"{Item:{Authors:$dynamodb_SS::["Author1","Author2"],Dimensions:"8.5 x 11.0 x 1.5",ISBN:"333-3333333333",Id:103.,InPublication:false,PageCount:6d2,Price:2d3,ProductCategory:"Book",Title:"Book 103 Title"}}"#;

#[test]
fn ion_of_the_documentation() {
    let line = format!("{ION_VERSION}{ION_BOOK}\n");
    let spread = line.replace(',', " ,\n\t").replace('{', "{\n");
    let list = format!("$ion_1_0\n[\n{ION_BOOK},\n{ION_BOOK}\n]\n");
    check(
        &InputFormat::Ion,
        &[
            (&line, &[BOOK]),
            (&format!("{line}{line}"), &[BOOK, BOOK]),
            (&spread, &[BOOK]),
            (&list, &[BOOK, BOOK]),
        ],
    );
    let item = item_of(BOOK.as_bytes()).unwrap();
    let mut out = ION_VERSION.as_bytes().to_vec();
    out.extend_from_slice(b"{Item:");
    write_ion_item(&item, &mut out);
    out.extend_from_slice(b"}\n");
    assert_eq!(String::from_utf8(out).unwrap(), line);
}

#[test]
fn ion_values() {
    let of = |value: &str| rows(&InputFormat::Ion, format!("{{Item:{{a:{value}}}}}").as_bytes());
    for (value, expected) in [
        (r#""x""#, r#"{"S":"x"}"#),
        (r#""\x41\u00e9\U0001F600\n\"\/\'\?\0""#, "{\"S\":\"Aé😀\\n\\\"/'?\\u0000\"}"),
        (r#""\uD83D\uDE00""#, r#"{"S":"😀"}"#),
        ("\"a\\\nb\"", r#"{"S":"ab"}"#),
        ("'''a''' // and\n '''b'''", r#"{"S":"ab"}"#),
        ("'''a'b''c'''", r#"{"S":"a'b''c"}"#),
        ("true", r#"{"BOOL":true}"#),
        ("null", r#"{"NULL":true}"#),
        ("null.string", r#"{"NULL":true}"#),
        ("0", r#"{"N":"0"}"#),
        ("-1_000", r#"{"N":"-1000"}"#),
        ("0xFf", r#"{"N":"255"}"#),
        ("-0b101", r#"{"N":"-5"}"#),
        ("12.50", r#"{"N":"12.5"}"#),
        ("1.5d-3", r#"{"N":"0.0015"}"#),
        ("-6D2", r#"{"N":"-600"}"#),
        ("{{ AQ I= }}", r#"{"B":"AQI="}"#),
        ("{{}}", r#"{"B":""}"#),
        ("[1,[],{}]", r#"{"L":[{"N":"1"},{"L":[]},{"M":{}}]}"#),
        ("[1,]", r#"{"L":[{"N":"1"}]}"#),
        ("{'b c':1,\"d\":2 /* x */}", r#"{"M":{"b c":{"N":"1"},"d":{"N":"2"}}}"#),
        ("$dynamodb_NS::[1.,2d0]", r#"{"NS":["1","2"]}"#),
        ("'$dynamodb_BS' :: [{{AQ==}}]", r#"{"BS":["AQ=="]}"#),
    ] {
        assert_eq!(of(value), [format!("{{\"a\":{expected}}}")], "{value}");
    }
    for (value, reason) in [
        ("symbol", "the symbol 'symbol'"),
        ("1e5", "a float"),
        ("nan", "a float"),
        ("-inf", "a float"),
        ("2007-02-23T12:14Z", "a timestamp"),
        ("2007T", "a timestamp"),
        ("{{ \"clob\" }}", "a clob"),
        ("(+ 1 (a b))", "an S-expression"),
        ("x::1", "the annotation 'x'"),
        ("$dynamodb_SS::\"x\"", "an annotated value that is no list"),
        ("$dynamodb_SS::[1]", "a member that is no SS's"),
        ("$dynamodb_SS::[]", "empty"),
        ("$dynamodb_SS::[\"x\",\"x\"]", "duplicates"),
        ("1d200", "Number overflow"),
    ] {
        let found = of(value);
        assert!(found.len() == 1 && found[0].starts_with("error: "), "{value}: {found:?}");
        assert!(found[0].contains(reason), "{value}: {found:?}");
    }
}

#[test]
fn what_is_not_ion_ends_the_object() {
    let ok = "{Item:{}}";
    for (text, reason) in [
        ("{Item:{}", "a comma or the end"),
        ("{Item {}}", "a colon"),
        ("[{Item:{}},", "a list is not closed"),
        ("{Item:{a:\"x}}", "a string is not closed"),
        ("{Item:{a:12x}}", "neither a number"),
        ("/* {Item:{}}", "a comment is not closed"),
        ("$ion_1_1 {}", "$ion_1_1 is not read"),
        ("$ion_symbol_table::{symbols:[\"a\"]}", "a symbol table"),
        ("}", "a value"),
    ] {
        let found = rows(&InputFormat::Ion, format!("{ok}\n{text}").as_bytes());
        let last = found.last().unwrap();
        assert!(last.starts_with("fault: ") && last.contains(reason), "{text}: {found:?}");
        assert_eq!(found[0], "{}", "what came before counts");
    }
    assert!(rows(&InputFormat::Ion, &[0xE0, 0x01, 0x00, 0xEA, 0xD3])[0].contains("binary Ion"));
    let deep = format!("{{Item:{{a:{}{}}}}}", "[".repeat(40), "]".repeat(40));
    assert!(rows(&InputFormat::Ion, deep.as_bytes())[0].contains("Nesting Levels"));
    let deeper = "[".repeat(1_000_000);
    assert!(rows(&InputFormat::Ion, deeper.as_bytes())[0].contains("the end stands where"));
}

#[test]
fn one_bad_row_is_one_error_and_hides_no_other() {
    let long = "x".repeat(5 << 20);
    let deep = |open: &str, close: &str, levels| {
        format!("{}{}", open.repeat(levels), close.repeat(levels))
    };
    let (lists, maps) = (deep("[", "]", 5000), deep("{a:", "}", 300).replace(":}", ":1}"));
    let json_deep = format!("{{\"a\":{}}}", deep("{\"L\":[", "]}", 5000));
    let digits = "f".repeat(40);
    let ion = |value: &str| format!("{{Item:{{}}}} {{Item:{{a:{value}}}}} {{Item:{{}}}}");
    let json = |item: &str| format!("{{\"Item\":{{}}}}\n{{\"Item\":{item}}}\n{{\"Item\":{{}}}}\n");
    let csv = |value: &str| format!("pk,a\np,1\n{value},x\np,1\n").into_bytes();
    let csv_format = || InputFormat::Csv(CsvOptions::default());
    let mut not_utf8 = csv("?");
    let position = not_utf8.iter().position(|byte| *byte == b'?').unwrap();
    not_utf8[position] = 0xFF;
    let cases = [
        (InputFormat::Ion, ion("{{?}}").into_bytes(), "base64"),
        (InputFormat::Ion, ion("{{A}}").into_bytes(), "base64"),
        (InputFormat::Ion, ion("\"\\q\"").into_bytes(), "an escape is unknown"),
        (InputFormat::Ion, ion("\"\\u12\"").into_bytes(), "lacks digits"),
        (InputFormat::Ion, ion("\"\\uD800\"").into_bytes(), "no Unicode character"),
        (InputFormat::Ion, ion(&format!("0x{digits}")).into_bytes(), "more than 38 digits"),
        (InputFormat::Ion, ion(&lists).into_bytes(), "64 deep"),
        (InputFormat::Ion, ion(&maps).into_bytes(), "64 deep"),
        (InputFormat::Ion, ion(&format!("\"{long}\"")).into_bytes(), "4 MB"),
        (InputFormat::Ion, ion(&format!("[{}]", "1,".repeat(3 << 20))).into_bytes(), "4 MB"),
        (InputFormat::DynamoDbJson, json(&json_deep).into_bytes(), ""),
        (InputFormat::DynamoDbJson, json("{\"a\":{\"S\":\"\\ud800\"}}").into_bytes(), ""),
        (
            InputFormat::DynamoDbJson,
            json(&format!("{{\"a\":{{\"S\":\"{long}\"}}}}")).into_bytes(),
            "4 MB",
        ),
        (csv_format(), csv(&long), "4 MB"),
        (csv_format(), csv(&format!("\"{long}\"")), "4 MB"),
        (csv_format(), not_utf8, "not UTF-8"),
    ];
    for (format, object, reason) in cases {
        let found = rows(&format, &object);
        let shown: Vec<&str> = found.iter().map(|row| row.get(..80).unwrap_or(row)).collect();
        assert_eq!(found.len(), 3, "{format:?} {reason}: {shown:?}");
        assert!(found[1].starts_with("error: ") && found[1].contains(reason), "{shown:?}");
        assert_eq!(found[0], found[2], "{shown:?}");
        assert!(!found[0].starts_with("error"), "{shown:?}");
    }
}

#[test]
fn a_row_has_a_limit() {
    // Much longer than the limit, and without an end: it is neither held nor read for ever.
    let endless = |byte: u8| io::repeat(byte).take(1 << 40);
    for (format, byte) in [
        (InputFormat::DynamoDbJson, b'{'),
        (InputFormat::Ion, b'\t'),
        (InputFormat::Ion, b'a'),
        (InputFormat::Csv(CsvOptions::default()), b'x'),
        (InputFormat::Csv(CsvOptions::default()), b','),
    ] {
        let mut reader = RowReader::new(&format, &keys(), endless(byte));
        match reader.next_row() {
            Err(Fault::Malformed(reason)) => {
                assert!(reason.contains("64 MB"), "{format:?}: {reason}");
            }
            other => panic!("{format:?}: {other:?}"),
        }
    }
}

#[test]
fn numbers_as_decimals() {
    for (number, expected) in [
        ("0", "0."),
        ("103", "103."),
        ("600", "6d2"),
        ("-2000", "-2d3"),
        ("8.5", "8.5"),
        ("-0.001", "-0.001"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1d-7"),
        ("1E125", "1d125"),
        ("1E-130", "1d-130"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678."),
    ] {
        let mut out = Vec::new();
        write_ion_number(&Number::parse(number).unwrap(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn names_that_are_no_identifiers_stand_in_quotes() {
    let names = r#"{"$1":{"NULL":true},"1a":{"NULL":true},"a b":{"NULL":true},"a'b":{"NULL":true},"null":{"NULL":true},"x_$1":{"NULL":true},"é":{"NULL":true}}"#;
    let mut out = Vec::new();
    write_ion_item(&item_of(names.as_bytes()).unwrap(), &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text,
        r"{'$1':null,'1a':null,'a b':null,'a\'b':null,'null':null,x_$1:null,'é':null}"
    );
    assert_eq!(rows(&InputFormat::Ion, format!("{{Item:{text}}}").as_bytes()), [names]);
}

/// Items of every type, with names and strings that are special to Ion.
fn items() -> impl Strategy<Value = Item> {
    let text = || "[a-c'\"\\\\ {}\\[\\]:/$\\n\\r\\t\\x00é😀]{0,8}".prop_map(Str::from);
    let number = || {
        (any::<i64>(), -40i32..40)
            .prop_map(|(digits, exponent)| Number::parse(&format!("{digits}e{exponent}")).unwrap())
    };
    let leaf = prop_oneof![
        text().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        any::<Vec<u8>>().prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        prop::collection::btree_set(text().prop_map(String::from), 1..4)
            .prop_map(|set| AttributeValue::string_set(set.into_iter().map(Str::from).collect())),
        number().prop_map(|one| AttributeValue::number_set(vec![one])),
        any::<Vec<u8>>().prop_map(|one| AttributeValue::binary_set(vec![one])),
    ];
    let name = || "[a-z_$'0-9 é\\n]{1,6}".prop_map(Str::from);
    let map = move |value| prop::collection::btree_map(name().prop_map(String::from), value, 0..4);
    let item = |map: std::collections::BTreeMap<String, AttributeValue>| -> Item {
        map.into_iter().map(|(name, value)| (Str::from(name), value)).collect()
    };
    let value = leaf.prop_recursive(4, 20, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            map(inner).prop_map(move |found| AttributeValue::M(item(found))),
        ]
    });
    map(value.boxed()).prop_map(item)
}

proptest! {
    #[test]
    fn items_come_back_from_ion(item in items()) {
        let mut out = b"$ion_1_0 {Item:".to_vec();
        write_ion_item(&item, &mut out);
        out.push(b'}');
        prop_assert!(!out.contains(&b'\n'), "a row is a line");
        prop_assert_eq!(rows(&InputFormat::Ion, &out), [json(&item)]);
    }

    #[test]
    fn no_bytes_stop_a_reader(bytes: Vec<u8>) {
        for format in [InputFormat::Ion, InputFormat::Csv(CsvOptions::default()), InputFormat::DynamoDbJson] {
            rows(&format, &bytes);
        }
    }
}
