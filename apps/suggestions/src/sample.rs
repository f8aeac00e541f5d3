//! The sample data, built into the binary: an invented company to try the application with.

use std::io;
use std::path::Path;

use rust_embed::Embed;
use serde::Deserialize;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};
use superstep_documents::write_new;

use crate::sources::{Sources, TimeToLive};
use crate::types::{Mode, PostSummary};

#[derive(Embed)]
#[folder = "sample"]
struct Files;

/// A question of the check, and the documents that answer it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: String,
    /// What somebody asks.
    pub question: String,
    /// Paths of documents, any of which is right.
    pub expected: Vec<String>,
}

/// Writes the sample below a folder. What is there already stays as it is, so that nobody loses what they changed.
///
/// # Errors
/// When a file cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    for name in Files::iter() {
        let path = folder.join(name.as_ref());
        let file = Files::get(&name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let written = file.and_then(|file| write_new(&path, &file.data));
        written.map_err(|cause| {
            Error::new(Code::ConfigInvalid, format!("cannot write the sample to `{}`: {cause}", path.display()))
        })?;
    }
    Ok(())
}

/// Takes the posts of the sample into the table, as old as they say they are; those that are there stay.
///
/// # Errors
/// When the database fails.
pub async fn load_posts(sources: &Sources) -> Result<usize> {
    let posts = sources.posts();
    posts.import(self::posts(posts.now()?)?).await
}

/// The posts of the sample, written as long before `now` as they say.
///
/// # Errors
/// When the sample was built wrong.
pub fn posts(now: Time) -> Result<Vec<PostSummary>> {
    let posts: Vec<SamplePost> = read("posts.json")?;
    posts.into_iter().map(|post| post.at(now)).collect()
}

/// The questions of the check.
///
/// # Errors
/// When the sample was built wrong.
pub fn questions() -> Result<Vec<Question>> {
    read("questions.json")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Result<T> {
    let broken = |why: String| Error::new(Code::Internal, format!("the sample file `{name}` {why}"));
    let file = Files::get(name).ok_or_else(|| broken("is missing".to_owned()))?;
    serde_json::from_slice(&file.data).map_err(|error| broken(format!("cannot be read: {error}")))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SamplePost {
    id: String,
    author_id: String,
    author_name: String,
    text: String,
    tags: Vec<String>,
    mode: Mode,
    lat: Option<f64>,
    lng: Option<f64>,
    age_minutes: i64,
    ttl: TimeToLive,
    interested_count: u64,
    join_count: u64,
}

impl SamplePost {
    fn at(self, now: Time) -> Result<PostSummary> {
        let created = now.as_unix_micros() - self.age_minutes * 60_000_000;
        let time = |micros| {
            let time = Time::from_unix_micros(micros);
            time.map_err(|fault| Error::new(Code::Internal, fault.to_string()))
        };
        Ok(PostSummary {
            id: self.id,
            author_id: self.author_id,
            author_name: self.author_name,
            text: self.text,
            tags: self.tags,
            mode: self.mode,
            lat: self.lat,
            lng: self.lng,
            created_at: time(created)?,
            expires_at: time(created + self.ttl.micros())?,
            interested_count: self.interested_count,
            join_count: self.join_count,
        })
    }
}
