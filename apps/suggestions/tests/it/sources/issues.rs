//! Search in exports of issue trackers.

use superstep_suggestions::sources::{Issues, SourceSettings, Sources};
use superstep_suggestions::types::SourceType;

use super::Folder;

fn title(sources: &[superstep_suggestions::types::McpSuggestion]) -> Vec<&str> {
    sources.iter().map(|suggestion| suggestion.title.as_str()).collect()
}

/// R-SUG-20, R-SUG-43: the five export formats have 60 issues, and issues are found by title, body, label, state and
/// comment.
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
        let results = sources.search_issues(query).await.unwrap();
        assert!(results[0].title.starts_with(key), "{query}: {:?}", title(&results));
        assert!(results[0].url.starts_with(url), "{}", results[0].url);
        assert!(results.len() <= 2 && results[0].source_type == SourceType::Issue);
        assert!((1..=300).contains(&results[0].description.chars().count()), "{}", results[0].description);
    }
    // Matches the second comment column of Jira, and a comment of `gh`.
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

/// R-SUG-20: among comparable hits a resolved issue is first, regardless of its position in the file; at most two
/// hits.
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
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    let results = sources.search_issues("cache misses grow").await.unwrap();
    assert_eq!(title(&results), ["#3 cache misses grow", "#1 cache misses grow"]);
    assert!(results[0].description.starts_with("Solved.") && results[1].description.starts_with("Open."));
}

/// R-SUG-20: a broken file is reported and skipped, the others are indexed; a repaired file is picked up.
#[tokio::test]
async fn a_broken_file_is_named_and_skipped() {
    let folder = Folder::new();
    folder.write("issues/bad.json", "[{\"title\": ");
    folder.write("issues/odd.json", "{\"a\": 1}");
    folder.write("issues/list.csv", "a,b\n1,2\n");
    folder.write("issues/plain.md", "no front matter");
    folder.write("issues/notes.txt", "not an export");
    folder.write("issues/good.json", &format!("[{}]", issue(7, "tea is cold", "open", "null")));
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    let skipped = sources.skipped();
    let names: Vec<&str> = skipped.iter().filter_map(|skipped| skipped.split(':').next()).collect();
    assert_eq!(names, ["bad.json", "list.csv", "odd.json", "plain.md"]);
    assert!(skipped[1].contains("no column `Issue key`"), "{skipped:?}");
    assert_eq!(title(&sources.search_issues("tea").await.unwrap()), ["#7 tea is cold"]);
    folder.write("issues/bad.json", &format!("[{}]", issue(8, "coffee is cold", "open", "null")));
    std::fs::remove_file(folder.path().join("issues/good.json")).unwrap();
    sources.refresh().unwrap();
    assert_eq!(title(&sources.search_issues("tea coffee").await.unwrap()), ["#8 coffee is cold"]);
    assert_eq!(sources.skipped().len(), 3);
}

/// Jira CSV export with repeated columns, custom status names and their categories.
const JIRA: &str = "\
Summary,Issue key,Issue id,Issue Type,Status,Project key,Priority,Resolution,Labels,Labels,Description,Comment,Comment,Status Category,Status Category Changed
Walrus disk is full,OPS-1,10001,Bug,Released,OPS,High,Done,disk,ops,The disk is full.,14/Jan/26 9:12 AM;5b10;Added a disk.,,Done,14/Jan/26 9:12 AM
Walrus disk is slow,OPS-2,10002,Bug,Resolved by vendor?,OPS,High,Unresolved,disk,,The disk is slow.,,,In Progress,14/Jan/26 9:12 AM
Walrus disk is loud,OPS-3,10003,Bug,Closed,OPS,Low,Won't Do,disk,,The disk is loud.,,,Done,14/Jan/26 9:12 AM
Walrus disk is old,OPS-4,10004,Task,Backlog,OPS,Low,Fixed,disk,,The disk is old.,,,To Do,14/Jan/26 9:12 AM
Walrus disk is new,OPS-5,10005,Task,Wartet,OPS,Low,,disk,,The disk is new.,,,,
";

/// Returns the JSON of a Jira REST search.
fn jira_json() -> String {
    let issue = |number: u32, status: &str, category: &str, resolution: &str| {
        format!(
            r#"{{"id": "1000{number}", "key": "WEB-{number}",
            "self": "https://lumen.atlassian.example/rest/api/3/issue/1000{number}",
            "fields": {{"summary": "Otter page {number}", "labels": ["page"], "resolution": {resolution},
                "status": {{"name": "{status}", "statusCategory": {{"id": 2, "key": "{category}", "name": "x"}}}},
                "description": {{"type": "doc", "version": 1, "content": [{{"type": "paragraph", "content":
                    [{{"type": "text", "text": "The page is "}}, {{"type": "text", "text": "blank."}}]}}]}},
                "comment": {{"comments": [{{"body": "Cleared the cache."}}], "total": 1}}}}}}"#
        )
    };
    let issues = [
        issue(1, "Ausgeliefert", "done", r#"{"name": "Fixed"}"#),
        issue(2, "Done?", "indeterminate", "null"),
        issue(3, "Done", "new", r#"{"name": "Fixed"}"#),
        issue(4, "Weg", "done", r#"{"name": "Duplicate"}"#),
    ];
    format!(r#"{{"startAt": 0, "maxResults": 50, "total": 4, "issues": [{}]}}"#, issues.join(","))
}

/// R-SUG-20: the category of a Jira status decides its meaning, whatever its name; a resolution without a solution
/// does not count.
#[tokio::test]
async fn states_of_jira_mean_their_category() {
    let folder = Folder::new();
    folder.write("issues/table.csv", JIRA);
    folder.write("issues/search.json", &jira_json());
    let mut settings = SourceSettings::from_folder(folder.path());
    settings.limits.issues = 10;
    let sources = Sources::open(&settings).unwrap();
    assert_eq!(sources.skipped(), Vec::<String>::new());
    let state = |results: &[superstep_suggestions::types::McpSuggestion]| -> Vec<(String, String)> {
        let word = |text: &str| text.split([' ', '.']).next().unwrap_or_default().to_owned();
        let mut states: Vec<_> = results.iter().map(|one| (word(&one.title), word(&one.description))).collect();
        states.sort();
        states
    };
    let expected = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter().map(|(key, state)| ((*key).to_owned(), (*state).to_owned())).collect()
    };
    let table = sources.search_issues("walrus disk").await.unwrap();
    let rows = [("OPS-1", "Solved"), ("OPS-2", "Open"), ("OPS-3", "Closed"), ("OPS-4", "Open"), ("OPS-5", "Open")];
    assert_eq!(state(&table), expected(&rows));
    assert!(table[0].title.starts_with("OPS-1"), "{:?}", title(&table));
    let json = sources.search_issues("otter page").await.unwrap();
    assert_eq!(
        state(&json),
        expected(&[("WEB-1", "Solved"), ("WEB-2", "Open"), ("WEB-3", "Open"), ("WEB-4", "Closed")])
    );
    assert_eq!(json[0].url, "https://lumen.atlassian.example/browse/WEB-1");
    assert!(json[0].description.contains("The page is blank."), "{}", json[0].description);
    assert!(sources.search_issues("cleared cache").await.unwrap()[0].title.starts_with("WEB-"));
}

/// R-SUG-20: an oversized export is skipped with the reason, and files of other types are not opened at all.
#[tokio::test]
async fn an_oversized_export_is_skipped_with_the_reason() {
    let folder = Folder::new();
    folder.write("issues/good.json", &format!("[{}]", issue(7, "tea is cold", "open", "null")));
    for name in ["large.json", "disk.img"] {
        let file = std::fs::File::create(folder.path().join("issues").join(name)).unwrap();
        file.set_len(40 << 20).unwrap();
    }
    let sources = Sources::open(&SourceSettings::from_folder(folder.path())).unwrap();
    let skipped = sources.skipped();
    assert!(
        skipped.len() == 1 && skipped[0].starts_with("large.json: it has 41943040 bytes; the maximum is"),
        "{skipped:?}"
    );
    assert_eq!(title(&sources.search_issues("tea").await.unwrap()), ["#7 tea is cold"]);
}
