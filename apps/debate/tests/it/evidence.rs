//! Tests of the sample evidence. General tests of folders are in `documents`.

use crate::rule_model_fixtures::sample;

/// R-DEB-41, R-DEB-44: passages are found by their words in any inflection, and named by file and heading.
#[test]
fn passages_are_found_by_their_words() {
    let evidence = sample();
    assert_eq!((evidence.documents(), evidence.skipped()), (5, Vec::new()));
    for (query, expected) in [
        ("Should AI be regulated?", "ai-regulation.md#"),
        ("working remotely", "remote-work.md#"),
        ("uniform", "school-uniforms.md#"),
        ("Chernobyl", "nuclear-energy.md#risks"),
        ("dividend of Alaska", "basic-income.md#benefits"),
    ] {
        let passages = evidence.passages(query, 3);
        assert!(passages.first().is_some_and(|passage| passage.source.starts_with(expected)), "{query}: {passages:#?}");
        assert!(passages.len() <= 3);
    }
    assert!(evidence.passages("zebra", 3).is_empty());
    assert!(evidence.passages("uniform", 0).is_empty());
}
