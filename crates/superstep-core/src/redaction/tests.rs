//! Tests of redaction: redacted texts, unchanged texts, and equality of the results with and without the prefilter.

mod property;

use serde_json::json;

use super::*;
use crate::error::ErrorCode;
use crate::message::{Content, ContentPart, Message, ToolCall};
use crate::tool::{ToolError, ToolOutput};

const KEY: &str =
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq8\nq83hfla+/92s==\n-----END RSA PRIVATE KEY-----";

/// Returns texts with one secret, and their expected redaction.
fn rows() -> Vec<Row> {
    let mut rows = common_rows();
    rows.extend(rows_in_other_texts());
    rows.extend(rare_rows());
    rows
}

type Row = (String, &'static str);

fn row(text: &str, redacted: &'static str) -> Row {
    (text.to_owned(), redacted)
}

fn common_rows() -> Vec<Row> {
    vec![
        row("write to ada@example.com.", "write to [REDACTED:mail]."),
        row("<j\u{fc}rgen.o'neil+x@mail.example.co.uk>", "<[REDACTED:mail]>"),
        row("\u{8054}\u{7cfb}bob@example.com", "\u{8054}\u{7cfb}[REDACTED:mail]"),
        row("call +49 171 1234567 now", "call [REDACTED:phone] now"),
        row("call +1 (415) 555-0132", "call [REDACTED:phone]"),
        row("+49 (0) 30 901820", "[REDACTED:phone]"),
        row("tel:+442079460958", "tel:[REDACTED:phone]"),
        row("(415) 555-0132", "[REDACTED:phone]"),
        row("415-555-0132, 7 pm", "[REDACTED:phone], 7 pm"),
        row("1-415-555-0132", "[REDACTED:phone]"),
        row("020 7946 0958", "[REDACTED:phone]"),
        row("030/1234567", "[REDACTED:phone]"),
        row("06 12 34 56 78", "[REDACTED:phone]"),
        row("card 4111 1111 1111 1111 12/27", "card [REDACTED:card] 12/27"),
        row("4111111111111111,12", "[REDACTED:card],12"),
        row("3782-822463-10005", "[REDACTED:card]"),
        row("5555-5555-5555-4444", "[REDACTED:card]"),
        row("DE89 3704 0044 0532 0130 00 BIC", "[REDACTED:iban] BIC"),
        row("GB29NWBK60161331926819", "[REDACTED:iban]"),
        row("NO9386011117947", "[REDACTED:iban]"),
        row("key sk-abcdefghij0123456789abcdefghij0123456789abcdefgh", "key [REDACTED:api_key]"),
        row("sk-ant-api03-AbCd_efGh-0123456789", "[REDACTED:api_key]"),
        row("ghp_0123456789abcdefABCDEF0123456789abcd", "[REDACTED:api_key]"),
        row("github_pat_11ABCDEFG0abcdefghij_klmnop", "[REDACTED:api_key]"),
        row("glpat-abcdefgh12345678-_xy.", "[REDACTED:api_key]."),
        row("xoxb-123456789012-abcdefABCDEF", "[REDACTED:api_key]"),
        row("AKIAIOSFODNN7EXAMPLE", "[REDACTED:api_key]"),
        row("AIzaSyA1234567890abcdefghijklmnopqrstuvw", "[REDACTED:api_key]"),
        row("hf_abcdefghijklmnopqrstuvwxyz012345678", "[REDACTED:api_key]"),
        row("npm_abcdefghijklmnopqrstuvwxyz0123456789", "[REDACTED:api_key]"),
        row("sk_live_abcdefgh12345678ijklmnop", "[REDACTED:api_key]"),
        row("SG.abcdefghijklmnopqrstuv.0123456789abcdefghij", "[REDACTED:api_key]"),
        row("Authorization: Bearer abcDEF123.456-789~0", "Authorization: Bearer [REDACTED:bearer]"),
        row("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "[REDACTED:jwt]"),
        row("postgres://ada:s3cret@db:5432/x", "postgres://ada:[REDACTED:url_password]@db:5432/x"),
        row("redis://:p@ss@cache", "redis://:[REDACTED:url_password]@cache"),
        (format!("the key:\n{KEY}\nthat was it"), "the key:\n[REDACTED:private_key]\nthat was it"),
        (format!("{}\ncut here, sorry", &KEY[..60]), "[REDACTED:private_key]\ncut here, sorry"),
        (KEY.replace('\n', "\\n"), "[REDACTED:private_key]"),
    ]
}

/// Returns texts with line numbers, quotes, escapes and colours around the secret.
fn rows_in_other_texts() -> Vec<Row> {
    vec![
        (KEY.replace('\n', "\n   12\t"), "[REDACTED:private_key]"),
        (KEY.replace('\n', "\n> "), "[REDACTED:private_key]"),
        (KEY.replace('\n', "\\n\" +\n  \""), "[REDACTED:private_key]"),
        row("-----BEGIN PRIVATE KEY----- is how it begins", "[REDACTED:private_key] is how it begins"),
        row(r#"{"k":"-----BEGIN PRIVATE KEY-----\nMIIEpA","n":"x"}"#, r#"{"k":"[REDACTED:private_key]","n":"x"}"#),
        row(r"line\n4111111111111111", r"line\n[REDACTED:card]"),
        row(r"line\r\n+49 171 1234567", r"line\r\n[REDACTED:phone]"),
        row(r"a\tBearer abcDEF123.456-789~0", r"a\tBearer [REDACTED:bearer]"),
        row(r"a\u000aghp_0123456789abcdefABCDEF0123456789abcd", r"a\u000a[REDACTED:api_key]"),
        row(r"a\x0aDE89370400440532013000", r"a\x0a[REDACTED:iban]"),
        row(r"a\feyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", r"a\f[REDACTED:jwt]"),
        row("\u{1b}[1;31m4111111111111111\u{1b}[0m", "\u{1b}[1;31m[REDACTED:card]\u{1b}[0m"),
        row(r"\u001b[31mada@example.com", r"\u001b[31m[REDACTED:mail]"),
        row("a%204111111111111111", "a%20[REDACTED:card]"),
        row("to=%0D%0Aada@example.com", "to=%0D%0A[REDACTED:mail]"),
        row(r"hi\nada@example.com", r"hi\n[REDACTED:mail]"),
        row(r"https:\/\/u:pw@host\/x", r"https:\/\/u:[REDACTED:url_password]@host\/x"),
    ]
}

/// Returns texts with rare forms, countries and services.
fn rare_rows() -> Vec<Row> {
    vec![
        row("postgres://ada:s3/cr3t@db/x", "postgres://ada:[REDACTED:url_password]@db/x"),
        row("bob@163.com", "[REDACTED:mail]"),
        row("ada@example.com.png", "[REDACTED:mail].png"),
        row("bob@example.com:hello", "[REDACTED:mail]:hello"),
        row("session_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "session_[REDACTED:jwt]"),
        row("eyJhbGciOiJkaXIifQ..aXYxMjM0NQ.Y2lwaGVy.dGFn", "[REDACTED:jwt]"),
        row("VA59001123000012345678", "[REDACTED:iban]"),
        row("VG96VPVG0000012345678901", "[REDACTED:iban]"),
        row("XK051212012345678906", "[REDACTED:iban]"),
        row("TL380080012345678910157", "[REDACTED:iban]"),
        row("DJ2100010000000154000100186", "[REDACTED:iban]"),
        row("RU0304452522540817810538091310419", "[REDACTED:iban]"),
        row("BI4210000100010000332045181", "[REDACTED:iban]"),
        row("OM810180000001299123456", "[REDACTED:iban]"),
        row("YE15CBYE0001018861234567891234", "[REDACTED:iban]"),
        row("HN88CABF00000000000250005469", "[REDACTED:iban]"),
        row("hvs.CAESIJabcdefghijklmnopqrstuvwxyzABCDEFGHIJK", "[REDACTED:api_key]"),
        row("dapi0123456789abcdef0123456789abcdef", "[REDACTED:api_key]"),
        row("ATATT3xFfGFabcdefghijklmnopqrstuvwxyzABCDEFGHIJK", "[REDACTED:api_key]"),
        row("glsa_abcdefghijklmnop01234567_0a1b2c3d", "[REDACTED:api_key]"),
        row("dor_v1_0123456789abcdef0123456789abcdef", "[REDACTED:api_key]"),
        row("PMAK-0123456789abcdef01234567-0123456789abcdef", "[REDACTED:api_key]"),
        row("sbp_0123456789abcdef0123456789abcdef01234567", "[REDACTED:api_key]"),
    ]
}

/// R-FWK-91: every kind is found by its shape, alone and inside a long text, and replaced by its name.
#[test]
fn every_kind_is_replaced_by_its_name() {
    let redaction = Redaction::default();
    let filler = "nothing to see in these words, which go on and on. ".repeat(5);
    for (text, expected) in rows() {
        let mut counts = RedactionCounts::default();
        assert_eq!(redaction.redact_text_counted(&text, &mut counts), expected);
        assert_eq!(counts.total(), 1, "{text}");
        for shift in 0..70 {
            let long = format!("{} {text}\n{filler}", &filler[..filler.len() - shift]);
            let expected = format!("{} {expected}\n{filler}", &filler[..filler.len() - shift]);
            assert_eq!(redaction.redact_text(&long), expected, "moved by {shift}");
        }
    }
}

const PLAIN_DATA: &[&str] = &[
    "12345678",
    "1234567890",
    "4111111111111112",
    "0.4111111111111111",
    "1700000000000",
    "1700000000000000",
    "12345678901234567890123456789",
    "order 4929123456789013",
    "3.14159265358979",
    "-17",
    "1e10",
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-1234-1234-123456789012",
    "2026-11-16T01:34:52Z",
    "2026-11-16T01:34:52.123456+02:00",
    "2026-11-16 01:34:52",
    "01.02.2024 10:30",
    "01-02-2024",
    "$1,234,567.89",
    "1.234.567,89 EUR",
    "1 000 000",
    "12 345 678",
    "version 10.12.14",
    "192.168.100.100",
    "v1.2.3-rc.4",
    "d41d8cd98f00b204e9800998ecf8427e",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "978-3-16-148410-0",
    "4006381333931",
    "lodash@4.17.21",
    "@app.route",
    "a @ b",
    "user@localhost",
    "x@y",
    "task-list-of-a-long-name",
    "risk_live_trading",
    "sk-this-is-no-key",
    "the bearer of bad news arrives",
    "Bearer token",
    "https://example.com:8080/path@2",
    "http://[::1]:80",
    "DE00 1234 5678 9012 3456 78",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "eyJ is how they begin",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "+02:00",
    "a+12345678",
    "5 + 12345678",
    "[REDACTED:mail]",
    "[REDACTED:",
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    "10 20 30 40 50 60",
    "00:00:00",
    "80-120",
    "128 256 512 1024 2048",
    "200 512 1024",
    "01 02 03 04 05 06 07 08 09",
    "Cambridge, MA 02139-4307",
    "0644 10245",
    "415 055 0132",
    "+2026-11-16 01:34 fixed",
    "@@ -1 +1 @@\n-12345677\n+12345678",
    "logo@2x.png",
    "getty@tty1.service",
    "user@1000.service",
    "foo@1.0.0.Final",
    "git@github.com:org/repo.git",
    "ssh://git@github.com/org/repo.git",
    r"C:\new\temp\readme",
    r"one\ntwo\u000athree%20four",
    "eyJhbGciOiJkaXIifQ... and so on",
    "http://[::1]:80/a@b",
    "http://host/a:b@c",
    "",
];

/// R-FWK-91: numbers, ids, times, prices, versions, hashes and words that look like keys are not redacted.
#[test]
fn plain_data_is_not_redacted() {
    for text in PLAIN_DATA {
        assert_eq!(Redaction::default().redact_text(text), *text);
    }
}

/// R-FWK-91: custom patterns have their own names, and an invalid pattern is rejected.
#[test]
fn own_patterns_are_named_and_checked() {
    let redaction = Redaction::default().pattern("employee", r"E-\d{4}").unwrap();
    assert_eq!(redaction.redact_text("E-1234 and a@b.de"), "[REDACTED:employee] and [REDACTED:mail]");
    for (name, pattern, message) in [
        ("employee", "x", "duplicate pattern name"),
        ("mail", "x", "duplicate pattern name"),
        ("Employee", "x", "not a valid pattern name"),
        ("", "x", "not a valid pattern name"),
        ("open", "(", "not a valid regular expression"),
        ("empty", "x*", "matches the empty string"),
    ] {
        let error = redaction.clone().pattern(name, pattern).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid);
        assert!(error.message().contains(message), "{error}");
    }
    assert!(Redaction::empty().allow_pattern("[").is_err());
}

/// R-FWK-91: allowed kinds, values and patterns are not redacted.
#[test]
fn allowed_values_are_not_redacted() {
    let redaction = Redaction::default()
        .allow_kind(SecretKind::Phone)
        .allow_value("help@example.com")
        .allow_pattern(r".*@example\.org")
        .unwrap();
    let text = "415-555-0132 help@example.com a@example.org b@example.net";
    assert_eq!(redaction.redact_text(text), "415-555-0132 help@example.com a@example.org [REDACTED:mail]");
    assert_eq!(
        Redaction::empty().kind(SecretKind::Phone).redact_text("415-555-0132 a@b.de"),
        "[REDACTED:phone] a@b.de"
    );
}

/// R-FWK-91: in JSON, texts and keys are redacted, values at paths are replaced as a whole, and allowed fields
/// stay.
#[test]
fn json_is_redacted_by_text_and_by_path() {
    let redaction = Redaction::default().field("user.ssn").field("users.*.name").allow_field("from");
    let mut value = json!({
        "from": {"mail": "a@b.de"}, "user": {"ssn": [1, 2], "mail": "a@b.de"}, "users": [{"name": "Ada"}, {"name": null}],
        "a@b.de": 1, "c@d.de": 2, "card": 4111111111111111_u64, "count": 1234567890123_u64
    });
    let expected = json!({
        "from": {"mail": "a@b.de"}, "user": {"ssn": "[REDACTED:field]", "mail": "[REDACTED:mail]"},
        "users": [{"name": "[REDACTED:field]"}, {"name": null}],
        "[REDACTED:mail]": 1, "[REDACTED:mail] 2": 2, "card": "[REDACTED:card]", "count": 1234567890123_u64
    });
    let mut counts = RedactionCounts::default();
    redaction.redact_value(&mut value, &mut counts);
    assert_eq!(value, expected);
    assert_eq!((counts.get("mail"), counts.get("field"), counts.get("card"), counts.total()), (3, 2, 1, 6));
    redaction.redact_value(&mut value, &mut counts);
    assert_eq!((value, counts.total()), (expected, 6));
    let mut state = json!({"ssn": "1", "id": 4111111111111111_u64});
    redaction.redact_field_value("user", &mut state, &mut counts);
    assert_eq!(state, json!({"ssn": "[REDACTED:field]", "id": 4111111111111111_u64}));
}

/// R-FWK-91: a JSON text stays JSON, matches hidden by its escapes are found, and a text without matches is not
/// rewritten.
#[test]
fn a_text_that_is_json_stays_json() {
    let redaction = Redaction::default().pattern("ssn", r"\b\d{9}\b").unwrap();
    for (text, expected) in [
        (r#"{"log":"first line\n4111111111111111"}"#, r#"{"log":"first line\n[REDACTED:card]"}"#),
        (r#"{"t":"hi\nada@example.com"}"#, r#"{"t":"hi\n[REDACTED:mail]"}"#),
        (r#" {"card":4111111111111111}"#, r#"{"card":"[REDACTED:card]"}"#),
        (r#"[{"ssn":123456789}]"#, r#"[{"ssn":"[REDACTED:ssn]"}]"#),
        (r#"{"t":"ada\u0040example.com"}"#, r#"{"t":"[REDACTED:mail]"}"#),
        (r#"{"u":"https:\/\/u:pw@host"}"#, r#"{"u":"https://u:[REDACTED:url_password]@host"}"#),
        (r#"{"a":"{\"card\":4111111111111111}"}"#, r#"{"a":"{\"card\":\"[REDACTED:card]\"}"}"#),
        (r#"{"a":"ada@example.com","a":1}"#, r#"{"a":"[REDACTED:mail]","a":1}"#),
        (
            r#"["-----BEGIN PRIVATE KEY-----\n", "MIIEpA\n", "-----END PRIVATE KEY-----"]"#,
            r#"["[REDACTED:private_key]"]"#,
        ),
        (r#"{ "n": 1.50, "t": "\u00e4" }"#, r#"{ "n": 1.50, "t": "\u00e4" }"#),
        ("[not json, ada@example.com", "[not json, [REDACTED:mail]"),
    ] {
        let mut content = Content::Text(text.to_owned());
        redaction.redact_content(&mut content, &mut RedactionCounts::default());
        assert_eq!(content, Content::Text(expected.to_owned()));
    }
}

/// R-FWK-91: messages are redacted in their texts, parts, calls and metadata; tool results in all their fields.
#[test]
fn messages_and_results_are_redacted() {
    let redaction = Redaction::default().field("pin");
    let mut counts = RedactionCounts::default();
    let call = ToolCall::new("c1", "send", json!({"to": "a@b.de", "pin": 1}));
    let parts = vec![ContentPart::text("a@b.de"), ContentPart::Other(json!({"url": "http://u:pw@host"}))];
    let mut message = Message::assistant(parts).with_tool_calls([call]).with_metadata("seen", "a@b.de");
    redaction.redact_message(&mut message, &mut counts);
    let written = serde_json::to_string(&message).unwrap();
    assert!(!written.contains("a@b.de") && !written.contains("pw"), "{written}");
    assert_eq!((counts.get("mail"), counts.get("url_password"), counts.get("field")), (3, 1, 1));

    let mut output = ToolOutput::new(r#"{"pin": 12, "n": 1}"#).with_artifact(json!(["a@b.de"]));
    output.metadata.insert("who".to_owned(), json!("a@b.de"));
    redaction.redact_tool_output(&mut output, &mut counts);
    let Some(Content::Text(text)) = &output.content else { panic!("not a text") };
    assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), json!({"n": 1, "pin": "[REDACTED:field]"}));
    assert_eq!(output.artifact, Some(json!(["[REDACTED:mail]"])));
    assert_eq!(output.metadata["who"], "[REDACTED:mail]");
    let mut error = ToolError::from(std::io::Error::other("no such user: a@b.de"));
    redaction.redact_tool_error(&mut error, &mut counts);
    assert_eq!(error.message, "no such user: [REDACTED:mail]");
    assert_eq!(error.cause.unwrap().to_string(), "no such user: [REDACTED:mail]");
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(std::io::Error::other("a@b.de"));
    let error = Error::new(ErrorCode::NodeFailed, "a@b.de").with_help("ask a@b.de").with_source(cause).with_node("n");
    let error = redaction.redact_error(error);
    assert!(!format!("{error} {error:?}").contains("a@b.de"), "{error:?}");
    assert_eq!((error.message(), error.location().node.as_deref()), ("[REDACTED:mail]", Some("n")));
}

/// R-FWK-91: streamed text is redacted like the whole, and only a possible beginning of a match is held.
#[test]
fn a_stream_holds_back_beginnings_only() {
    let mut stream = RedactionStream::new(Redaction::default());
    assert_eq!(stream.push("Hello wor"), "Hello ");
    assert_eq!(stream.push("ld, "), "world, ");
    assert_eq!(stream.push("4111 1111 "), "");
    assert_eq!(stream.push("1111 1111 is"), "");
    assert_eq!(stream.push(" it. "), "[REDACTED:card] is it. ");
    assert_eq!(stream.push("Bearer "), "");
    assert_eq!(stream.push("abcdefgh12345678 x"), "");
    assert_eq!(stream.push(" y"), "Bearer [REDACTED:bearer] x ");
    assert_eq!(stream.finish(), "y");
    assert_eq!(stream.counts().total(), 2);
    let pieces: String =
        KEY.as_bytes().chunks(7).map(|piece| stream.push(std::str::from_utf8(piece).unwrap())).collect();
    assert_eq!(pieces + &stream.finish(), "[REDACTED:private_key]");
    for (text, expected) in rows() {
        for length in 1..6 {
            let mut pieces = text.chars().collect::<Vec<_>>();
            let mut out = String::new();
            while !pieces.is_empty() {
                let piece: String = pieces.drain(..length.min(pieces.len())).collect();
                out += &stream.push(&piece);
            }
            assert_eq!(out + &stream.finish(), expected, "in pieces of {length}");
        }
    }
    let list = "128 256 512 1024 0171 1234567 ".repeat(40) + "x 415 555 0132 end";
    let pieces: String = list.as_bytes().chunks(9).map(|p| stream.push(std::str::from_utf8(p).unwrap())).collect();
    assert_eq!(pieces + &stream.finish(), list.replace("415 555 0132", "[REDACTED:phone]"));
    let endless: String = (0..5_000).map(|_| stream.push("1 ")).collect();
    assert!(endless.len() > 9_500, "held back {}", 10_000 - endless.len());
}

/// R-FWK-91: ten megabytes of apparent beginnings take time linear in their length.
#[test]
fn long_texts_take_linear_time() {
    let redaction = Redaction::default();
    let units = [
        "-----BEGIN PRIVATE KEY-----",
        "a@",
        "+1 ",
        "eyJ-",
        "eyJaaaaaaaa.",
        "http://a:b@",
        "DE89 ",
        "4111 ",
        "sk-",
        "Bearer ",
        "_eyJ",
        "http://a:b/",
        "%20",
        "-----BEGIN PRIVATE KEY------",
    ];
    for unit in units {
        let text = unit.repeat(400_000 / unit.len());
        let redacted = redaction.redact_text(&text).into_owned();
        assert_eq!(redaction.redact_text(&redacted), redacted);
    }
}
