//! Search in documents, and validation of queries.

use std::collections::BTreeSet;

use proptest::prelude::*;
use superstep_suggestions::sources::{
    MAX_QUERY_CHARS, SourceSettings, Sources, UnavailableReason, fuse, normalize_query,
};
use superstep_suggestions::types::SourceType;

use super::Folder;

/// R-SUG-16: queries are trimmed, and long ones are cut at a word boundary with a warning.
#[test]
fn queries_are_trimmed_and_cut_at_word_boundaries() {
    let short = normalize_query("  AKS rollback\n").unwrap();
    assert_eq!((short.text.as_str(), short.warning), ("AKS rollback", None));
    assert_eq!(normalize_query(" \t ").unwrap_err().code(), superstep::ErrorCode::InputInvalid);
    let exact = "ä".repeat(MAX_QUERY_CHARS);
    assert_eq!(normalize_query(&exact).unwrap().warning, None);
    let long = normalize_query(&"größer ".repeat(40)).unwrap();
    assert!(long.text.chars().count() <= MAX_QUERY_CHARS && long.text.ends_with("größer"), "{}", long.text);
    assert!(long.warning.unwrap().contains("279 characters"));
    assert_eq!(normalize_query(&format!("{exact}ä")).unwrap().text, exact);
    assert_eq!(normalize_query(&format!("{exact} more")).unwrap().text, exact);
}

proptest! {
    /// R-SUG-16: for any input, the validated query is a prefix of 1 to 200 characters.
    #[test]
    fn a_trimmed_query_is_a_beginning_of_it(query in "\\PC{0,300}") {
        match normalize_query(&query) {
            Ok(trimmed) => {
                prop_assert!((1..=MAX_QUERY_CHARS).contains(&trimmed.text.chars().count()));
                prop_assert!(query.trim().starts_with(&trimmed.text));
                prop_assert_eq!(trimmed.warning.is_none(), trimmed.text == query.trim());
            }
            Err(_) => prop_assert!(query.trim().is_empty()),
        }
    }
}

/// R-SUG-19: hits are sections with heading anchor and excerpt, each from a different document.
#[tokio::test]
async fn hits_are_sections_of_different_documents() {
    let (_folder, sources, _) = super::sample().await;
    let results = sources.search_docs("helm rollback deployment revision").await.unwrap();
    assert_eq!(results.len(), 3);
    assert!(results[0].url.starts_with("docs/platform/rollback-a-deployment.md#"), "{}", results[0].url);
    assert!(results[0].title.starts_with("Roll back a deployment"), "{}", results[0].title);
    let documents: BTreeSet<&str> = results.iter().filter_map(|suggestion| suggestion.url.split('#').next()).collect();
    assert_eq!(documents.len(), 3);
    for suggestion in &results {
        assert!((1..=300).contains(&suggestion.description.chars().count()), "{}", suggestion.description);
        assert_eq!((suggestion.source_type, suggestion.source), (SourceType::Doc, None));
    }
    assert!(sources.search_docs("???").await.unwrap().is_empty());
}

/// R-SUG-19: Markdown, plain text and HTML are searched alike, with three hits by default; rare words weigh more
/// than frequent ones, and the description is the matching passage.
#[tokio::test]
async fn documents_of_every_kind_are_ranked() {
    let folder = Folder::new();
    let filler = "Nothing of interest stands in this sentence. ".repeat(12);
    folder.write("docs/a.md", &format!("# Tea\n\n## Brewing\n\n{filler}Steep oolong for three minutes.\n\n{filler}\n"));
    folder.write("docs/b.html", "<h1>Water</h1><h2 id=heat>Heat</h2><p>Oolong wants ninety degrees.</p>");
    folder.write("docs/c.txt", "Cups for oolong stand on the shelf.");
    for number in 0..6 {
        folder.write(&format!("docs/other{number}.md"), "# Tea\n\nTea and tea and tea.\n");
    }
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    let results = sources.search_docs("tea oolong").await.unwrap();
    let mut urls: Vec<&str> = results.iter().map(|one| one.url.as_str()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["docs/a.md#brewing", "docs/b.html#heat", "docs/c.txt#top"]);
    let brewing = results.iter().find(|one| one.url.ends_with("#brewing")).unwrap();
    assert!(brewing.description.contains("Steep oolong for three minutes."), "{}", brewing.description);
    assert_eq!(brewing.title, "Tea: Brewing");
}

/// R-SUG-19: if no other document matches, one document may fill all hits; URL prefix and limit are settings.
#[tokio::test]
async fn one_document_may_fill_all_hits() {
    let folder = Folder::new();
    folder.write("docs/one.md", "# One\n\nalpha here\n\n## Two\n\nalpha there\n\n## Three\n\nalpha again\n");
    let mut settings = SourceSettings::from_folder(folder.path());
    settings.docs_url = "https://docs.example/v1".to_owned();
    settings.limits.docs = 2;
    let sources = Sources::open(&settings).unwrap();
    let results = sources.search_docs("alpha").await.unwrap();
    assert_eq!(results.len(), 2);
    assert!(
        results.iter().all(|suggestion| suggestion.url.starts_with("https://docs.example/v1/one.md#")),
        "{results:?}"
    );
    assert_ne!(results[0].url, results[1].url);
}

/// R-SUG-19: added, changed and deleted documents are picked up.
#[tokio::test]
async fn documents_are_followed() {
    let folder = Folder::new();
    folder.write("docs/a.md", "# A\n\nsnow\n");
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    assert_eq!(sources.search_docs("rain").await.unwrap().len(), 0);
    folder.write("docs/a.md", "# A\n\nrain today\n");
    folder.write("docs/b.md", "# B\n\nsnow and sun\n");
    sources.refresh().unwrap();
    assert_eq!(sources.search_docs("rain").await.unwrap()[0].url, "docs/a.md#a");
    assert_eq!(sources.search_docs("snow").await.unwrap()[0].url, "docs/b.md#b");
    std::fs::remove_file(folder.path().join("docs/b.md")).unwrap();
    sources.refresh().unwrap();
    assert!(sources.search_docs("snow").await.unwrap().is_empty());
}

/// R-SUG-18, R-SUG-38: a source that is not configured returns an error and no results.
#[tokio::test]
async fn an_unconfigured_source_returns_an_error() {
    let sources = Sources::open(&SourceSettings::default()).unwrap();
    let errors = [
        sources.search_docs("helm").await.unwrap_err(),
        sources.search_issues("helm").await.unwrap_err(),
        sources.search_m365("helm", None).await.unwrap_err(),
    ];
    for (error, source) in errors.iter().zip(["docs", "issues", "m365"]) {
        assert_eq!((error.source, error.kind), (source, UnavailableReason::NotConfigured));
        assert_eq!(sources.not_configured_reason(source).as_ref(), Some(error));
    }
    assert!(sources.search_posts("helm", &[]).await.unwrap().is_empty());
}

/// Results that rank high for several queries rank high in the fused list, and each document occurs once.
#[tokio::test]
async fn answers_to_several_queries_become_one_list() {
    let (_folder, sources, _) = super::sample().await;
    let mut lists = Vec::new();
    for query in ["kafka consumer lag", "consumer lag backlog", "expenses receipt"] {
        lists.push(sources.search_docs(query).await.unwrap());
    }
    let first = lists[0][0].clone();
    let fused = fuse(lists);
    assert_eq!(fused[0].url, first.url);
    let documents: BTreeSet<&str> = fused.iter().filter_map(|suggestion| suggestion.url.split('#').next()).collect();
    assert_eq!(documents.len(), fused.len());
}
