//! Sample data of an invented company, embedded in the binary.

use std::io;
use std::path::Path;

use rust_embed::Embed;
use serde::Deserialize;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};
use superstep_documents::write_if_missing;

use crate::sources::{Sources, TimeToLive};
use crate::types::{Mode, PostSummary};

#[derive(Embed)]
#[folder = "sample"]
struct SampleFiles;

/// A question of the evaluation, with the documents that answer it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EvalQuestion {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Paths of the documents that answer the question. Any of them counts as right.
    pub expected: Vec<String>,
}

/// Writes the sample to a folder. Existing files are not overwritten, so that edits of the user are preserved.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    for name in SampleFiles::iter() {
        let path = folder.join(name.as_ref());
        let file = SampleFiles::get(&name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let written = file.and_then(|file| write_if_missing(&path, &file.data));
        written.map_err(|cause| {
            Error::new(ErrorCode::ConfigInvalid, format!("cannot write the sample to `{}`: {cause}", path.display()))
        })?;
    }
    Ok(())
}

/// Imports the posts of the sample with their relative ages. Existing posts are not changed.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn load_posts(sources: &Sources) -> Result<usize> {
    let posts = sources.posts();
    posts.import(self::posts(posts.now()?)?).await
}

/// Returns the posts of the sample, created at their relative age before `now`.
///
/// # Errors
/// Returns an error if the embedded sample is invalid.
pub fn posts(now: Time) -> Result<Vec<PostSummary>> {
    let posts: Vec<SamplePost> = read("posts.json")?;
    posts.into_iter().map(|post| post.into_summary(now)).collect()
}

/// Returns the questions of the evaluation.
///
/// # Errors
/// Returns an error if the embedded sample is invalid.
pub fn questions() -> Result<Vec<EvalQuestion>> {
    read("questions.json")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Result<T> {
    let sample_error = |reason: String| Error::new(ErrorCode::Internal, format!("the sample file `{name}` {reason}"));
    let file = SampleFiles::get(name).ok_or_else(|| sample_error("is missing".to_owned()))?;
    serde_json::from_slice(&file.data).map_err(|error| sample_error(format!("cannot be read: {error}")))
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
    fn into_summary(self, now: Time) -> Result<PostSummary> {
        let created = now.as_unix_micros() - self.age_minutes * 60_000_000;
        let time = |micros| {
            let time = Time::from_unix_micros(micros);
            time.map_err(|error| Error::new(ErrorCode::Internal, error.to_string()))
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
