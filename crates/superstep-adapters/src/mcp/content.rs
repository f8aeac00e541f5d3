//! Conversion between MCP content blocks and message parts.
//!
//! Reads JSON instead of the library's types, so that unknown kinds of content are preserved.

use std::collections::BTreeMap;

use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, Resource, ResourceContents, TextContent,
};
use serde_json::{Map, Value, json};
use superstep_core::message::{Content, ContentPart, Media, MediaSource};

/// MIME type of content without one.
const DEFAULT_MIME_TYPE: &str = "application/octet-stream";

/// Converts blocks to message content. If all blocks are plain text, they become one text with a line for each.
pub(super) fn read(blocks: Vec<Value>) -> Content {
    let parts: Vec<ContentPart> = blocks.into_iter().map(part).collect();
    let texts = parts.iter().map(|part| match part {
        ContentPart::Text { text, extra } if extra.is_empty() => Some(text.as_str()),
        _ => None,
    });
    match texts.collect::<Option<Vec<&str>>>() {
        Some(texts) => Content::Text(texts.join("\n")),
        None => Content::Parts(parts),
    }
}

/// Converts one block; an unknown block becomes [`ContentPart::Other`].
pub(super) fn part(block: Value) -> ContentPart {
    let Value::Object(fields) = block else { return ContentPart::Other(block) };
    parse_block(&fields).unwrap_or(ContentPart::Other(Value::Object(fields)))
}

fn parse_block(fields: &Map<String, Value>) -> Option<ContentPart> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    match text("type")? {
        "text" => {
            Some(ContentPart::Text { text: text("text")?.to_owned(), extra: unknown_fields(fields, &["type", "text"]) })
        }
        "resource" => resource(fields.get("resource")?),
        kind @ ("image" | "audio") => {
            let mut media = Media::base64(text("data")?, text("mimeType")?);
            media.extra = unknown_fields(fields, &["type", "data", "mimeType"]);
            Some(if kind == "image" { ContentPart::Image(media) } else { ContentPart::Audio(media) })
        }
        _ => None,
    }
}

/// Converts the content of a resource to a text with its URI or a file.
pub(super) fn resource(resource: &Value) -> Option<ContentPart> {
    let fields = resource.as_object()?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let mut extra = BTreeMap::from([("uri".to_owned(), json!(text("uri")?))]);
    if let Some(content) = text("text") {
        extra.extend(text("mimeType").map(|kind| ("mime_type".to_owned(), json!(kind))));
        return Some(ContentPart::Text { text: content.to_owned(), extra });
    }
    let mut media = Media::base64(text("blob")?, text("mimeType").unwrap_or(DEFAULT_MIME_TYPE));
    media.extra = extra;
    Some(ContentPart::File(media))
}

fn unknown_fields(fields: &Map<String, Value>, known_keys: &[&str]) -> BTreeMap<String, Value> {
    let unknown = fields.iter().filter(|(key, _)| !known_keys.contains(&key.as_str()));
    unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Converts message content to blocks.
pub(super) fn blocks(content: &Content) -> Vec<ContentBlock> {
    match content {
        Content::Text(text) => vec![ContentBlock::text(text)],
        Content::Parts(parts) => parts.iter().map(block).collect(),
    }
}

/// Converts one part to a block.
pub(super) fn block(part: &ContentPart) -> ContentBlock {
    match part {
        ContentPart::Text { text, .. } => ContentBlock::Text(TextContent::new(text)),
        ContentPart::Image(Media { source: MediaSource::Base64(data), mime_type, .. }) => {
            ContentBlock::Image(ImageContent::new(data, mime_type.as_deref().unwrap_or("image/png")))
        }
        ContentPart::Audio(Media { source: MediaSource::Base64(data), mime_type, .. }) => {
            ContentBlock::Audio(AudioContent::new(data, mime_type.as_deref().unwrap_or("audio/wav")))
        }
        ContentPart::File(Media { source: MediaSource::Base64(data), mime_type, extra }) => {
            let contents = ResourceContents::blob(data, address(extra, "file:///unnamed"));
            let contents = contents.with_mime_type(mime_type.as_deref().unwrap_or(DEFAULT_MIME_TYPE));
            ContentBlock::Resource(EmbeddedResource::new(contents))
        }
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => resource_link(media),
        other => {
            let value = serde_json::to_value(other).unwrap_or_default();
            serde_json::from_value(value.clone()).unwrap_or_else(|_| ContentBlock::text(value.to_string()))
        }
    }
}

/// Returns a link to media that is not embedded.
fn resource_link(media: &Media) -> ContentBlock {
    let (MediaSource::Url(url) | MediaSource::Base64(url)) = &media.source;
    let mut resource = Resource::new(url, url);
    resource.mime_type.clone_from(&media.mime_type);
    ContentBlock::ResourceLink(resource)
}

/// Converts a part to the content of the resource with this URI.
pub(super) fn contents(uri: &str, mime_type: Option<&str>, part: &ContentPart) -> ResourceContents {
    let contents = match part {
        ContentPart::Text { text, .. } => ResourceContents::text(text, uri),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => match &media.source {
            MediaSource::Base64(data) => {
                let contents = ResourceContents::blob(data, uri);
                contents.with_mime_type(media.mime_type.as_deref().or(mime_type).unwrap_or(DEFAULT_MIME_TYPE))
            }
            // A blob is base64: media that is elsewhere is served as its address.
            MediaSource::Url(url) => return ResourceContents::text(url, uri).with_mime_type("text/uri-list"),
        },
        other => ResourceContents::text(serde_json::to_string(other).unwrap_or_default(), uri),
    };
    match (part, mime_type) {
        (ContentPart::Text { .. }, Some(mime_type)) => contents.with_mime_type(mime_type),
        _ => contents,
    }
}

fn address<'a>(extra: &'a BTreeMap<String, Value>, default: &'a str) -> &'a str {
    extra.get("uri").and_then(Value::as_str).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-82: text blocks are joined to one text for the model.
    #[test]
    fn texts_are_joined_by_lines() {
        let blocks = vec![json!({"type": "text", "text": "a"}), json!({"type": "text", "text": "b"})];
        assert_eq!(read(blocks), Content::Text("a\nb".into()));
    }

    /// R-FWK-82: other content is preserved, including unknown kinds.
    #[test]
    fn unknown_content_is_preserved() {
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
        assert!(
            matches!(&parts[0], ContentPart::Text { text, extra } if text == "a" && extra.contains_key("annotations"))
        );
        assert_eq!(parts[1], ContentPart::Image(Media::base64("AA==", "image/png")));
        assert_eq!(parts[2], ContentPart::Audio(Media::base64("AA==", "audio/wav")));
        assert!(matches!(&parts[3], ContentPart::Text { text, extra } if text == "t" && extra["uri"] == "x:1"));
        assert!(matches!(&parts[4], ContentPart::File(media) if media.extra["uri"] == "x:2"));
        assert_eq!(parts[5..], [ContentPart::Other(unknown), ContentPart::Other(link), ContentPart::Other(json!(7))]);
    }

    /// R-FWK-83: parts survive a conversion to MCP and back.
    #[test]
    fn content_round_trips() {
        let mut file = Media::base64("AA==", "application/zip");
        file.extra.insert("uri".into(), json!("file:///a.zip"));
        let parts = vec![
            ContentPart::text("a"),
            ContentPart::Image(Media::base64("AA==", "image/png")),
            ContentPart::Audio(Media::base64("AA==", "audio/wav")),
            ContentPart::File(file),
            ContentPart::Other(json!({"type": "resource_link", "uri": "file:///a", "name": "a"})),
        ];
        let content = Content::Parts(parts);
        let converted = blocks(&content).iter().map(|block| serde_json::to_value(block).unwrap()).collect();
        assert_eq!(read(converted), content);
    }

    /// R-FWK-83: media of a resource are a blob of base64; media at an address are the address, which is no base64.
    #[test]
    fn media_at_an_address_are_served_as_the_address() {
        let json = |media| serde_json::to_value(contents("x:1", None, &ContentPart::Image(media))).unwrap();
        let embedded = json!({ "uri": "x:1", "mimeType": "image/png", "blob": "AA==" });
        assert_eq!(json(Media::base64("AA==", "image/png")), embedded);
        let address = "https://example.com/a.png";
        let linked = json!({ "uri": "x:1", "mimeType": "text/uri-list", "text": address });
        assert_eq!(json(Media::url(address)), linked);
    }
}
