//! The search in exports of issue trackers.

use superstep_suggestions::sources::{Issues, Settings, Sources};
use superstep_suggestions::types::SourceType;

use super::Folder;

fn title(sources: &[superstep_suggestions::types::McpSuggestion]) -> Vec<&str> {
    sources.iter().map(|found| found.title.as_str()).collect()
}

/// R-SUG-20: all five forms of export are read, and found by title, body, label, state and comment.
#[tokio::test]
async fn five_forms_of_export_are_read() {
    let (folder, sources, _) = super::sample().await;
    let issues = Issues::open(&folder.path().join("issues")).unwrap();
    assert_eq!((issues.count(), issues.skipped()), (60, Vec::new()));
    for (query, key, url) in [
        (
            "helm pending-upgrade evicted runner",
            "#1419",
            "https://github.com/lumen-freight-example/platform/issues/1419",
        ),
        ("webhook umlauts signature raw body", "#618", "https://github.com/lumen-freight-example/portal/issues/618"),
        (
            "partner wrote JSON into Avro topic",
            "#215",
            "https://gitlab.lumen-freight.example/data/warehouse/-/issues/215",
        ),
        ("printer CUPS kerberos", "OPS-342", "issues/jira.csv?issue="),
        ("recovery drill booking database minutes", "Recovery", "https://issues.lumen-freight.example/eng/7"),
    ] {
        let found = sources.search_issues(query).await.unwrap();
        assert!(found[0].title.starts_with(key), "{query}: {:?}", title(&found));
        assert!(found[0].url.starts_with(url), "{}", found[0].url);
        assert!(found.len() <= 2 && found[0].source_type == SourceType::Issue);
        assert!((1..=300).contains(&found[0].description.chars().count()), "{}", found[0].description);
    }
    // The second column of comments of Jira, and a comment of `gh`.
    assert!(
        sources.search_issues("video verified temporary access pass").await.unwrap()[0].title.starts_with("OPS-318")
    );
    assert!(
        sources.search_issues("connect-src img-src computed per tenant").await.unwrap()[0].title.starts_with("#611")
    );
}

fn issue(number: u32, title: &str, state: &str, reason: &str) -> String {
    format!(
        r#"{{"number":{number},"title":"{title}","body":"","state":"{state}","state_reason":{reason},"labels":[{{"name":"cache"}}],"html_url":"https://h.example/{number}"}}"#
    )
}

/// R-SUG-20: among comparable hits a solved issue is first, whatever its place in the file; two at most.
#[tokio::test]
async fn solved_issues_come_first() {
    let folder = Folder::new();
    let entries = [
        issue(1, "cache misses grow", "open", "null"),
        issue(2, "cache misses grow", "closed", "\"not_planned\""),
        issue(3, "cache misses grow", "closed", "\"completed\""),
        format!(r#"{{"pull_request":{{}},{}"#, &issue(4, "cache misses grow", "closed", "\"completed\"")[1..]),
    ];
    folder.write("issues/github.json", &format!("[{}]", entries.join(",")));
    folder.write(
        "issues/other.md",
        "---\ntitle: Rain\nstate: closed\n---\nIt rains into the cache.\n\n## Resolution\nA roof.\n",
    );
    let sources = Sources::open(&Settings::of_folder(folder.path())).unwrap();
    let found = sources.search_issues("cache misses grow").await.unwrap();
    assert_eq!(title(&found), ["#3 cache misses grow", "#1 cache misses grow"]);
    assert!(found[0].description.starts_with("Solved.") && found[1].description.starts_with("Open."));
}

/// R-SUG-20: a broken file is named and skipped, the rest is read; a file that is repaired is read too.
#[tokio::test]
async fn a_broken_file_is_named_and_skipped() {
    let folder = Folder::new();
    folder.write("issues/bad.json", "[{\"title\": ");
    folder.write("issues/odd.json", "{\"a\": 1}");
    folder.write("issues/list.csv", "a,b\n1,2\n");
    folder.write("issues/plain.md", "no front matter");
    folder.write("issues/notes.txt", "not an export");
    folder.write("issues/good.json", &format!("[{}]", issue(7, "tea is cold", "open", "null")));
    let sources = Sources::open(&Settings::of_folder(folder.path())).unwrap();
    let skipped = sources.skipped();
    let names: Vec<&str> = skipped.iter().filter_map(|skipped| skipped.split(':').next()).collect();
    assert_eq!(names, ["bad.json", "list.csv", "odd.json", "plain.md"]);
    assert!(skipped[1].contains("no column `Issue key`"), "{skipped:?}");
    assert_eq!(title(&sources.search_issues("tea").await.unwrap()), ["#7 tea is cold"]);
    folder.write("issues/bad.json", &format!("[{}]", issue(8, "coffee is cold", "open", "null")));
    std::fs::remove_file(folder.path().join("issues/good.json")).unwrap();
    assert_eq!(title(&sources.search_issues("tea coffee").await.unwrap()), ["#8 coffee is cold"]);
    assert_eq!(sources.skipped().len(), 3);
}
