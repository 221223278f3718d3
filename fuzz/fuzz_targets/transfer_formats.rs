//! Rows of Ion, CSV and JSON: no bytes stop a reader, and an item that was read comes back from Ion.

#![no_main]

use keyloom_api::transfers::format::{CsvOptions, InputFormat, RowReader, write_ion_item};
use keyloom_core::AttributeType;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let format = match choice % 4 {
        0 => InputFormat::DynamoDbJson,
        1 => InputFormat::Csv(CsvOptions::default()),
        2 => InputFormat::Csv(CsvOptions { delimiter: b'|', header: Some(vec!["p".into(), "v".into()]) }),
        _ => InputFormat::Ion,
    };
    let keys = vec![("p".into(), AttributeType::N), ("b".into(), AttributeType::B)];
    let mut rows = RowReader::new(&format, &keys, content);
    let mut bytes = 0;
    while let Ok(Some(row)) = rows.next_row() {
        bytes += row.bytes;
        assert!(row.bytes > 0 && bytes <= content.len() as u64, "rows are parts of the object");
        let Ok(item) = row.item else { continue };
        let mut text = b"$ion_1_0 {Item:".to_vec();
        write_ion_item(&item, &mut text);
        text.push(b'}');
        let again = RowReader::new(&InputFormat::Ion, &keys, text.as_slice()).next_row();
        let again = again.expect("it is Ion").expect("it has a row").item.expect("it is an item");
        assert_eq!(again, item, "{}", String::from_utf8_lossy(&text));
    }
});
