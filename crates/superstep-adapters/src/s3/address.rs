//! Where a bucket is, and what the object of a key is called.
//!
//! An object has the name of its key, in a folder of the bucket, so that any tool shows what is where and the order of names
//! is the order of keys. One thing differs: a piece of a key that begins with `.` has `_` behind that, because no address
//! can have a piece that is `.` or `..`.

use reqwest::Url;
use superstep_core::error::{Code, Error, Result};
use superstep_core::port::is_key;

use crate::remote::is_here;

/// The longest folder: with it, and with all that is put into a key, no name is longer than S3 takes (1,024 bytes).
const LONGEST_FOLDER: usize = 128;

/// What the user said about the place.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) bucket: String,
    pub(super) folder: String,
    pub(super) region: String,
    /// Another service than Amazon's.
    pub(super) endpoint: Option<String>,
    /// Whether the bucket is in the path and not in the name of the host. As the service likes it unless told.
    pub(super) is_in_path: Option<bool>,
    pub(super) allows_http: bool,
}

/// A folder of a bucket.
#[derive(Debug)]
pub(super) struct Address {
    /// Scheme, host and port.
    base: String,
    /// What a request calls the host.
    pub(super) host: String,
    /// What every path begins with.
    root: String,
    folder: String,
    pub(super) is_near: bool,
}

impl Place {
    /// # Errors
    /// When something of it cannot be, naming it.
    pub(super) fn address(&self) -> Result<Address> {
        let refuse = |message: String, help: &str| Err(Error::new(Code::ConfigInvalid, message).help(help));
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
        let is_bucket = (3..=63).contains(&self.bucket.len()) && self.bucket.bytes().all(is_plain);
        if !is_bucket || self.bucket.starts_with(['.', '-']) {
            return refuse(format!("`{}` is not the name of a bucket", self.bucket), "take 3 to 63 of `a-z 0-9 . -`");
        }
        let pieces_stand = self.folder.split('/').all(|piece| !piece.is_empty() && !piece.starts_with('.'));
        if !is_key(&self.folder) || !pieces_stand || self.folder.len() > LONGEST_FOLDER {
            let help =
                format!("take 1 to {LONGEST_FOLDER} of `A-Z a-z 0-9 _ . : / -`, no piece empty or with `.` in front");
            return refuse(format!("`{}` cannot be a folder of a bucket", self.folder), &help);
        }
        if self.region.is_empty() || !self.region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return refuse(
                format!("`{}` is not a region", self.region),
                "write it as Amazon does, such as `eu-central-1`",
            );
        }
        let endpoint = self.endpoint.clone().unwrap_or_else(|| amazon(&self.region));
        let Some(url) = Url::parse(&endpoint).ok().filter(|url| url.host_str().is_some() && url.query().is_none())
        else {
            return refuse(format!("the endpoint `{endpoint}` is no address"), "write `https://host:port`");
        };
        let is_near = is_here(&url);
        let is_allowed = url.scheme() == "https" || (url.scheme() == "http" && (is_near || self.allows_http));
        if !is_allowed || !url.username().is_empty() || url.password().is_some() {
            let help =
                "write `https://` before it and no user in it; `allow_http` allows `http` on a network you trust";
            return refuse(format!("the endpoint at `{}` is not encrypted, or names a user", host(&url)), help);
        }
        // A certificate for any bucket is for one piece of a name only.
        let is_in_path = self.is_in_path.unwrap_or(self.endpoint.is_some() || self.bucket.contains('.'));
        let (bucket, path) = (&self.bucket, url.path().trim_end_matches('/'));
        let (host, root) = match is_in_path {
            true => (host(&url), format!("{path}/{bucket}")),
            false => (format!("{bucket}.{}", host(&url)), path.to_owned()),
        };
        Ok(Address { base: format!("{}://{host}", url.scheme()), host, root, folder: self.folder.clone(), is_near })
    }
}

fn amazon(region: &str) -> String {
    let end = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://s3.{region}.amazonaws.com{end}")
}

/// Host and port, as a request names them.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

impl Address {
    /// The path of the bucket.
    pub(super) fn bucket(&self) -> String {
        if self.root.is_empty() { "/".to_owned() } else { self.root.clone() }
    }

    /// The path of the object with this name.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{}", self.root, encoded(name, true))
    }

    /// The whole address of a path of this host.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// What the object of a key is called; also what the names of keys with this beginning begin with.
    pub(super) fn name(&self, key: &str) -> String {
        let mut name = format!("{}/", self.folder);
        for letter in key.chars() {
            let is_first = name.ends_with('/');
            name.push(letter);
            if is_first && letter == '.' {
                name.push('_');
            }
        }
        name
    }

    /// The key whose object has a name; `None` when it is none of ours.
    pub(super) fn key(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(&self.folder)?.strip_prefix('/')?;
        let pieces = rest.split('/').map(|piece| match piece.strip_prefix('.') {
            Some(rest) => rest.strip_prefix('_').map(|rest| format!(".{rest}")),
            None => Some(piece.to_owned()),
        });
        let key = pieces.collect::<Option<Vec<_>>>()?.join("/");
        is_key(&key).then_some(key)
    }

    /// An object beside the folder, to try on it what the server can do.
    pub(super) fn sample(&self) -> String {
        format!("{}.check", self.folder)
    }

    /// What it is called in errors.
    pub(super) fn spoken(&self) -> String {
        format!("{}{}", self.base, self.path(&self.folder))
    }
}

/// A text in an address, as signatures want it: everything but letters, digits and `-._~` is written as a number.
pub(super) fn encoded(text: &str, is_path: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (is_path && byte == b'/');
        match is_plain {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        let (bucket, folder, region) = ("blobs".to_owned(), "superstep".to_owned(), "eu-central-1".to_owned());
        Place { bucket, folder, region, endpoint: None, is_in_path: None, allows_http: false }
    }

    fn at(endpoint: &str) -> Place {
        Place { endpoint: Some(endpoint.to_owned()), ..place() }
    }

    /// R-FWK-40: a bucket is in the name of Amazon's host and in the path of other hosts, unless told.
    #[test]
    fn buckets_are_found_where_the_service_has_them() {
        let china = Place { region: "cn-north-1".to_owned(), ..place() };
        let dotted = Place { bucket: "a.b".to_owned(), ..place() };
        let named = Place { is_in_path: Some(false), ..at("https://r2.example.com") };
        let plain = Place { allows_http: true, ..at("http://minio:9000") };
        for (place, url) in [
            (place(), "https://blobs.s3.eu-central-1.amazonaws.com/superstep/a%3Ab"),
            (china, "https://blobs.s3.cn-north-1.amazonaws.com.cn/superstep/a%3Ab"),
            (dotted, "https://s3.eu-central-1.amazonaws.com/a.b/superstep/a%3Ab"),
            (at("http://127.0.0.1:9000/"), "http://127.0.0.1:9000/blobs/superstep/a%3Ab"),
            (at("https://host/storage/s3"), "https://host/storage/s3/blobs/superstep/a%3Ab"),
            (named, "https://blobs.r2.example.com/superstep/a%3Ab"),
            (plain, "http://minio:9000/blobs/superstep/a%3Ab"),
        ] {
            let address = place.address().unwrap();
            let found = address.url(&address.path(&address.name("a:b")));
            assert_eq!(found, url);
            assert_eq!(Url::parse(&found).unwrap().as_str(), url, "the client changes it");
        }
    }

    /// R-FWK-40: what cannot be a bucket, a folder, a region or an endpoint is refused by name.
    #[test]
    fn what_cannot_be_is_refused() {
        let with = |change: fn(&mut Place)| {
            let mut place = place();
            change(&mut place);
            place
        };
        for (place, told) in [
            (with(|place| place.bucket = "No Bucket".to_owned()), "`No Bucket`"),
            (with(|place| place.bucket = "..".to_owned()), "`..`"),
            (with(|place| place.folder = "a//b".to_owned()), "`a//b`"),
            (with(|place| place.folder = "../b".to_owned()), "`../b`"),
            (with(|place| place.folder = "x".repeat(129)), "xxx"),
            (with(|place| place.region = "eu west".to_owned()), "`eu west`"),
            (at("nonsense"), "`nonsense`"),
            (at("http://minio:9000"), "minio:9000` is not encrypted"),
            (at("https://user:secret@minio"), "names a user"),
        ] {
            let error = place.address().unwrap_err();
            assert!(error.message().contains(told) && !error.to_string().contains("secret"), "{error}");
            assert_eq!((error.code(), error.is_retryable()), (Code::ConfigInvalid, false));
        }
    }

    /// R-FWK-40: names come back as keys, stand in the order of keys, and begin as their keys begin.
    #[test]
    fn names_are_like_their_keys() {
        let address = at("http://localhost:1").address().unwrap();
        let mut keys: Vec<String> =
            ["a", "/", "//", ".", "..", "._", "a/.", "a/..", "a/.b", "a/-", "a/0", "a./b", "a//."]
                .map(str::to_owned)
                .to_vec();
        keys.extend(["-", "..a", "a/", "a-", "./".repeat(256).as_str(), "/".repeat(512).as_str()].map(str::to_owned));
        keys.sort();
        let names: Vec<String> = keys.iter().map(|key| address.name(key)).collect();
        assert!(names.is_sorted());
        for (key, name) in keys.iter().zip(&names) {
            assert_eq!(address.key(name).as_ref(), Some(key));
            assert!(name.len() <= 1024 - LONGEST_FOLDER);
            let url = address.url(&address.path(name));
            assert_eq!(Url::parse(&url).unwrap().as_str(), url, "the client changes it");
            for length in 1..key.len() {
                assert!(name.starts_with(&address.name(&key[..length])), "{key}");
            }
        }
        for foreign in ["superstep.check", "superstep/", "superstep/a b", "superstep/.b", "other/a", "superstepa"] {
            assert_eq!(address.key(foreign), None, "{foreign}");
        }
    }
}
