//! Text search: words, scores, and queries that would be code in a database.

use serde_json::{Value, json};

use super::{StoreFactory, keys, put_all, search_indices};
use crate::store::{Filter, IndexFields, LexicalEmbedder, MatchSource, PutOp, SearchMode, SearchOp};

fn query(text: &str) -> SearchOp {
    SearchOp::new("n").query(text)
}

/// A word finds the items that contain it, at any position, regardless of case.
pub async fn a_word_matches_items_that_contain_it(open: StoreFactory) {
    let (store, _) = open.open();
    let values = [
        json!("Green curry"),
        json!({ "food": ["rice", { "with": "GREEN beans" }] }),
        json!({ "green": "a key is not a text" }),
        json!("evergreen"),
        json!({ "count": 42 }),
    ];
    put_all(&store, &values).await;
    assert_eq!(search_indices(&store, query("green")).await, [0, 1]);
    assert_eq!(search_indices(&store, query("Curry!")).await, [0]);
    assert_eq!(search_indices(&store, query("42")).await, [4]);
    assert!(search_indices(&store, query("gree")).await.is_empty(), "a part of a word is no word");
}

/// Items with more of the words come first, and results contain their score and the method that computed it.
pub async fn more_words_come_first(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("red car"), json!("red fast car"), json!("red fast new car"), json!("blue sky")]).await;
    let hits = store.search(query("fast new red")).await.expect("search");
    assert_eq!(keys(&hits), ["02", "01", "00"]);
    assert!(hits.iter().all(|hit| hit.matched_by == Some(MatchSource::Text)));
    let scores: Vec<f64> = hits.iter().map(|hit| hit.score.expect("a score")).collect();
    assert!(scores.is_sorted_by(|a, b| a > b) && scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
}

/// A rare word counts more than a frequent one.
pub async fn rare_words_count_more(open: StoreFactory) {
    let (store, _) = open.open();
    let mut values = vec![json!("the common thing"); 8];
    values.push(json!("the quokka thing"));
    put_all(&store, &values).await;
    let hits = store.search(query("common quokka")).await.expect("search");
    assert_eq!((hits.len(), hits[0].item.key.as_str()), (9, "08"));
}

/// Equal texts have equal scores, and are ordered by name.
pub async fn equal_scores_come_by_name(open: StoreFactory) {
    let (store, clock) = open.open();
    for key in ["b", "c", "a"] {
        store.put("n", key, json!("same words")).await.expect("put");
        clock.advance(1);
    }
    let hits = store.search(query("words")).await.expect("search");
    assert_eq!(keys(&hits), ["a", "b", "c"]);
    assert!(hits.windows(2).all(|pair| pair[0].score == pair[1].score));
}

/// A query without a word finds nothing.
pub async fn no_words_find_nothing(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("word"), json!("")]).await;
    for text in ["", "  ", "…", "\"'*"] {
        assert!(search_indices(&store, query(text)).await.is_empty(), "{text:?}");
    }
}

/// The text of a query is words only, not the query language of a database.
pub async fn hostile_queries_are_words(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("alpha"), json!("beta"), json!("near")]).await;
    let cases: [(&str, &[usize]); 14] = [
        ("alpha' OR '1'='1", &[0]),
        ("\"alpha", &[0]),
        ("alpha*", &[0]),
        ("alp*", &[]),
        ("NEAR(alpha beta)", &[0, 1, 2]),
        ("-alpha", &[0]),
        ("words:alpha", &[0]),
        ("alpha NOT beta", &[0, 1]),
        ("alpha & !beta", &[0, 1]),
        ("alpha | ", &[0]),
        ("^alpha", &[0]),
        ("{alpha} : beta", &[0, 1]),
        ("'; DROP TABLE memory; --", &[]),
        ("alpha\0beta", &[0, 1]),
    ];
    for (text, expected) in cases {
        assert_eq!(search_indices(&store, query(text)).await, expected, "{text:?}");
    }
}

/// Words outside ASCII are found, and those of scripts without spaces character by character.
pub async fn words_of_any_script_are_found(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("Zürich"), json!("湖水が好き"), json!("ΣΑΣ"), json!("Привет мир"), json!("zurich")]).await;
    assert_eq!(search_indices(&store, query("ZÜRICH")).await, [0]);
    assert_eq!(search_indices(&store, query("水")).await, [1]);
    assert_eq!(search_indices(&store, query("привет")).await, [3]);
    assert_eq!(search_indices(&store, query("zurich")).await, [4]);
}

/// An item without an index is found by no query, and by all other operations.
pub async fn items_without_an_index_match_no_query(open: StoreFactory) {
    let (store, _) = open.open();
    store.put_with(PutOp::new("n", "00", json!("word")).index(IndexFields::None)).await.expect("put");
    store.put("n", "01", json!("word")).await.expect("put");
    assert_eq!(search_indices(&store, query("word")).await, [1]);
    assert_eq!(search_indices(&store, SearchOp::new("n")).await, [0, 1]);
    assert!(store.get("n", "00").await.expect("get").is_some());
}

/// With paths only the values at those paths are searched.
pub async fn only_values_at_the_paths_are_searched(open: StoreFactory) {
    let (store, _) = open.open();
    let paths = ["title", "chapters[*].text"].map(str::to_owned).to_vec();
    let value = json!({ "title": "Tides", "notes": "secret", "chapters": [{ "text": "moon" }, { "name": "sun" }] });
    store.put_with(PutOp::new("n", "00", value).index(IndexFields::Paths(paths))).await.expect("put");
    assert_eq!(search_indices(&store, query("tides")).await, [0]);
    assert_eq!(search_indices(&store, query("moon")).await, [0]);
    for absent in ["secret", "sun", "title"] {
        assert!(search_indices(&store, query(absent)).await.is_empty(), "{absent}");
    }
}

/// An invalid path is rejected by name.
pub async fn an_invalid_path_is_rejected(open: StoreFactory) {
    let (store, _) = open.open();
    let put = PutOp::new("n", "k", json!(1)).index(IndexFields::Paths(vec!["a[".to_owned()]));
    let error = store.put_with(put).await.expect_err("no path");
    assert!(error.message().contains("`a[`"), "{error}");
    assert!(store.get("n", "k").await.expect("get").is_none());
}

/// A new value is found by its own words, and not by those of the previous one.
pub async fn a_new_value_is_found_by_its_own_words(open: StoreFactory) {
    let (store, _) = open.open();
    store.put("n", "00", json!("old words")).await.expect("put");
    store.put("n", "00", json!("new words")).await.expect("put");
    assert!(search_indices(&store, query("old")).await.is_empty());
    assert_eq!(search_indices(&store, query("new")).await, [0]);
    store.delete("n", "00").await.expect("delete");
    assert!(search_indices(&store, query("words")).await.is_empty());
}

/// Filter and query can be combined.
pub async fn filter_and_query_hold_both(open: StoreFactory) {
    let (store, _) = open.open();
    let value = |kind: &str, text: &str| json!({ "kind": kind, "text": text });
    put_all(&store, &[value("a", "moon"), value("b", "moon"), value("a", "sun")]).await;
    assert_eq!(search_indices(&store, query("moon").filter(Filter::eq("kind", "a"))).await, [0]);
}

/// A text of very many words is found by the last of them.
pub async fn a_text_of_very_many_words_is_found(open: StoreFactory) {
    let (store, _) = open.open();
    let long: String = (0..60_000).map(|number| format!("w{number} ")).collect();
    put_all(&store, &[json!(long), json!("short")]).await;
    assert_eq!(search_indices(&store, query("w59999")).await, [0]);
    assert_eq!(search_indices(&store, query("short")).await, [1]);
}

/// A query can request text search even if there is an embedder.
pub async fn a_query_may_ask_for_text(open: StoreFactory) {
    let (store, _) = open.with(|options| options.embedder(LexicalEmbedder::default()));
    let values: [Value; 2] = [json!("moon"), json!("sun")];
    put_all(&store, &values).await;
    let hits = store.search(query("moon").mode(SearchMode::Text)).await.expect("search");
    assert_eq!((keys(&hits), hits[0].matched_by), (vec!["00"], Some(MatchSource::Text)));
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_text_search {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, text_search:
            a_word_matches_items_that_contain_it, more_words_come_first, rare_words_count_more,
            equal_scores_come_by_name, no_words_find_nothing, hostile_queries_are_words, words_of_any_script_are_found,
            items_without_an_index_match_no_query, only_values_at_the_paths_are_searched,
            an_invalid_path_is_rejected, a_new_value_is_found_by_its_own_words, filter_and_query_hold_both,
            a_text_of_very_many_words_is_found, a_query_may_ask_for_text,
        );
    };
}
