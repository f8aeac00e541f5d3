//! Property tests with random texts that contain secrets.

use proptest::prelude::*;

use super::super::scan::{find, find_everywhere};
use super::super::*;
use super::rows;

/// Generates a part of a text: words, digits, characters that trigger the prefilter, and secrets.
fn piece() -> impl Strategy<Value = String> {
    let secrets: Vec<String> = rows().into_iter().map(|(text, _)| text).collect();
    prop_oneof![
        4 => "[a-zA-Z ]{0,40}",
        2 => "[0-9]{1,80}",
        2 => "[0-9 .+()-]{0,30}",
        1 => "[a-z\u{e4}\u{20ac}\u{8054}@:/._-]{0,12}",
        1 => "(sk-|eyJ|Bearer |AKIA|DE89|-----BEGIN |@|://|\\[REDACTED:mail\\])[A-Za-z0-9.]{0,30}",
        2 => prop::sample::select(secrets),
        2 => prop::sample::select(vec!["\n", " ", "x", "\\n", "\\u000a", "%20", "\u{1b}[31m", "\\"]).prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// R-FWK-91: the ranges skipped by the prefilter contain no match.
    #[test]
    fn the_prefilter_skips_no_match(text in text()) {
        let kinds = Redaction::default().0.kinds;
        prop_assert_eq!(find(&text, kinds), find_everywhere(&text, kinds));
    }

    /// R-FWK-91: redacting twice changes nothing, and the number of added markers equals the count.
    #[test]
    fn redacting_twice_changes_nothing(text in text()) {
        let redaction = Redaction::default().pattern("own", "x[a-f]").unwrap();
        let mut counts = RedactionCounts::default();
        let once = redaction.redact_text_counted(&text, &mut counts).into_owned();
        let markers = |text: &str| SecretKind::ALL.iter().map(|kind| kind.name()).chain(["own"])
            .map(|name| text.matches(&format!("[REDACTED:{name}]")).count() as u64).sum::<u64>();
        prop_assert_eq!(markers(&once), markers(&text) + counts.total());
        let twice = redaction.redact_text_counted(&once, &mut counts).into_owned();
        prop_assert_eq!(once, twice);
    }

    /// R-FWK-91: streamed text is redacted like the whole text.
    #[test]
    fn streamed_text_is_redacted_like_complete_text(
        text in text(), cuts in prop::collection::vec(1_usize..40, 1..60),
    ) {
        let redaction = Redaction::default();
        let mut stream = RedactionStream::new(redaction.clone());
        let (mut out, mut rest) = (String::new(), text.as_str());
        for length in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, left) = rest.split_at(rest.ceil_char_boundary((*length).min(rest.len())));
            out += &stream.push(piece);
            rest = left;
        }
        out += &stream.finish();
        prop_assert_eq!(out, redaction.redact_text(&text));
    }
}
