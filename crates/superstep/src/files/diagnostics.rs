//! Diagnostics of a file: all problems are collected with their locations before an error is returned.

use superstep_core::error::{Diagnostic, Error, ErrorCode};
use superstep_core::validation_error::ValidationError;

use super::spanned::SpannedValue;

/// Maximum number of diagnostics that an error lists.
const MAX_LISTED: usize = 100;

/// Maximum number of collected diagnostics, because locating each takes time.
const MAX_COLLECTED: usize = 1000;

/// Text of a file, with its name for messages.
#[derive(Debug, Clone)]
pub(super) struct SourceText {
    pub(super) name: String,
    pub(super) text: String,
}

impl SourceText {
    /// Returns `file:line:column`, counted from one, columns in characters.
    fn location(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }
}

/// Diagnostics so far.
#[derive(Default)]
pub(super) struct Diagnostics {
    entries: Vec<FileDiagnostic>,
    /// Number of diagnostics beyond the maximum.
    dropped: usize,
    /// Diagnostics of referenced files, with their own locations.
    included_files: Vec<Diagnostic>,
}

struct FileDiagnostic {
    location: SourceLocation,
    message: String,
    help: Option<String>,
}

enum SourceLocation {
    Offset(usize),
    Value(String),
    Key(String),
}

impl Diagnostics {
    pub(super) fn at_offset(&mut self, offset: usize, message: impl Into<String>, help: Option<String>) {
        self.add(SourceLocation::Offset(offset), message.into(), help);
    }

    /// Adds a diagnostic for the value at a JSON pointer.
    pub(super) fn at(&mut self, pointer: &str, message: impl Into<String>, help: Option<String>) {
        self.add(SourceLocation::Value(pointer.to_owned()), message.into(), help);
    }

    /// Adds a diagnostic for the last key of a JSON pointer.
    pub(super) fn at_key(&mut self, pointer: &str, message: impl Into<String>, help: Option<String>) {
        self.add(SourceLocation::Key(pointer.to_owned()), message.into(), help);
    }

    /// Adds a validation error of the value at a JSON pointer, or below it.
    pub(super) fn validation_error(&mut self, pointer: &str, error: ValidationError) {
        self.at(&format!("{pointer}{}", error.pointer), error.message, error.help);
    }

    /// Adds the diagnostics of another file, which have their own locations; if the error has none, the error itself.
    pub(super) fn add_file_error(&mut self, pointer: &str, error: &Error) {
        match error.diagnostics() {
            [] => self.at(pointer, error.message(), error.help().map(str::to_owned)),
            diagnostics => self.included_files.extend(diagnostics.iter().cloned()),
        }
    }

    /// Returns true if so many diagnostics were found that similar names are no longer searched.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() > MAX_LISTED
    }

    fn add(&mut self, location: SourceLocation, message: String, help: Option<String>) {
        match self.entries.len() < MAX_COLLECTED {
            true => self.entries.push(FileDiagnostic { location, message, help }),
            false => self.dropped += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.included_files.is_empty()
    }

    /// Converts all diagnostics to one error, in the order of the text.
    pub(super) fn into_error(self, source: &SourceText, tree: Option<&SpannedValue>) -> Error {
        let mut located: Vec<(usize, FileDiagnostic)> =
            self.entries.into_iter().map(|diagnostic| (diagnostic.offset(tree), diagnostic)).collect();
        located.sort_by_key(|(offset, _)| *offset);
        located.dedup_by(|(at, one), (before, other)| at == before && one.is_duplicate_of(other));
        let mut included = self.included_files;
        included.dedup();
        let more = (self.dropped + located.len() + included.len()).saturating_sub(MAX_LISTED);
        // Lines are counted from the start of the text, so only for listed diagnostics.
        let diagnostics = located
            .into_iter()
            .take(MAX_LISTED)
            .map(|(offset, FileDiagnostic { message, help, .. })| Diagnostic {
                pointer: source.location(offset),
                message,
                help,
            })
            .chain(included)
            .take(MAX_LISTED)
            .collect();
        let error = Error::with_diagnostics(
            ErrorCode::InvalidGraph,
            format!("graph file `{}` is invalid", source.name),
            diagnostics,
        );
        if more == 0 { error } else { error.with_help(format!("and {more} more problems")) }
    }
}

impl FileDiagnostic {
    fn is_duplicate_of(&self, other: &Self) -> bool {
        self.message == other.message && self.help == other.help
    }

    fn offset(&self, tree: Option<&SpannedValue>) -> usize {
        match (&self.location, tree) {
            (SourceLocation::Offset(offset), _) => *offset,
            (SourceLocation::Value(pointer), Some(tree)) => tree.offset(pointer),
            (SourceLocation::Key(pointer), Some(tree)) => tree.key_offset(pointer),
            (_, None) => 0,
        }
    }
}
