//! Query expansion by synonyms and co-occurring terms.

use std::sync::Arc;

use superstep_suggestions::query_expansion::{QueryExpander, content_words};
use superstep_suggestions::sources::{Docs, MAX_QUERY_CHARS};

use super::Folder;

/// R-SUG-42: synonyms match as complete words and phrases, case-insensitively, and add the other terms of their
/// group.
#[test]
fn synonyms_add_the_terms_of_their_group() {
    let folder = Folder::new();
    folder.write(
        "words.txt",
        "# people say\nk8s, Kubernetes, AKS\n\nroll back, rollback, undo\nlonely\n, ,\nsign-in, log in\n",
    );
    let words = QueryExpander::open(Some(&folder.path().join("words.txt")), None).unwrap();
    assert_eq!(words.synonyms("Roll back my K8S pods"), ["rollback", "undo", "Kubernetes", "AKS"]);
    assert_eq!(words.synonyms("how do I sign in"), ["log in"]);
    for text in ["rolling", "roll it back", "lonely", "k8sx", ""] {
        assert!(words.synonyms(text).is_empty(), "{text}");
    }
    assert_eq!(words.expand("undo"), words.synonyms("undo"), "no documents, no more words");
}

/// R-SUG-42: edits of the synonym file apply to the next query.
#[test]
fn the_list_is_read_again_when_it_changes() {
    let folder = Folder::new();
    folder.write("words.txt", "db, database\n");
    let words = QueryExpander::open(Some(&folder.path().join("words.txt")), None).unwrap();
    assert_eq!(words.synonyms("db"), ["database"]);
    folder.write("words.txt", "db, database, postgres\n");
    assert_eq!(words.synonyms("db"), ["database", "postgres"]);
    std::fs::remove_file(folder.path().join("words.txt")).unwrap();
    assert_eq!(words.synonyms("db"), ["database", "postgres"]);
    assert!(QueryExpander::open(Some(&folder.path().join("words.txt")), None).is_err());
}

/// R-SUG-42: words that co-occur with the question in the documents are added, common ones are not.
#[test]
fn cooccurring_words_are_added() {
    let folder = Folder::new();
    for number in 0..8 {
        folder.write(&format!("docs/other{number}.md"), "# Other\n\nThe service desk answers every question here.\n");
    }
    folder.write(
        "docs/a.md",
        "# Helm\n\nHelm keeps revisions, says the service desk.\n\n## More\n\nHelm counts revisions.\n",
    );
    let docs = Arc::new(Docs::open(&folder.path().join("docs"), "").unwrap());
    let words = QueryExpander::open(None, Some(docs)).unwrap();
    assert_eq!(words.cooccurring_terms("helm").first().map(String::as_str), Some("revisions"));
    assert!(words.expand("helm").contains(&"revisions".to_owned()));
}

/// R-SUG-42: a question becomes two or three distinct queries within the length limit, without stop words.
#[tokio::test]
async fn a_question_becomes_different_queries() {
    let (_folder, sources, _) = super::sample().await;
    let words = sources.query_expander();
    let queries = words.queries("How do I roll back a failed AKS deployment?");
    assert_eq!(queries.len(), 3, "{queries:?}");
    assert_eq!(queries[0], "roll back failed aks deployment");
    for other in ["kubernetes", "undo", "rollout"] {
        assert!(queries[1].contains(other), "{queries:?}");
    }
    let long = "kubernetes deployment database laptop expenses ".repeat(20);
    for text in [long.as_str(), "AKS", "terraform says the state is locked", "Wie geht das?"] {
        let queries = words.queries(text);
        let unique: std::collections::BTreeSet<&String> = queries.iter().collect();
        assert!(!queries.is_empty() && unique.len() == queries.len(), "{queries:?}");
        assert!(queries.iter().all(|query| (1..=MAX_QUERY_CHARS).contains(&query.chars().count())), "{queries:?}");
    }
    assert!(words.queries("terraform says the state is locked").len() >= 2);
    assert!(words.queries("  ?! ").is_empty());
}

/// R-SUG-42: stop words are removed, unless there are no other words.
#[test]
fn stop_words_are_left_out() {
    assert_eq!(content_words("How can I see the logs of the logs?"), ["see", "logs"]);
    assert_eq!(content_words("Wie bekomme ich einen Laptop?"), ["bekomme", "laptop"]);
    assert_eq!(content_words("how to"), ["how", "to"]);
}
