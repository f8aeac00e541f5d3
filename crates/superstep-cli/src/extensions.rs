//! Optional parts of a build of the command line: language models that run in the process.
//!
//! Running weights needs a large dependency tree, so this package never depends on it; the program that has it
//! passes a function that opens a weights file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use superstep::Result;
use superstep::models::SharedModel;

/// Extensions of the command line, passed by the program. Cheap to clone.
#[derive(Clone, Default)]
pub struct Extensions {
    weights: Option<Arc<LocalWeights>>,
}

/// Function that opens a weights file, and the models it has opened: weights are large, so each file is loaded
/// once.
struct LocalWeights {
    open: Box<OpenWeights>,
    /// Opened models by canonical path; `None` is the default file.
    opened: Mutex<BTreeMap<Option<PathBuf>, SharedModel>>,
}

type OpenWeights = dyn Fn(Option<&Path>) -> Result<SharedModel> + Send + Sync;

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("weights", &self.weights.is_some()).finish()
    }
}

impl Extensions {
    /// Creates extensions without optional parts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that opens models of the provider `local/weights`, from the given or the default file.
    #[must_use]
    pub fn weights(mut self, open: impl Fn(Option<&Path>) -> Result<SharedModel> + Send + Sync + 'static) -> Self {
        self.weights = Some(Arc::new(LocalWeights { open: Box::new(open), opened: Mutex::default() }));
        self
    }

    /// Opens the model of a weights file, or of the default file; `None` if this build does not support weights.
    pub(crate) fn open_weights(&self, file: Option<&Path>) -> Option<Result<SharedModel>> {
        let weights = self.weights.as_ref()?;
        // A path that cannot be resolved fails in `open`.
        let path = file.map(|file| file.canonicalize().unwrap_or_else(|_| file.to_owned()));
        // A panic cannot leave the map half changed.
        let mut opened = weights.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(&path) {
            return Some(Ok(model.clone()));
        }
        let model = (weights.open)(file);
        if let Ok(model) = &model {
            opened.insert(path, model.clone());
        }
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use superstep::models::RuleBasedModel;

    use super::*;

    /// R-CLI-3: a file is opened once, however its path is written.
    #[test]
    fn a_file_is_opened_once() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let extensions = Extensions::new().weights(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(RuleBasedModel::new("rules").into())
        });
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["Cargo.toml", "src/../Cargo.toml"] {
            assert!(extensions.open_weights(Some(&folder.join(file))).is_some_and(|opened| opened.is_ok()));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}
