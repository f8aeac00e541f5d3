//! What is written in objects, and what the server answers: the line before a value, lists, and refusals in XML.
//!
//! The line makes every object one of its kind, so that its ETag stands for one put and no other. Its length makes objects that
//! lapse odd in size and the others even: a list tells the size, so only those that may have lapsed are looked at.

use std::borrow::Cow;

/// What the line begins with; the number is the version of the form.
const MARK: &str = "superstep1 ";
/// The length of the longest line.
pub(super) const HEAD: usize = MARK.len() + 32 + 1 + 16 + 2;
/// When a value ends that does not.
const NEVER: u64 = u64::MAX;

/// What the line before a value says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Whose put it was.
    pub(super) writer: String,
    /// When it lapses, in milliseconds since 1970.
    pub(super) ends: Option<u64>,
    /// Where the value begins.
    length: usize,
}

/// The bytes of an object.
pub(super) fn object(writer: &str, ends: Option<u64>, value: &[u8]) -> Vec<u8> {
    let mut line = format!("{MARK}{writer} {:016x}", ends.unwrap_or(NEVER));
    let is_odd = (line.len() + 1 + value.len()) % 2 == 1;
    line.push_str(if is_odd == ends.is_some() { "\n" } else { " \n" });
    [line.as_bytes(), value].concat()
}

/// Whether an object of this size may lapse.
pub(super) fn may_lapse(size: u64) -> bool {
    size % 2 == 1
}

impl Head {
    /// The line of an object, or of its first bytes; `None` when it has none.
    pub(super) fn read(object: &[u8]) -> Option<Self> {
        let length = object.iter().take(HEAD).position(|byte| *byte == b'\n')? + 1;
        let line = std::str::from_utf8(&object[..length]).ok()?;
        let (writer, ends) = line.strip_prefix(MARK)?.trim_end().split_once(' ')?;
        let ends = u64::from_str_radix(ends, 16).ok()?;
        Some(Self { writer: writer.to_owned(), ends: (ends != NEVER).then_some(ends), length })
    }

    pub(super) fn has_lapsed(&self, now: u64) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }

    /// The value of an object with this line.
    pub(super) fn value(&self, mut object: Vec<u8>) -> Vec<u8> {
        object.drain(..self.length);
        object
    }
}

/// A page of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Names and sizes.
    pub(super) objects: Vec<(String, u64)>,
    /// How to ask for the next page; `None` at the last.
    pub(super) next: Option<String>,
}

impl Page {
    /// Reads an answer; `None` when it is something else.
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

/// What the first element with a name holds, when that is text.
pub(super) fn text<'a>(xml: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (inside, _) = rest.split_once(&format!("</{name}>"))?;
    if !inside.contains('&') {
        return Some(inside.into());
    }
    let mut pieces = inside.split('&');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        let (word, rest) = piece.split_once(';')?;
        plain.push(match word {
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
        plain.push_str(rest);
    }
    Some(plain.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: values of all lengths come back, and the size of an object says whether it may lapse.
    #[test]
    fn values_come_back_and_sizes_say_what_lapses() {
        let writer = "0123456789abcdef".repeat(2);
        for ends in [None, Some(0), Some(1_763_000_000_000)] {
            for length in [0, 1, 2, 3, 1_000, 1_001] {
                let value: Vec<u8> = (0..length).map(|number| if number % 3 == 0 { b'\n' } else { b' ' }).collect();
                let object = object(&writer, ends, &value);
                assert_eq!(may_lapse(object.len() as u64), ends.is_some());
                let head = Head::read(&object).unwrap();
                assert_eq!((&head.writer, head.ends), (&writer, ends));
                assert_eq!(Head::read(&object[..HEAD.min(object.len())]), Some(head.clone()));
                assert_eq!(head.value(object), value);
            }
        }
        let head = Head::read(&object(&writer, Some(5), b"")).unwrap();
        assert!(!head.has_lapsed(4) && head.has_lapsed(5));
        for other in [&b""[..], b"superstep1", b"another text\n", b"superstep1 a\n", b"superstep1 a x\n", &[0; 100]] {
            assert_eq!(Head::read(other), None);
        }
    }

    /// R-FWK-40: lists are read as servers write them; what is no list is none.
    #[test]
    fn lists_are_read() {
        let list = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>\
             <IsTruncated>true</IsTruncated><Contents><Key>a/b</Key><ETag>&quot;1&quot;</ETag><Size>7</Size></Contents>\n\
             <Contents><Size>0</Size><Key>&lt;a&amp;b&#62;&#x41;</Key></Contents>\
             <NextContinuationToken>a&amp;=</NextContinuationToken></ListBucketResult>";
        let objects = vec![("a/b".to_owned(), 7), ("<a&b>A".to_owned(), 0)];
        assert_eq!(Page::read(list.as_bytes()), Some(Page { objects, next: Some("a&=".to_owned()) }));
        let empty = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(Page::read(empty.as_bytes()), Some(Page::default()));
        for other in [
            "",
            "<html>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
            "<ListBucketResult><IsTruncated>true</IsTruncated>",
        ] {
            assert_eq!(Page::read(other.as_bytes()), None, "{other}");
        }
    }
}
