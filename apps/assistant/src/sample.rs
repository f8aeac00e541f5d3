//! The embedded sample: shop data, handbook, users and policy.

use std::path::Path;
use std::sync::Arc;

use rust_embed::Embed;
use superstep::{Error, ErrorCode, Result};
use superstep_documents::write_if_missing;

use crate::data::{Dataset, FileContent};

/// Files of the sample.
#[derive(Embed)]
#[folder = "sample"]
struct SampleFiles;

/// Returns a file of the sample as text, by its path, such as `policy.toml`.
#[must_use]
pub fn text(path: &str) -> Option<String> {
    String::from_utf8(SampleFiles::get(path)?.data.into_owned()).ok()
}

/// Unpacks the sample into a folder. Existing files are not overwritten, because a user may have changed them.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    for path in SampleFiles::iter() {
        let Some(file) = SampleFiles::get(&path) else { continue };
        let target = folder.join(&*path);
        write_if_missing(&target, &file.data).map_err(|cause| {
            let message = format!("cannot write the sample to `{}`: {cause}", target.display());
            let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
            Error::new(ErrorCode::ConfigInvalid, message).with_source(cause)
        })?;
    }
    Ok(())
}

impl Dataset {
    /// Loads the shop of the sample.
    ///
    /// # Errors
    /// Returns an error if the embedded files cannot be loaded, which is a bug.
    pub fn sample() -> Result<Self> {
        let names = SampleFiles::iter().filter_map(|path| Some(path.strip_prefix("shop/")?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        let file = |name: String| {
            let embedded = SampleFiles::get(&format!("shop/{name}"))?;
            Some((name, FileContent::Bytes(embedded.data)))
        };
        Self::load("shop".to_owned(), names.into_iter().filter_map(file).collect())
    }
}
