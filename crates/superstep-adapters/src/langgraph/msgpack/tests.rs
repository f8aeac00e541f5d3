//! Accepted and rejected input: hand-written values and arbitrary bytes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Encodes an extension with a payload of less than 256 bytes.
fn extension(code: u8, payload: &[u8]) -> Vec<u8> {
    [&[0xc7, payload.len() as u8, code][..], payload].concat()
}

/// Encodes a text of less than 32 bytes.
fn text(text: &str) -> Vec<u8> {
    [&[0xa0 | text.len() as u8][..], text.as_bytes()].concat()
}

fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [vec![0x90 | items.len() as u8], items.concat()].concat()
}

/// R-NFR-16b: an extension that names a function is data: the result is its argument or an error, and nothing is
/// executed.
#[test]
fn extensions_that_name_functions_are_not_executed() {
    let encode = |code: u8, argument: Vec<u8>| extension(code, &tuple(&[text("os"), text("system"), argument]));
    assert_eq!(read(&encode(0, text("touch /tmp/x"))).unwrap(), json!("touch /tmp/x"));
    assert_eq!(read(&encode(1, tuple(&[text("touch /tmp/x")]))).unwrap(), json!(["touch /tmp/x"]));
    let arguments = [&[0x81][..], &text("command"), &text("true")].concat();
    assert_eq!(read(&encode(2, arguments.clone())).unwrap(), json!({ "command": "true" }));
    assert_eq!(read(&encode(5, arguments)).unwrap(), json!({ "command": "true" }));
    let method = tuple(&[text("os"), text("system"), text("true"), text("__call__")]);
    assert_eq!(read(&extension(3, &method)).unwrap(), json!("true"));
    assert_eq!(read(&extension(9, &[0xc0])).unwrap_err(), "unknown extension 9");
    assert_eq!(read(&extension(0, &[0xc0])).unwrap_err(), "extension 0 has no module, name and argument");
}

#[test]
fn arrays_of_numpy_are_lists_in_lists() {
    let array = |kind: &str, shape: &[u8], order: &str, bytes: &[u8]| {
        let shape: Vec<Vec<u8>> = shape.iter().map(|length| vec![*length]).collect();
        let bytes = [&[0xc4, bytes.len() as u8][..], bytes].concat();
        read(&extension(6, &tuple(&[text(kind), tuple(&shape), text(order), bytes])))
    };
    assert_eq!(array("<i2", &[2, 2], "C", &[1, 0, 2, 0, 3, 0, 255, 255]).unwrap(), json!([[1, 2], [3, -1]]));
    assert_eq!(array("<i2", &[2, 2], "F", &[1, 0, 2, 0, 3, 0, 4, 0]).unwrap(), json!([[1, 3], [2, 4]]));
    assert_eq!(array(">u2", &[1], "C", &[1, 0]).unwrap(), json!([256]));
    assert_eq!(array("|b1", &[2], "C", &[1, 0]).unwrap(), json!([true, false]));
    assert_eq!(array("<f8", &[], "C", &1.5_f64.to_le_bytes()).unwrap(), json!(1.5));
    assert_eq!(array("<f4", &[2, 0], "C", &[]).unwrap(), json!([[], []]));
    assert_eq!(array("<i2", &[3], "C", &[1, 0]).unwrap_err(), "a numpy array has 2 bytes, but its shape requires 6");
    assert!(
        array("<U4", &[1], "C", &[0; 16])
            .unwrap_err()
            .starts_with("a numpy array has the unsupported element type `<U4`")
    );
    assert!(array("<f8", &[127, 127, 127, 127, 127, 127, 127, 127, 127, 127], "C", &[]).is_err());
}

/// R-NFR-16b: small input that would expand to very large values is rejected.
#[test]
fn values_that_would_grow_without_bound_are_rejected() {
    let nested = [vec![0x81; 40], vec![0xc0; 41]].concat();
    assert_eq!(read(&nested).unwrap_err(), "a map key is a map or contains one");
    let shape = [vec![0xdd, 0, 1, 0x86, 0xa0], vec![1; 100_000]].concat();
    let array = [vec![0x94], text("|u1"), shape, text("C"), vec![0xc4, 1, 7]].concat();
    let length = u32::try_from(array.len()).unwrap().to_be_bytes();
    let bytes = [&[0xc9][..], &length, &[6], &array].concat();
    assert_eq!(read(&bytes).unwrap_err(), "a numpy array has 100000 dimensions");
}

#[test]
fn length_prefix_does_not_allocate() {
    assert_eq!(read(&[0xdd, 0xff, 0xff, 0xff, 0xff]).unwrap_err(), "unexpected end of data");
    assert_eq!(read(&[0xdb, 0xff, 0xff, 0xff, 0xff, b'a']).unwrap_err(), "unexpected end of data");
    assert_eq!(read(&[0xc0, 0xc0]).unwrap_err(), "1 unexpected bytes after the value");
    let deep = [vec![0x91; 5_000], vec![0xc0]].concat();
    assert_eq!(read(&deep).unwrap_err(), "values exceed the maximum depth of 100");
    let same = [&[0x82, 0x01, 0xc0][..], &text("1"), &[0xc0]].concat();
    assert_eq!(read(&same).unwrap_err(), "duplicate map key `1`");
}

/// Generates bytes that resemble a message more than random bytes do.
fn message_bytes() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(vec![0x91]),
        Just(vec![0x93]),
        Just(vec![0x82]),
        Just(vec![0xc7, 20, 0]),
        (0..8_u8).prop_map(|code| vec![0xc7, 30, code]),
        Just(text("datetime")),
        Just(text("timedelta")),
        Just(text("langchain_core.messages.ai")),
        Just(text("AIMessage")),
        Just(text("<f8")),
        any::<u8>().prop_map(|byte| vec![byte]),
        any::<i64>().prop_map(|number| [&[0xd3][..], &number.to_be_bytes()].concat()),
    ];
    prop::collection::vec(token, 0..30).prop_map(|tokens| tokens.concat())
}

proptest! {
    /// R-NFR-16b: no input makes the reader panic, and every decoded value can be stored.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), message_bytes()]) {
        for value in (0..8).filter_map(|code| decode_extension(code, &bytes, 0).ok()).chain(read(&bytes)) {
            let json = serde_json::to_vec(&value)?;
            prop_assert_eq!(serde_json::from_slice::<Value>(&json)?, value, "a store can keep what was read");
        }
    }
}
