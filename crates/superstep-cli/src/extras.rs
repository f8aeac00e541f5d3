//! What one build of the command line has and another has not: language models that run in the process.
//!
//! What it takes to run weights is a large tree of its own, so this package never depends on it; the program that has it
//! hands in how a file is opened.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use superstep::Result;
use superstep::model::SharedModel;

/// What a program brings to its command line. Cheap to clone.
#[derive(Clone, Default)]
pub struct Extras {
    weights: Option<Arc<Weights>>,
}

/// How a file of weights is opened, and those that are open: weights are large, and one file is in memory once.
struct Weights {
    open: Box<Open>,
    /// By where the file really is; nothing for the usual one.
    opened: Mutex<BTreeMap<Option<PathBuf>, SharedModel>>,
}

type Open = dyn Fn(Option<&Path>) -> Result<SharedModel> + Send + Sync;

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extras").field("weights", &self.weights.is_some()).finish()
    }
}

impl Extras {
    /// Nothing more than every build has.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How the models of the provider `local/weights` are opened: from this file, or from the usual one.
    #[must_use]
    pub fn weights(mut self, open: impl Fn(Option<&Path>) -> Result<SharedModel> + Send + Sync + 'static) -> Self {
        self.weights = Some(Arc::new(Weights { open: Box::new(open), opened: Mutex::default() }));
        self
    }

    /// The model of a file of weights, or of the usual one; nothing where this build runs none.
    pub(crate) fn open_weights(&self, file: Option<&Path>) -> Option<Result<SharedModel>> {
        let weights = self.weights.as_ref()?;
        // What cannot be found cannot be opened either.
        let place = file.map(|file| file.canonicalize().unwrap_or_else(|_| file.to_owned()));
        // Whoever panicked while it held this left a map that is whole.
        let mut opened = weights.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = opened.get(&place) {
            return Some(Ok(model.clone()));
        }
        let model = (weights.open)(file);
        if let Ok(model) = &model {
            opened.insert(place, model.clone());
        }
        Some(model)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use superstep::model::Rules;

    use super::*;

    /// R-CLI-3: one file is opened once, however its path is written.
    #[test]
    fn a_file_is_opened_once() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let extras = Extras::new().weights(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(Rules::new("rules").into())
        });
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["Cargo.toml", "src/../Cargo.toml"] {
            assert!(extras.open_weights(Some(&folder.join(file))).is_some_and(|opened| opened.is_ok()));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}
