//! Vector search, with embedders whose vectors are known.

use serde_json::{Value, json};

use super::{StoreFactory, keys, put_all, search_indices};
use crate::error::{ErrorCode, Result};
use crate::port::{Embedder, SharedStore};
use crate::store::{Filter, IndexFields, LexicalEmbedder, MatchSource, PutOp, SearchMode, SearchOp, similarity};

/// Parses vectors from texts such as `1 0 -2`. A word that is not a number is 0.
struct ParsedVectors(usize);

impl Embedder for ParsedVectors {
    fn name(&self) -> &str {
        "written"
    }

    fn dimension(&self) -> usize {
        self.0
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        let parse = |text: &String| text.split_whitespace().map(|number| number.parse().unwrap_or(0.0)).collect();
        Ok(texts.iter().map(parse).collect())
    }
}

async fn with_vectors(open: StoreFactory, values: &[Value]) -> SharedStore {
    let (store, _) = open.with(|options| options.embedder(ParsedVectors(2)));
    put_all(&store, values).await;
    store
}

/// The nearest come first, and the score is the cosine.
pub async fn the_nearest_come_first(open: StoreFactory) {
    let store = with_vectors(open, &[json!("0 1"), json!("3 0"), json!("-1 0"), json!("1 1")]).await;
    let hits = store.search(SearchOp::new("n").query("1 0")).await.expect("search");
    assert_eq!(keys(&hits), ["01", "03", "00", "02"]);
    let near = |score: Option<f64>, expected: f64| (score.expect("a score") - expected).abs() < 1e-6;
    for (hit, expected) in hits.iter().zip([1.0, 0.5_f64.sqrt(), 0.0, -1.0]) {
        assert!(near(hit.score, expected), "{:?} {expected}", hit.score);
        assert_eq!(hit.matched_by, Some(MatchSource::Vector));
    }
}

/// Equally near items are ordered by name.
pub async fn equally_near_ones_come_by_name(open: StoreFactory) {
    let store = with_vectors(open, &[json!("2 0"), json!("1 0"), json!("0 1"), json!("4 0")]).await;
    let hits = store.search(SearchOp::new("n").query("1 0")).await.expect("search");
    assert_eq!(keys(&hits), ["00", "01", "03", "02"]);
}

/// Of several texts of an item the nearest counts.
pub async fn the_nearest_of_several_texts_counts(open: StoreFactory) {
    let store = with_vectors(open, &[json!("1 1")]).await;
    let put = PutOp::new("n", "01", json!({ "parts": ["0 1", "1 0"], "title": "-1 0" }));
    store.put_with(put.index(IndexFields::Paths(vec!["parts[*]".to_owned(), "title".to_owned()]))).await.expect("put");
    let hits = store.search(SearchOp::new("n").query("1 0")).await.expect("search");
    assert_eq!(keys(&hits), ["01", "00"]);
    assert!(hits[0].score.expect("a score") > 0.999);
}

/// An item without an index has no vector; a zero vector is no error.
pub async fn items_without_a_vector_match_no_query(open: StoreFactory) {
    let store = with_vectors(open, &[json!("0 0"), json!("-1 -1")]).await;
    store.put_with(PutOp::new("n", "02", json!("1 0")).index(IndexFields::None)).await.expect("put");
    store.put("n", "03", json!(null)).await.expect("put");
    let hits = store.search(SearchOp::new("n").query("1 0")).await.expect("search");
    assert_eq!((keys(&hits), hits[0].score), (vec!["00", "01"], Some(0.0)));
    assert_eq!(store.search(SearchOp::new("n").query("0 0")).await.expect("search").len(), 2);
}

/// A new value has its own vectors, and a deleted one none.
pub async fn a_new_value_has_its_own_vectors(open: StoreFactory) {
    let store = with_vectors(open, &[json!("1 0"), json!("1 1")]).await;
    store.put("n", "00", json!("-1 0")).await.expect("put");
    let best = async || store.search(SearchOp::new("n").query("1 0")).await.expect("search");
    assert_eq!(keys(&best().await), ["01", "00"]);
    store.delete("n", "01").await.expect("delete");
    assert_eq!(keys(&best().await), ["00"]);
}

/// Prefix, filter and page apply to vector search.
pub async fn prefix_filter_and_page_hold_for_vectors(open: StoreFactory) {
    let (store, _) = open.with(|options| options.embedder(LexicalEmbedder::default()));
    for number in 0..40 {
        let value = json!({ "even": number % 2 == 0, "text": format!("moon {number}") });
        store.put(["n", "x"], super::key_at(number), value).await.expect("put");
    }
    store.put("nx", "99", json!("moon")).await.expect("put");
    let search = SearchOp::new("n").query("moon").filter(Filter::eq("even", true));
    let full = store.search(search.clone().limit(100)).await.expect("search");
    assert_eq!(full.len(), 20);
    let mut pages = Vec::new();
    for page in 0..3 {
        pages.extend(store.search(search.clone().limit(7).offset(page * 7)).await.expect("search"));
    }
    assert_eq!(keys(&pages), keys(&full));
    assert_eq!(search_indices(&store, SearchOp::new("n").query("moon")).await.len(), 40);
}

/// A vector search is rejected if there is no embedder, and `Auto` uses text search then.
pub async fn without_an_embedder_there_are_no_vectors(open: StoreFactory) {
    let (store, _) = open.open();
    put_all(&store, &[json!("moon")]).await;
    let error = store.search(SearchOp::new("n").query("moon").mode(SearchMode::Vector)).await.expect_err("no embedder");
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    let hits = store.search(SearchOp::new("n").query("moon")).await.expect("search");
    assert_eq!(hits[0].matched_by, Some(MatchSource::Text));
}

/// An invalid vector of an embedder is rejected, and nothing is stored.
pub async fn an_invalid_vector_is_rejected(open: StoreFactory) {
    let (store, _) = open.with(|options| options.embedder(ParsedVectors(2)));
    for text in ["1", "1 2 3", "NaN 1", "inf 1"] {
        let error = store.put("n", "k", json!(text)).await.expect_err("no vector");
        assert!(error.code() == ErrorCode::ModelBadAnswer && error.message().contains("`written`"), "{error}");
    }
    assert!(store.get("n", "k").await.expect("get").is_none());
}

/// The lexical embedder finds texts that share words.
pub async fn the_lexical_embedder_finds_shared_words(open: StoreFactory) {
    let (store, _) = open.with(|options| options.embedder(LexicalEmbedder::default()));
    let texts = ["likes green curry and rice", "has two cats", "green curry", "plays chess"];
    put_all(&store, &texts.map(Value::from)).await;
    let hits = store.search(SearchOp::new("n").query("green curry").limit(2)).await.expect("search");
    assert_eq!(keys(&hits), ["02", "00"]);
    let lexical = LexicalEmbedder::default();
    for hit in &hits {
        let text = hit.item.value.as_str().expect("a text");
        let expected = similarity(&lexical.vector("green curry"), &lexical.vector(text));
        assert!((hit.score.expect("a score") - expected).abs() < 1e-5, "{text}");
    }
}

/// Expands to the tests of this file.
#[macro_export]
macro_rules! store_vector_search {
    ($open:expr, $drive:expr) => {
        $crate::store_tests!(
            $open, $drive, vector_search:
            the_nearest_come_first, equally_near_ones_come_by_name, the_nearest_of_several_texts_counts,
            items_without_a_vector_match_no_query, a_new_value_has_its_own_vectors,
            prefix_filter_and_page_hold_for_vectors,
            without_an_embedder_there_are_no_vectors, an_invalid_vector_is_rejected,
            the_lexical_embedder_finds_shared_words,
        );
    };
}
