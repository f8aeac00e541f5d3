//! JSON format of the response types.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep_suggestions::sample;
use superstep_suggestions::types::{
    Availability, CombinedSuggestionsResponse, M365Source, McpSuggestion, PostEmbedding, SourceType,
};

/// R-SUG-37, R-SUG-38: empty lists are serialized, and missing ones are filled when deserialized.
#[test]
fn an_empty_response_has_all_lists() {
    let empty = json!({
        "m365": [], "docs": [], "issues": [], "posts": [], "actionHint": null, "source": "mcp", "unavailableSources": [],
    });
    assert_eq!(serde_json::to_value(CombinedSuggestionsResponse::default()).unwrap(), empty);
    let read: CombinedSuggestionsResponse = serde_json::from_value(json!({})).unwrap();
    assert_eq!(read, CombinedSuggestionsResponse::default());
}

/// R-SUG-37: names and values follow the contract, in camelCase.
#[test]
fn names_are_those_of_the_contract() {
    let suggestion = McpSuggestion {
        title: "t".to_owned(),
        url: "u".to_owned(),
        description: "d".to_owned(),
        source_type: SourceType::M365,
        source: Some(M365Source::Onedrive),
        status: Availability::Available,
    };
    let value = json!({
        "title": "t", "url": "u", "description": "d", "sourceType": "m365", "source": "onedrive", "status": "available",
    });
    assert_eq!(serde_json::to_value(&suggestion).unwrap(), value);
    assert_eq!(serde_json::from_value::<McpSuggestion>(value).unwrap(), suggestion);
    for (kind, name) in [(SourceType::Doc, "doc"), (SourceType::Issue, "issue"), (SourceType::Post, "post")] {
        assert_eq!((serde_json::to_value(kind).unwrap(), kind.name()), (json!(name), name));
    }
    assert_eq!(
        serde_json::to_value([M365Source::Sharepoint, M365Source::Email]).unwrap(),
        json!(["sharepoint", "email"])
    );
    let embedding = PostEmbedding { post_id: "p".to_owned(), vector: vec![0.5], text: "x".to_owned() };
    assert_eq!(serde_json::to_value(embedding).unwrap(), json!({ "postId": "p", "vector": [0.5], "text": "x" }));
}

/// R-SUG-37: a post has its twelve fields; an unknown location is omitted.
#[tokio::test]
async fn a_post_serializes_to_its_twelve_fields() {
    let (_folder, sources, _) = super::sample().await;
    let posts = sample::posts(sources.posts().now().unwrap()).unwrap();
    let [without_location, with_location] = [&posts[0], &posts[2]].map(|post| serde_json::to_value(post).unwrap());
    let keys = |post: &Value| post.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let expected = [
        "id",
        "authorId",
        "authorName",
        "text",
        "tags",
        "mode",
        "lat",
        "lng",
        "createdAt",
        "expiresAt",
        "interestedCount",
        "joinCount",
    ];
    let mut expected = BTreeSet::from(expected.map(str::to_owned));
    assert_eq!(keys(&with_location), expected);
    expected.retain(|key| !matches!(key.as_str(), "lat" | "lng"));
    assert_eq!(keys(&without_location), expected);
    let (mode, created_at) = (&without_location["mode"], &without_location["createdAt"]);
    assert_eq!((mode, created_at), (&json!("question"), &json!("2024-10-04T08:00:00Z")));
    assert_eq!((&with_location["lat"], &with_location["lng"]), (&json!(51.9225), &json!(4.4792)));
}
