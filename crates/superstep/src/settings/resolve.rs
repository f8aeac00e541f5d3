//! Resolution of secret references after the merge: references that a later source has overridden are not resolved.
//!
//! Reads the secrets file. Its errors contain line and column, but never its text.

use std::collections::BTreeMap;

use superstep_core::error::Diagnostic;
use superstep_core::validation_error::ValidationError;
use toml::de::DeTable;

use super::keys::SettingType;
use super::layers::{Layers, diagnostic};
use super::secret::{MaybeSecret, Secret, SecretReference};
use super::source::{SettingOrigin, SettingsSources};
use super::value::{SettingValue, check_address};

impl Layers {
    /// Replaces each reference by the text of its secret.
    pub(crate) fn resolve(&mut self, sources: &SettingsSources<'_>) {
        let mut secret_sources = sources.secret_sources();
        let secrets = self.read_secrets(sources);
        let is_file_invalid = secrets.is_err();
        secret_sources.named = secrets.unwrap_or_else(|diagnostics| {
            self.diagnostics.extend(diagnostics);
            None
        });
        let mut errors = Vec::new();
        for (path, entry) in &mut self.entries {
            let Some(SettingValue::Reference(reference)) = &entry.value else { continue };
            // Keys that are missing in an invalid secrets file are unknown, and its syntax error is already reported.
            let is_reported = is_file_invalid && matches!(reference, SecretReference::Named(_));
            let resolved =
                secret_sources.resolve(reference).map(MaybeSecret::Hidden).and_then(|secret| match entry.shape {
                    SettingType::Address => check_address(&secret).map(|()| secret),
                    _ => Ok(secret),
                });
            match resolved {
                Ok(secret) => entry.value = Some(SettingValue::Guarded(secret)),
                Err(_) if is_reported => entry.value = None,
                Err(error) => {
                    errors.push(diagnostic(path, &entry.origin, error));
                    entry.value = None;
                }
            }
        }
        self.diagnostics.extend(errors);
    }

    fn read_secrets(&self, sources: &SettingsSources<'_>) -> Result<Option<BTreeMap<String, Secret>>, Vec<Diagnostic>> {
        if let Some(text) = sources.secrets {
            return parse("secrets file", text).map(Some);
        }
        let Some(entry) = self.entries.get("secrets_file") else { return Ok(None) };
        let Some(SettingValue::Text(path)) = &entry.value else { return Err(Vec::new()) };
        let reject = |error| vec![diagnostic("secrets_file", &entry.origin, error)];
        let Some(read_file) = sources.files else {
            return Err(reject(ValidationError::new(format!("file `{path}` cannot be read: file access is disabled"))));
        };
        let unreadable = |error: std::io::Error| {
            reject(ValidationError::new(format!("failed to read file `{path}`: {}", error.kind())))
        };
        parse(path, &read_file(path).map_err(unreadable)?).map(Some)
    }
}

fn parse(name: &str, text: &str) -> Result<BTreeMap<String, Secret>, Vec<Diagnostic>> {
    let reject = |offset: usize, fact: &str| {
        let error = ValidationError::new(fact).with_help("use lines of the form `name = \"value\"`");
        diagnostic("", &SettingOrigin::in_file(name, text, offset), error)
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut diagnostics: Vec<Diagnostic> =
        errors.iter().map(|error| reject(error.span().map_or(0, |span| span.start), "invalid TOML")).collect();
    let mut secrets = BTreeMap::new();
    for (key, value) in document.get_ref() {
        match value.get_ref().as_str() {
            Some(secret) => drop(secrets.insert(key.get_ref().to_string(), Secret::new(secret))),
            None if errors.is_empty() => diagnostics.push(reject(value.span().start, "expected a quoted string")),
            None => {}
        }
    }
    if diagnostics.is_empty() { Ok(secrets) } else { Err(diagnostics) }
}
