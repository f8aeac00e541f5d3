//! Follows the references that hold at the end, and only those: a secret that a later source replaced is not asked for.
//!
//! Reads the secrets file. Whatever is wrong with it is told by line and column, never by its text.

use std::collections::BTreeMap;

use superstep_core::error::Problem;
use superstep_core::fault::Fault;
use toml::de::DeTable;

use super::layers::{Layers, problem};
use super::secret::{Guarded, Reference, Secret};
use super::source::{Origin, Sources};
use super::table::Shape;
use super::value::{Value, check_address};

impl Layers {
    /// Puts the text of each secret in the place of its reference.
    pub(crate) fn resolve(&mut self, sources: &Sources<'_>) {
        let mut vault = sources.vault();
        let secrets = self.read_secrets(sources);
        let are_broken = secrets.is_err();
        vault.named = secrets.unwrap_or_else(|problems| {
            self.problems.extend(problems);
            None
        });
        let mut faults = Vec::new();
        for (path, entry) in &mut self.entries {
            let Some(Value::Reference(reference)) = &entry.value else { continue };
            // What a broken secrets file lacks is not known; the break itself is told already.
            let is_told = are_broken && matches!(reference, Reference::Named(_));
            let found = vault.open(reference).map(Guarded::Hidden).and_then(|guarded| match entry.shape {
                Shape::Address => check_address(&guarded).map(|()| guarded),
                _ => Ok(guarded),
            });
            match found {
                Ok(guarded) => entry.value = Some(Value::Guarded(guarded)),
                Err(_) if is_told => entry.value = None,
                Err(fault) => {
                    faults.push(problem(path, &entry.origin, fault));
                    entry.value = None;
                }
            }
        }
        self.problems.extend(faults);
    }

    fn read_secrets(&self, sources: &Sources<'_>) -> Result<Option<BTreeMap<String, Secret>>, Vec<Problem>> {
        if let Some(text) = sources.secrets {
            return parse("secrets file", text).map(Some);
        }
        let Some(entry) = self.entries.get("secrets_file") else { return Ok(None) };
        let Some(Value::Text(path)) = &entry.value else { return Err(Vec::new()) };
        let refuse = |fault| vec![problem("secrets_file", &entry.origin, fault)];
        let Some(read_file) = sources.files else {
            return Err(refuse(Fault::new(format!("file `{path}` cannot be read where files are not read"))));
        };
        let unread =
            |error: std::io::Error| refuse(Fault::new(format!("file `{path}` cannot be read: {}", error.kind())));
        parse(path, &read_file(path).map_err(unread)?).map(Some)
    }
}

fn parse(name: &str, text: &str) -> Result<BTreeMap<String, Secret>, Vec<Problem>> {
    let refuse = |offset: usize, fact: &str| {
        let fault = Fault::new(fact).help("each line is `name = \"value\"`");
        problem("", &Origin::in_file(name, text, offset), fault)
    };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> =
        errors.iter().map(|error| refuse(error.span().map_or(0, |span| span.start), "this is not TOML")).collect();
    let mut secrets = BTreeMap::new();
    for (key, value) in document.get_ref() {
        match value.get_ref().as_str() {
            Some(secret) => drop(secrets.insert(key.get_ref().to_string(), Secret::new(secret))),
            None if errors.is_empty() => problems.push(refuse(value.span().start, "expected text in quotes")),
            None => {}
        }
    }
    if problems.is_empty() { Ok(secrets) } else { Err(problems) }
}
