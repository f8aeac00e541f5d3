//! What MCP calls content, as parts of ours and back.
//!
//! Reads JSON rather than the library's types: a kind of content that is not known here is kept as it came.

use std::collections::BTreeMap;

use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, Resource, ResourceContents, TextContent,
};
use serde_json::{Map, Value, json};
use superstep_core::message::{Content, Media, MediaSource, Part};

/// Something of which nobody said what it is.
const BYTES: &str = "application/octet-stream";

/// Blocks as one content. Texts alone become one text, a line each; anything else stays apart.
pub(super) fn read(blocks: Vec<Value>) -> Content {
    let parts: Vec<Part> = blocks.into_iter().map(part).collect();
    let texts = parts.iter().map(|part| match part {
        Part::Text { text, extra } if extra.is_empty() => Some(text.as_str()),
        _ => None,
    });
    match texts.collect::<Option<Vec<&str>>>() {
        Some(texts) => Content::Text(texts.join("\n")),
        None => Content::Parts(parts),
    }
}

/// One block.
pub(super) fn part(block: Value) -> Part {
    let Value::Object(fields) = block else { return Part::Other(block) };
    understand(&fields).unwrap_or(Part::Other(Value::Object(fields)))
}

fn understand(fields: &Map<String, Value>) -> Option<Part> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => Some(Part::Text { text: text("text")?.to_owned(), extra: rest(fields, &["type", "text"]) }),
        "resource" => resource(fields.get("resource")?),
        kind @ ("image" | "audio") => {
            let mut media = Media::base64(text("data")?, text("mimeType")?);
            media.extra = rest(fields, &["type", "data", "mimeType"]);
            Some(if kind == "image" { Part::Image(media) } else { Part::Audio(media) })
        }
        _ => None,
    }
}

/// What is in a resource: a text with its address, or a file.
pub(super) fn resource(resource: &Value) -> Option<Part> {
    let fields = resource.as_object()?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let mut extra = BTreeMap::from([("uri".to_owned(), json!(text("uri")?))]);
    if let Some(text_of_it) = text("text") {
        extra.extend(text("mimeType").map(|kind| ("mime_type".to_owned(), json!(kind))));
        return Some(Part::Text { text: text_of_it.to_owned(), extra });
    }
    let mut media = Media::base64(text("blob")?, text("mimeType").unwrap_or(BYTES));
    media.extra = extra;
    Some(Part::File(media))
}

fn rest(fields: &Map<String, Value>, known: &[&str]) -> BTreeMap<String, Value> {
    let unknown = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A content as blocks.
pub(super) fn blocks(content: &Content) -> Vec<ContentBlock> {
    match content {
        Content::Text(text) => vec![ContentBlock::text(text)],
        Content::Parts(parts) => parts.iter().map(block).collect(),
    }
}

/// One part as a block.
pub(super) fn block(part: &Part) -> ContentBlock {
    match part {
        Part::Text { text, .. } => ContentBlock::Text(TextContent::new(text)),
        Part::Image(Media { source: MediaSource::Base64(data), mime_type, .. }) => {
            ContentBlock::Image(ImageContent::new(data, mime_type.as_deref().unwrap_or("image/png")))
        }
        Part::Audio(Media { source: MediaSource::Base64(data), mime_type, .. }) => {
            ContentBlock::Audio(AudioContent::new(data, mime_type.as_deref().unwrap_or("audio/wav")))
        }
        Part::File(Media { source: MediaSource::Base64(data), mime_type, extra }) => {
            let contents = ResourceContents::blob(data, address(extra, "file:///unnamed"));
            let contents = contents.with_mime_type(mime_type.as_deref().unwrap_or(BYTES));
            ContentBlock::Resource(EmbeddedResource::new(contents))
        }
        Part::Image(media) | Part::Audio(media) | Part::File(media) => link(media),
        other => {
            let value = serde_json::to_value(other).unwrap_or_default();
            serde_json::from_value(value.clone()).unwrap_or_else(|_| ContentBlock::text(value.to_string()))
        }
    }
}

/// Something elsewhere.
fn link(media: &Media) -> ContentBlock {
    let (MediaSource::Url(url) | MediaSource::Base64(url)) = &media.source;
    let mut resource = Resource::new(url, url);
    resource.mime_type.clone_from(&media.mime_type);
    ContentBlock::ResourceLink(resource)
}

/// What a resource holds: texts and files, under its address.
pub(super) fn contents(uri: &str, mime_type: Option<&str>, part: &Part) -> ResourceContents {
    let contents = match part {
        Part::Text { text, .. } => ResourceContents::text(text, uri),
        Part::Image(media) | Part::Audio(media) | Part::File(media) => {
            let (MediaSource::Base64(data) | MediaSource::Url(data)) = &media.source;
            let contents = ResourceContents::blob(data, uri);
            contents.with_mime_type(media.mime_type.as_deref().or(mime_type).unwrap_or(BYTES))
        }
        other => ResourceContents::text(serde_json::to_string(other).unwrap_or_default(), uri),
    };
    match (part, mime_type) {
        (Part::Text { .. }, Some(mime_type)) => contents.with_mime_type(mime_type),
        _ => contents,
    }
}

fn address<'a>(extra: &'a BTreeMap<String, Value>, otherwise: &'a str) -> &'a str {
    extra.get("uri").and_then(Value::as_str).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-82: texts are one text for the model.
    #[test]
    fn texts_are_joined_by_lines() {
        let blocks = vec![json!({"type": "text", "text": "a"}), json!({"type": "text", "text": "b"})];
        assert_eq!(read(blocks), Content::Text("a\nb".into()));
    }

    /// R-FWK-82: what is no text is kept, also of a kind that is not known here.
    #[test]
    fn other_content_is_kept() {
        let unknown = json!({"type": "hologram", "data": [1]});
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        let blocks = vec![
            json!({"type": "text", "text": "a", "annotations": {"priority": 1}}),
            json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
            json!({"type": "resource", "resource": {"uri": "x:1", "text": "t", "mimeType": "text/plain"}}),
            json!({"type": "resource", "resource": {"uri": "x:2", "blob": "AA=="}}),
            unknown.clone(),
            link.clone(),
            json!(7),
        ];
        let Content::Parts(parts) = read(blocks) else { panic!("parts") };
        assert!(matches!(&parts[0], Part::Text { text, extra } if text == "a" && extra.contains_key("annotations")));
        assert_eq!(parts[1], Part::Image(Media::base64("AA==", "image/png")));
        assert_eq!(parts[2], Part::Audio(Media::base64("AA==", "audio/wav")));
        assert!(matches!(&parts[3], Part::Text { text, extra } if text == "t" && extra["uri"] == "x:1"));
        assert!(matches!(&parts[4], Part::File(media) if media.extra["uri"] == "x:2"));
        assert_eq!(parts[5..], [Part::Other(unknown), Part::Other(link), Part::Other(json!(7))]);
    }

    /// R-FWK-83: what a tool of ours gives arrives as it was.
    #[test]
    fn parts_survive_the_way_there_and_back() {
        let mut file = Media::base64("AA==", "application/zip");
        file.extra.insert("uri".into(), json!("file:///a.zip"));
        let parts = vec![
            Part::text("a"),
            Part::Image(Media::base64("AA==", "image/png")),
            Part::Audio(Media::base64("AA==", "audio/wav")),
            Part::File(file),
            Part::Other(json!({"type": "resource_link", "uri": "file:///a", "name": "a"})),
        ];
        let content = Content::Parts(parts);
        let written = blocks(&content).iter().map(|block| serde_json::to_value(block).unwrap()).collect();
        assert_eq!(read(written), content);
    }
}
