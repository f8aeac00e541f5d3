//! Opens the sources: the configured folder, or the sample, which is unpacked first.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::SuggestionsSettings;
use crate::sample;
use crate::sources::{self, M365Settings, Sources};

/// Opens all sources on the blocking thread pool and loads the posts of the sample.
pub(super) async fn open(settings: &SuggestionsSettings) -> Result<Sources> {
    let owned_settings = settings.clone();
    let opened = tokio::task::spawn_blocking(move || open_blocking(&owned_settings)).await;
    let sources = opened.map_err(|error| Error::internal(format!("the sources cannot be opened: {error}")))??;
    if settings.folder.is_none() {
        sample::load_posts(&sources).await?;
    }
    Ok(sources)
}

fn open_blocking(settings: &SuggestionsSettings) -> Result<Sources> {
    let sample = settings.data_dir.join("sample");
    let folder = settings.folder.as_deref().unwrap_or(&sample);
    if settings.folder.is_none() {
        sample::unpack(folder)?;
        keep_out_of_git(&settings.data_dir);
    }
    let mut source_settings = sources::SourceSettings::from_folder(folder);
    if source_settings.docs.is_none()
        && source_settings.issues.is_none()
        && matches!(source_settings.m365, M365Settings::None)
    {
        source_settings.docs = Some(folder.to_owned());
    }
    (source_settings.posts, source_settings.clock) = (settings.posts.clone(), settings.clock.clone());
    if let Some(m365) = &settings.m365 {
        source_settings.m365 = m365.clone();
    }
    let sources = Sources::open(&source_settings)?;
    if let Some(file) = settings.posts.as_deref().filter(|_| settings.folder.is_none()) {
        delete_expired_sample_posts(file, sources.posts().now()?)?;
    }
    Ok(sources)
}

/// Deletes expired sample posts, because their rows would block the insertion of new ones. Posts of users are never
/// deleted.
fn delete_expired_sample_posts(file: &Path, now: Time) -> Result<()> {
    const DELETE_EXPIRED: &str = "DELETE FROM posts WHERE expires_at <= ?1 AND id IN (SELECT value FROM json_each(?2))";
    let ids: Vec<String> = sample::posts(now)?.into_iter().map(|post| post.id).collect();
    let delete = || {
        let posts = Connection::open(file)?;
        posts.busy_timeout(Duration::from_secs(5))?;
        posts.execute(DELETE_EXPIRED, params![now.as_unix_micros(), Value::from(ids).to_string()])
    };
    let failed = |cause: rusqlite::Error| {
        Error::new(ErrorCode::StoreUnavailable, format!("expired posts could not be deleted: {cause}"))
    };
    delete().map(drop).map_err(failed)
}

/// Writes a `.gitignore`, because the unpacked sample does not belong in a repository. Write errors are ignored.
fn keep_out_of_git(data_dir: &Path) {
    let gitignore = data_dir.join(".gitignore");
    if !gitignore.exists() {
        let _ = std::fs::write(gitignore, "*\n");
    }
}
