//! The format of objects, and the XML of responses: the header line before a value, listings, and errors.
//!
//! The header line makes every object unique, so that its ETag identifies one put. The length of the line makes the
//! size of expiring objects odd and of others even: a listing contains sizes, so only objects that may be expired
//! have to be read.

use std::borrow::Cow;

/// Beginning of the header line with the version of the format.
const MAGIC: &str = "superstep1 ";
/// Maximum length of the header line in bytes.
pub(super) const MAX_HEADER_BYTES: usize = MAGIC.len() + 32 + 1 + 16 + 2;
/// Expiry of a value that does not expire.
const NO_EXPIRY: u64 = u64::MAX;

/// Content of the header line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectHeader {
    /// Token of the put that wrote the object.
    pub(super) writer: String,
    /// Expiry in milliseconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// Length of the line, which is the offset of the value.
    length: usize,
}

/// Returns the bytes of an object.
pub(super) fn object(writer: &str, expires_at: Option<u64>, value: &[u8]) -> Vec<u8> {
    let mut line = format!("{MAGIC}{writer} {:016x}", expires_at.unwrap_or(NO_EXPIRY));
    let is_odd = (line.len() + 1 + value.len()) % 2 == 1;
    line.push_str(if is_odd == expires_at.is_some() { "\n" } else { " \n" });
    [line.as_bytes(), value].concat()
}

/// Returns true if an object of this size may expire.
pub(super) fn may_expire(size: u64) -> bool {
    size % 2 == 1
}

impl ObjectHeader {
    /// Parses the header line of an object or of its beginning; `None` if there is none.
    pub(super) fn read(object: &[u8]) -> Option<Self> {
        let length = object.iter().take(MAX_HEADER_BYTES).position(|byte| *byte == b'\n')? + 1;
        let line = std::str::from_utf8(&object[..length]).ok()?;
        let (writer, expires_at) = line.strip_prefix(MAGIC)?.trim_end().split_once(' ')?;
        let expires_at = u64::from_str_radix(expires_at, 16).ok()?;
        Some(Self { writer: writer.to_owned(), expires_at: (expires_at != NO_EXPIRY).then_some(expires_at), length })
    }

    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Returns the value of an object with this header.
    pub(super) fn value(&self, mut object: Vec<u8>) -> Vec<u8> {
        object.drain(..self.length);
        object
    }
}

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListPage {
    /// Names and sizes.
    pub(super) objects: Vec<(String, u64)>,
    /// Continuation token of the next page; `None` on the last one.
    pub(super) next: Option<String>,
}

impl ListPage {
    /// Parses a listing; `None` if the body is something else.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let xml = std::str::from_utf8(body).ok().filter(|xml| xml.contains("<ListBucketResult"))?;
        let mut page = Self::default();
        for contents in xml.split("<Contents>").skip(1) {
            page.objects.push((text(contents, "Key")?.into_owned(), text(contents, "Size")?.parse().ok()?));
        }
        if text(xml, "IsTruncated").as_deref() == Some("true") {
            page.next = Some(text(xml, "NextContinuationToken")?.into_owned());
        }
        Some(page)
    }
}

/// Returns the text of the first element with a name.
pub(super) fn text<'a>(xml: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    if !content.contains('&') {
        return Some(content.into());
    }
    let mut pieces = content.split('&');
    let mut unescaped = pieces.next()?.to_owned();
    for piece in pieces {
        let (entity, rest) = piece.split_once(';')?;
        unescaped.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => match number.strip_prefix("#x") {
                Some(digits) => char::from_u32(u32::from_str_radix(digits, 16).ok()?)?,
                None => char::from_u32(number.strip_prefix('#')?.parse().ok()?)?,
            },
        });
        unescaped.push_str(rest);
    }
    Some(unescaped.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: values of all lengths are restored, and the size of an object shows whether it may expire.
    #[test]
    fn values_round_trip_and_sizes_show_expiry() {
        let writer = "0123456789abcdef".repeat(2);
        for expires_at in [None, Some(0), Some(1_763_000_000_000)] {
            for length in [0, 1, 2, 3, 1_000, 1_001] {
                let value: Vec<u8> = (0..length).map(|number| if number % 3 == 0 { b'\n' } else { b' ' }).collect();
                let object = object(&writer, expires_at, &value);
                assert_eq!(may_expire(object.len() as u64), expires_at.is_some());
                let header = ObjectHeader::read(&object).unwrap();
                assert_eq!((&header.writer, header.expires_at), (&writer, expires_at));
                assert_eq!(ObjectHeader::read(&object[..MAX_HEADER_BYTES.min(object.len())]), Some(header.clone()));
                assert_eq!(header.value(object), value);
            }
        }
        let header = ObjectHeader::read(&object(&writer, Some(5), b"")).unwrap();
        assert!(!header.is_expired(4) && header.is_expired(5));
        for other in [&b""[..], b"superstep1", b"another text\n", b"superstep1 a\n", b"superstep1 a x\n", &[0; 100]] {
            assert_eq!(ObjectHeader::read(other), None);
        }
    }

    /// R-FWK-40: listings of different servers are parsed, other bodies are rejected.
    #[test]
    fn listings_are_parsed() {
        let list = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>\
             <IsTruncated>true</IsTruncated><Contents><Key>a/b</Key><ETag>&quot;1&quot;</ETag><Size>7</Size></Contents>\n\
             <Contents><Size>0</Size><Key>&lt;a&amp;b&#62;&#x41;</Key></Contents>\
             <NextContinuationToken>a&amp;=</NextContinuationToken></ListBucketResult>";
        let objects = vec![("a/b".to_owned(), 7), ("<a&b>A".to_owned(), 0)];
        assert_eq!(ListPage::read(list.as_bytes()), Some(ListPage { objects, next: Some("a&=".to_owned()) }));
        let empty = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(ListPage::read(empty.as_bytes()), Some(ListPage::default()));
        for other in [
            "",
            "<html>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
            "<ListBucketResult><IsTruncated>true</IsTruncated>",
        ] {
            assert_eq!(ListPage::read(other.as_bytes()), None, "{other}");
        }
    }
}
