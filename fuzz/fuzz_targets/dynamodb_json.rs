//! DynamoDB JSON: whatever bytes come in, reading gives a value or an error; what was read survives
//! writing and storing.

#![no_main]

use keyloom_core::image::{self, ImageRef};
use keyloom_core::json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The same bytes as a damaged store might hold them.
    if let Ok(view) = ImageRef::new(data) {
        let decoded = view.decode();
        let written = view.write_json(&mut Vec::new());
        assert!(decoded.is_err() || written.is_ok());
        let _ = view.get("a");
    }
    let Ok(document) = json::parse(data) else { return };
    let _ = json::value_from(&document);
    let Ok(item) = json::item_from(&document) else { return };
    json::shape::check_item(&document).expect("what has a meaning has the right shape");

    let mut text = Vec::new();
    json::write_item(&item, &mut text);
    let again = json::parse(&text).expect("we write JSON");
    assert_eq!(json::item_from(&again).expect("we write items"), item);

    let stored = image::encode(&item);
    let view = ImageRef::new(&stored).expect("we write images");
    assert_eq!(view.decode().expect("we write images"), item);
    let mut direct = Vec::new();
    view.write_json(&mut direct).expect("we write images");
    assert_eq!(direct, text);
});
