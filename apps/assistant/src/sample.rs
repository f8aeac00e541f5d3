//! The sample that comes inside of the binary: the shop, its handbook, its users and its policy.

use std::path::Path;
use std::sync::Arc;

use rust_embed::Embed;
use superstep::{Code, Error, Result};
use superstep_documents::write_new;

use crate::data::{Content, Data};

/// The files of the sample.
#[derive(Embed)]
#[folder = "sample"]
struct Files;

/// A file of the sample as text, by its path, such as `policy.toml`.
#[must_use]
pub fn text(path: &str) -> Option<String> {
    String::from_utf8(Files::get(path)?.data.into_owned()).ok()
}

/// Writes the sample into a folder. What is there already stays as it is: somebody may have changed it.
///
/// # Errors
/// When the folder cannot be written to.
pub fn unpack(folder: &Path) -> Result<()> {
    for path in Files::iter() {
        let Some(file) = Files::get(&path) else { continue };
        let place = folder.join(&*path);
        write_new(&place, &file.data).map_err(|cause| {
            let fact = format!("cannot write the sample to `{}`: {cause}", place.display());
            let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
            Error::new(Code::ConfigInvalid, fact).caused_by(cause)
        })?;
    }
    Ok(())
}

impl Data {
    /// The shop of the sample.
    ///
    /// # Errors
    /// When it cannot be loaded, which would be a bug.
    pub fn sample() -> Result<Self> {
        let names = Files::iter().filter_map(|path| Some(path.strip_prefix("shop/")?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        let file = |name: String| {
            let found = Files::get(&format!("shop/{name}"))?;
            Some((name, Content::Bytes(found.data)))
        };
        Self::load("shop".to_owned(), names.into_iter().filter_map(file).collect())
    }
}
