//! The address of a bucket and the object names of keys.
//!
//! An object is named like its key, in a folder of the bucket, so that any tool shows the content and names sort like
//! keys. The only difference: in a segment of a key that begins with `.`, a `_` follows the `.`, because a URL cannot
//! contain the segments `.` and `..`.

use reqwest::Url;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::is_valid_key;

use crate::http::request::is_loopback;

/// Maximum length of the key prefix, which keeps every name within the limit of S3 (1,024 bytes).
const MAX_FOLDER_BYTES: usize = 128;

/// Location of the bucket, as set in the options.
#[derive(Debug, Clone)]
pub(super) struct BucketConfig {
    pub(super) bucket: String,
    pub(super) folder: String,
    pub(super) region: String,
    /// Endpoint of a service other than Amazon S3.
    pub(super) endpoint: Option<String>,
    /// True for path-style URLs, false for virtual-host style; `None` selects the default of the service.
    pub(super) is_path_style: Option<bool>,
    pub(super) allows_http: bool,
}

/// A folder of a bucket.
#[derive(Debug)]
pub(super) struct BucketAddress {
    /// Scheme, host and port.
    base: String,
    /// Value of the `Host` header.
    pub(super) host: String,
    /// Beginning of every path.
    root: String,
    folder: String,
    pub(super) is_loopback: bool,
}

impl BucketConfig {
    /// Checks the settings and builds the address of the bucket.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, naming it.
    pub(super) fn address(&self) -> Result<BucketAddress> {
        let reject = |message: String, help: &str| Err(Error::new(ErrorCode::ConfigInvalid, message).with_help(help));
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
        let is_bucket = (3..=63).contains(&self.bucket.len()) && self.bucket.bytes().all(is_plain);
        if !is_bucket || self.bucket.starts_with(['.', '-']) {
            return reject(format!("`{}` is not a valid bucket name", self.bucket), "use 3 to 63 of `a-z 0-9 . -`");
        }
        let are_segments_valid = self.folder.split('/').all(|segment| !segment.is_empty() && !segment.starts_with('.'));
        if !is_valid_key(&self.folder) || !are_segments_valid || self.folder.len() > MAX_FOLDER_BYTES {
            let help = format!(
                "use 1 to {MAX_FOLDER_BYTES} of `A-Z a-z 0-9 _ . : / -`, without empty segments or segments that begin \
                 with `.`"
            );
            return reject(format!("`{}` is not a valid folder", self.folder), &help);
        }
        if self.region.is_empty() || !self.region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return reject(
                format!("`{}` is not a valid region", self.region),
                "use a region name such as `eu-central-1`",
            );
        }
        let endpoint = self.endpoint.clone().unwrap_or_else(|| amazon_endpoint(&self.region));
        let Some(url) = Url::parse(&endpoint).ok().filter(|url| url.host_str().is_some() && url.query().is_none())
        else {
            return reject(format!("the endpoint `{endpoint}` is not a valid URL"), "use `https://host:port`");
        };
        let is_local = is_loopback(&url);
        let is_allowed = url.scheme() == "https" || (url.scheme() == "http" && (is_local || self.allows_http));
        if !is_allowed || !url.username().is_empty() || url.password().is_some() {
            let help = "use an `https://` URL without a user; `allow_http` allows `http` on a trusted network";
            return reject(format!("the endpoint at `{}` does not use HTTPS, or contains a user", host(&url)), help);
        }
        // A wildcard certificate covers only one label of a host name, so a bucket with a dot needs path style.
        let is_path_style = self.is_path_style.unwrap_or(self.endpoint.is_some() || self.bucket.contains('.'));
        let (bucket, path) = (&self.bucket, url.path().trim_end_matches('/'));
        let (host, root) = match is_path_style {
            true => (host(&url), format!("{path}/{bucket}")),
            false => (format!("{bucket}.{}", host(&url)), path.to_owned()),
        };
        Ok(BucketAddress {
            base: format!("{}://{host}", url.scheme()),
            host,
            root,
            folder: self.folder.clone(),
            is_loopback: is_local,
        })
    }
}

fn amazon_endpoint(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://s3.{region}.amazonaws.com{suffix}")
}

/// Returns host and port as in a request.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

impl BucketAddress {
    /// Returns the path of the bucket.
    pub(super) fn bucket(&self) -> String {
        if self.root.is_empty() { "/".to_owned() } else { self.root.clone() }
    }

    /// Returns the path of the object with this name.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{}", self.root, uri_encode(name, true))
    }

    /// Returns the URL of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the object name of a key. The name of a key prefix is a prefix of the names.
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

    /// Returns the key of an object name; `None` if the object does not belong to this store.
    pub(super) fn key(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(&self.folder)?.strip_prefix('/')?;
        let segments = rest.split('/').map(|segment| match segment.strip_prefix('.') {
            Some(rest) => rest.strip_prefix('_').map(|rest| format!(".{rest}")),
            None => Some(segment.to_owned()),
        });
        let key = segments.collect::<Option<Vec<_>>>()?.join("/");
        is_valid_key(&key).then_some(key)
    }

    /// Returns the name of an object outside of the folder, for testing the capabilities of the server.
    pub(super) fn probe_object(&self) -> String {
        format!("{}.check", self.folder)
    }

    /// Returns the address in errors.
    pub(super) fn display_name(&self) -> String {
        format!("{}{}", self.base, self.path(&self.folder))
    }
}

/// Percent-encodes a text as required by signatures: all bytes except letters, digits and `-._~`.
pub(super) fn uri_encode(text: &str, is_path: bool) -> String {
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

    fn default_config() -> BucketConfig {
        let (bucket, folder, region) = ("blobs".to_owned(), "superstep".to_owned(), "eu-central-1".to_owned());
        BucketConfig { bucket, folder, region, endpoint: None, is_path_style: None, allows_http: false }
    }

    fn config_with_endpoint(endpoint: &str) -> BucketConfig {
        BucketConfig { endpoint: Some(endpoint.to_owned()), ..default_config() }
    }

    /// R-FWK-40: the default is virtual-host style for Amazon and path style for other hosts.
    #[test]
    fn url_style_depends_on_the_service() {
        let china = BucketConfig { region: "cn-north-1".to_owned(), ..default_config() };
        let dotted = BucketConfig { bucket: "a.b".to_owned(), ..default_config() };
        let virtual_host =
            BucketConfig { is_path_style: Some(false), ..config_with_endpoint("https://r2.example.com") };
        let plain_http = BucketConfig { allows_http: true, ..config_with_endpoint("http://minio:9000") };
        for (config, url) in [
            (default_config(), "https://blobs.s3.eu-central-1.amazonaws.com/superstep/a%3Ab"),
            (china, "https://blobs.s3.cn-north-1.amazonaws.com.cn/superstep/a%3Ab"),
            (dotted, "https://s3.eu-central-1.amazonaws.com/a.b/superstep/a%3Ab"),
            (config_with_endpoint("http://127.0.0.1:9000/"), "http://127.0.0.1:9000/blobs/superstep/a%3Ab"),
            (config_with_endpoint("https://host/storage/s3"), "https://host/storage/s3/blobs/superstep/a%3Ab"),
            (virtual_host, "https://blobs.r2.example.com/superstep/a%3Ab"),
            (plain_http, "http://minio:9000/blobs/superstep/a%3Ab"),
        ] {
            let address = config.address().unwrap();
            let object_url = address.url(&address.path(&address.name("a:b")));
            assert_eq!(object_url, url);
            assert_eq!(Url::parse(&object_url).unwrap().as_str(), url, "the client changes the URL");
        }
    }

    /// R-FWK-40: an invalid bucket, folder, region or endpoint is rejected by name.
    #[test]
    fn invalid_buckets_are_rejected() {
        let with = |change: fn(&mut BucketConfig)| {
            let mut config = default_config();
            change(&mut config);
            config
        };
        for (config, expected) in [
            (with(|config| config.bucket = "No Bucket".to_owned()), "`No Bucket`"),
            (with(|config| config.bucket = "..".to_owned()), "`..`"),
            (with(|config| config.folder = "a//b".to_owned()), "`a//b`"),
            (with(|config| config.folder = "../b".to_owned()), "`../b`"),
            (with(|config| config.folder = "x".repeat(129)), "xxx"),
            (with(|config| config.region = "eu west".to_owned()), "`eu west`"),
            (config_with_endpoint("nonsense"), "`nonsense`"),
            (config_with_endpoint("http://minio:9000"), "minio:9000` does not use HTTPS"),
            (config_with_endpoint("https://user:secret@minio"), "contains a user"),
        ] {
            let error = config.address().unwrap_err();
            assert!(error.message().contains(expected) && !error.to_string().contains("secret"), "{error}");
            assert_eq!((error.code(), error.is_retryable()), (ErrorCode::ConfigInvalid, false));
        }
    }

    /// R-FWK-40: names convert back to keys, sort like keys, and keep their prefixes.
    #[test]
    fn object_names_convert_to_keys_and_sort_like_them() {
        let address = config_with_endpoint("http://localhost:1").address().unwrap();
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
            assert!(name.len() <= 1024 - MAX_FOLDER_BYTES);
            let url = address.url(&address.path(name));
            assert_eq!(Url::parse(&url).unwrap().as_str(), url, "the client changes the URL");
            for length in 1..key.len() {
                assert!(name.starts_with(&address.name(&key[..length])), "{key}");
            }
        }
        for foreign in ["superstep.check", "superstep/", "superstep/a b", "superstep/.b", "other/a", "superstepa"] {
            assert_eq!(address.key(foreign), None, "{foreign}");
        }
    }
}
