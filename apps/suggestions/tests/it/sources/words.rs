//! Words that mean the same, and words that occur together.

use std::sync::Arc;

use superstep_suggestions::sources::{Docs, LONGEST_QUERY};
use superstep_suggestions::words::{Words, content};

use super::Folder;

/// R-SUG-42: words and phrases of the list are matched whole, whatever their case, and bring the others of their group.
#[test]
fn words_of_a_group_bring_the_others() {
    let folder = Folder::new();
    folder.write(
        "words.txt",
        "# people say\nk8s, Kubernetes, AKS\n\nroll back, rollback, undo\nlonely\n, ,\nsign-in, log in\n",
    );
    let words = Words::open(Some(&folder.path().join("words.txt")), None).unwrap();
    assert_eq!(words.synonyms("Roll back my K8S pods"), ["rollback", "undo", "Kubernetes", "AKS"]);
    assert_eq!(words.synonyms("how do I sign in"), ["log in"]);
    for text in ["rolling", "roll it back", "lonely", "k8sx", ""] {
        assert!(words.synonyms(text).is_empty(), "{text}");
    }
    assert_eq!(words.expand("undo"), words.synonyms("undo"), "no documents, no more words");
}

/// R-SUG-42: the list can be edited, and counts at the next question.
#[test]
fn the_list_is_read_again_when_it_changes() {
    let folder = Folder::new();
    folder.write("words.txt", "db, database\n");
    let words = Words::open(Some(&folder.path().join("words.txt")), None).unwrap();
    assert_eq!(words.synonyms("db"), ["database"]);
    folder.write("words.txt", "db, database, postgres\n");
    assert_eq!(words.synonyms("db"), ["database", "postgres"]);
    std::fs::remove_file(folder.path().join("words.txt")).unwrap();
    assert_eq!(words.synonyms("db"), ["database", "postgres"]);
    assert!(Words::open(Some(&folder.path().join("words.txt")), None).is_err());
}

/// R-SUG-42: words that stand with those of the question in the documents are known, common ones are not.
#[test]
fn words_that_occur_together_are_known() {
    let folder = Folder::new();
    for number in 0..8 {
        folder.write(&format!("docs/other{number}.md"), "# Other\n\nThe service desk answers every question here.\n");
    }
    folder.write(
        "docs/a.md",
        "# Helm\n\nHelm keeps revisions, says the service desk.\n\n## More\n\nHelm counts revisions.\n",
    );
    let docs = Arc::new(Docs::open(&folder.path().join("docs"), "").unwrap());
    let words = Words::open(None, Some(docs)).unwrap();
    assert_eq!(words.together("helm").first().map(String::as_str), Some("revisions"));
    assert!(words.expand("helm").contains(&"revisions".to_owned()));
}

/// R-SUG-42, R-SUG-43: a question becomes two or three different queries, each short enough; stop words are gone.
#[tokio::test]
async fn a_question_becomes_different_queries() {
    let (_folder, sources, _) = super::sample().await;
    let words = sources.words();
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
        assert!(queries.iter().all(|query| (1..=LONGEST_QUERY).contains(&query.chars().count())), "{queries:?}");
    }
    assert!(words.queries("terraform says the state is locked").len() >= 2);
    assert!(words.queries("  ?! ").is_empty());
}

/// R-SUG-42: words that say nothing are left out, unless there are no others.
#[test]
fn stop_words_are_left_out() {
    assert_eq!(content("How can I see the logs of the logs?"), ["see", "logs"]);
    assert_eq!(content("Wie bekomme ich einen Laptop?"), ["bekomme", "laptop"]);
    assert_eq!(content("how to"), ["how", "to"]);
}
