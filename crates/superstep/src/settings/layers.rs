//! Merging of the sources: defaults, then the file, then the environment, then flags; later sources override earlier
//! ones.
//!
//! Every source is validated completely, also values that are overridden, so that all problems are listed at once.
//! References are not resolved here, and sections are not built (see `sections`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use superstep_core::error::Diagnostic;
use superstep_core::suggest::did_you_mean_or_list;
use superstep_core::validation_error::ValidationError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, KEYS, NO_SETTINGS, SettingType, children, find, is_placeholder, is_section, suggest};
use super::source::{SettingOrigin, SettingsSources};
use super::value::{RawValue, SettingValue, ValueContext, read};

/// Effective value of one key.
pub(crate) struct LayeredValue {
    /// The value; `None` if the written value was rejected.
    pub(crate) value: Option<SettingValue>,
    /// Origin of the value.
    pub(crate) origin: SettingOrigin,
    /// Expected type.
    pub(crate) shape: SettingType,
}

/// Effective values and diagnostics.
#[derive(Default)]
pub(crate) struct Layers {
    /// Values by dotted key.
    pub(crate) entries: BTreeMap<String, LayeredValue>,
    /// Tables of the file by dotted path, so that an empty table counts too.
    pub(crate) tables: BTreeMap<String, SettingOrigin>,
    /// Diagnostics of all sources.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// True if the file is not valid TOML, so that missing keys are not reported.
    pub(crate) is_unparsable: bool,
}

impl Layers {
    /// Reads every source.
    pub(crate) fn read(sources: &SettingsSources<'_>) -> Self {
        let mut layers = Self::default();
        layers.add_defaults();
        if let Some((path, text)) = sources.file {
            layers.add_file(path, text);
        }
        let names = layers.names_with_flags(&sources.flags);
        for name in &sources.unreadable {
            layers.reject("", &SettingOrigin::Variable(name.clone()), ValidationError::new("the value is not UTF-8"));
        }
        for (variable, text) in &sources.environment {
            let rest = variable.strip_prefix("SUPERSTEP_").filter(|rest| !NO_SETTINGS.contains(rest));
            if let Some(rest) = rest {
                layers.add_variable(variable, rest, text, &names);
            }
        }
        for (key, text) in &sources.flags {
            layers.add_flag(key, text);
        }
        layers
    }

    /// Adds a diagnostic.
    pub(crate) fn reject(&mut self, path: &str, origin: &SettingOrigin, error: ValidationError) {
        self.diagnostics.push(diagnostic(path, origin, error));
    }

    /// Returns the names in a section, such as those of all models.
    pub(crate) fn names(&self, section: &str) -> BTreeSet<String> {
        let paths = self.entries.keys().chain(self.tables.keys());
        paths.filter_map(|path| name_in(path, section)).map(str::to_owned).collect()
    }

    fn add_defaults(&mut self) {
        for key in KEYS {
            let Some(default) = key.default else { continue };
            let value = read(key.shape, &RawValue::Text(default), &ValueContext::default()).ok();
            let entry = LayeredValue { value, origin: SettingOrigin::Default, shape: key.shape };
            self.entries.insert(key.path.to_owned(), entry);
        }
    }

    fn add_file(&mut self, path: &str, text: &str) {
        let (document, mut errors) = DeTable::parse_recoverable(text);
        errors.sort_by_key(|error| error.span().map_or(0, |span| span.start));
        for error in &errors {
            let offset = error.span().map_or(0, |span| span.start);
            self.reject("", &SettingOrigin::in_file(path, text, offset), ValidationError::new(error.message()));
        }
        self.is_unparsable = !errors.is_empty();
        if !self.is_unparsable {
            let mut walker = TomlWalker { layers: self, file: path, text, diagnostics: Vec::new() };
            walker.table(&[], document.get_ref());
            let mut diagnostics = walker.diagnostics;
            diagnostics.sort_by_key(|(offset, _)| *offset);
            self.diagnostics.extend(diagnostics.into_iter().map(|(_, diagnostic)| diagnostic));
        }
    }

    fn names_with_flags(&self, flags: &[(String, String)]) -> BTreeMap<&'static str, BTreeSet<String>> {
        let sections = KEYS.iter().filter(|key| key.path.contains(".<name>")).filter_map(|key| key.parts().next());
        let mut names: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        for section in sections {
            let flag_names = flags.iter().filter_map(|(key, _)| name_in(key, section)).map(str::to_owned);
            names.entry(section).or_insert_with(|| self.names(section)).extend(flag_names);
        }
        names
    }

    fn add_variable(&mut self, variable: &str, rest: &str, text: &str, names: &BTreeMap<&str, BTreeSet<String>>) {
        let origin = SettingOrigin::Variable(variable.to_owned());
        let path = match path_of_variable(rest, names) {
            Ok(path) => path,
            Err(error) => return self.reject("", &origin, error),
        };
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        match invalid_name(&parts) {
            Some(error) => self.reject("", &origin, error),
            None => self.set_text(&parts, text, origin),
        }
    }

    fn add_flag(&mut self, key: &str, text: &str) {
        let parts: Vec<&str> = key.split('.').collect();
        let origin = SettingOrigin::Flag(key.to_owned());
        if find(&parts).is_none() {
            return self.reject("", &origin, unknown(&parts));
        }
        match invalid_name(&parts) {
            Some(error) => self.reject("", &origin, error),
            None => self.set_text(&parts, text, origin),
        }
    }

    fn set_text(&mut self, parts: &[&str], text: &str, origin: SettingOrigin) {
        let Some(key) = find(parts) else { return };
        let is_environment = matches!(origin, SettingOrigin::Variable(_));
        let context = ValueContext { name: parts.last().copied().unwrap_or_default(), base: None, is_environment };
        let path = parts.join(".");
        let value =
            read(key.shape, &RawValue::Text(text), &context).map_err(|error| self.reject(&path, &origin, error)).ok();
        self.entries.insert(path, LayeredValue { value, origin, shape: key.shape });
    }
}

/// One pass over the file.
struct TomlWalker<'a> {
    layers: &'a mut Layers,
    file: &'a str,
    text: &'a str,
    diagnostics: Vec<(usize, Diagnostic)>,
}

impl TomlWalker<'_> {
    fn table(&mut self, parent: &[&str], table: &DeTable<'_>) {
        for (key, value) in table {
            let path = [parent, &[key.get_ref().as_ref()]].concat();
            let at = key.span().start;
            if find(&path).is_none() && !is_section(&path) {
                self.reject(&path, at, unknown(&path));
            } else if let Some(error) = invalid_name(&path) {
                self.reject(&path, at, error);
            } else if let Some(setting) = find(&path) {
                self.value(&path, setting.shape, at, value);
            } else if let DeValue::Table(inner) = value.get_ref() {
                self.layers.tables.insert(path.join("."), SettingOrigin::in_file(self.file, self.text, at));
                self.table(&path, inner);
            } else {
                let error = ValidationError::new(format!("expected a table, found {}", kind(value.get_ref())));
                self.reject(&path, value.span().start, error.with_help(format!("write `[{}]`", path.join("."))));
            }
        }
    }

    fn value(&mut self, path: &[&str], shape: SettingType, key_at: usize, spanned: &Spanned<DeValue<'_>>) {
        let list = spanned.get_ref().as_array().and_then(|list| {
            list.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        let raw = match spanned.get_ref() {
            DeValue::String(text) => RawValue::Quoted(text),
            DeValue::Integer(number) => RawValue::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()),
            DeValue::Array(_) => RawValue::List(list.as_deref()),
            other => RawValue::Other(kind(other)),
        };
        let base = Path::new(self.file).parent();
        let context = ValueContext { name: path.last().copied().unwrap_or_default(), base, is_environment: false };
        let value = read(shape, &raw, &context).map_err(|error| self.reject(path, spanned.span().start, error)).ok();
        let origin = SettingOrigin::in_file(self.file, self.text, key_at);
        self.layers.entries.insert(path.join("."), LayeredValue { value, origin, shape });
    }

    fn reject(&mut self, path: &[&str], at: usize, error: ValidationError) {
        let origin = SettingOrigin::in_file(self.file, self.text, at);
        self.diagnostics.push((at, diagnostic(&path.join("."), &origin, error)));
    }
}

/// Creates a diagnostic with its pointer and origin.
pub(crate) fn diagnostic(path: &str, origin: &SettingOrigin, error: ValidationError) -> Diagnostic {
    let pointer: String =
        path.split('.').map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect();
    let pointer = if path.is_empty() { String::new() } else { pointer };
    Diagnostic { pointer, message: format!("{origin}: {}", error.message), help: error.help }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn unknown(path: &[&str]) -> ValidationError {
    let dotted = path.join(".");
    if is_section(path) {
        return ValidationError::new(format!("`{dotted}` is a section, not a setting"))
            .with_help(did_you_mean_or_list("", &children(path)));
    }
    let error = ValidationError::new(format!("unknown setting `{dotted}`"));
    if let Some(suggestion) = suggest(path) {
        return error.with_help(format!("did you mean `{}`?", suggestion.join(".")));
    }
    let siblings = (0..path.len()).rev().map(|length| children(&path[..length])).find(|siblings| !siblings.is_empty());
    error.with_help(did_you_mean_or_list("", &siblings.unwrap_or_default()))
}

/// Returns an error for a name that would be ambiguous in an environment variable or a dotted key.
fn invalid_name(path: &[&str]) -> Option<ValidationError> {
    let has_valid_characters =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let (_, name) = placeholders(path).find(|(placeholder, name)| {
        let is_single = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
        !has_valid_characters(name) || (*placeholder == "<name>" && !is_single)
    })?;
    let error = ValidationError::new(format!("invalid name `{name}`"));
    Some(error.with_help("use letters, digits, `-` and single `_`, so that an environment variable can express it"))
}

/// Returns the parts of a path that are names, each with its placeholder.
fn placeholders<'a>(path: &'a [&'a str]) -> impl Iterator<Item = (&'static str, &'a str)> {
    let key = KEYS.iter().find(|key| {
        let mut pairs = key.parts().zip(path);
        key.parts().count() >= path.len() && pairs.all(|(part, segment)| is_placeholder(part) || part == *segment)
    });
    let pairs = key.map(|key| key.parts().zip(path.iter().copied()).collect::<Vec<_>>()).unwrap_or_default();
    pairs.into_iter().filter(|(part, _)| is_placeholder(part))
}

fn name_in<'a>(path: &'a str, section: &str) -> Option<&'a str> {
    path.strip_prefix(section)?.strip_prefix('.')?.split('.').next()
}

/// Returns the dotted path of an environment variable; `rest` is its name without `SUPERSTEP_`.
fn path_of_variable(rest: &str, names: &BTreeMap<&str, BTreeSet<String>>) -> Result<Vec<String>, ValidationError> {
    for key in KEYS {
        let parts: Vec<&str> = rest.splitn(key.parts().count(), "__").collect();
        let fits = |(part, segment): (&str, &&str)| match is_placeholder(part) {
            true => !segment.is_empty(),
            false => part.to_uppercase() == **segment,
        };
        if parts.len() == key.parts().count() && key.parts().zip(&parts).all(fits) {
            let section = key.parts().next().unwrap_or_default();
            let resolved_parts = key.parts().zip(parts).map(|(part, segment)| match part {
                "<name>" => name_of(segment, names.get(section)),
                "<variable>" => Ok(segment.to_owned()),
                literal => Ok(literal.to_owned()),
            });
            return resolved_parts.collect();
        }
    }
    Err(unknown_variable(rest))
}

fn unknown_variable(rest: &str) -> ValidationError {
    let lower = rest.to_lowercase();
    let segments: Vec<&str> = lower.split("__").collect();
    let suggestion = suggest(&segments).unwrap_or_else(|| segments.iter().map(|part| (*part).to_owned()).collect());
    let suggestion: Vec<&str> = suggestion.iter().map(String::as_str).collect();
    let help = match find(&suggestion) {
        Some(_) => format!("did you mean `{}`?", keys::variable(suggestion)),
        None => "separate the parts of a key with two underscores, as in `SUPERSTEP_SERVER__PORT`".to_owned(),
    };
    ValidationError::new("no setting uses this variable").with_help(help)
}

/// Returns the name for a part of a variable: a known name, or the part in lower case.
fn name_of(segment: &str, names: Option<&BTreeSet<String>>) -> Result<String, ValidationError> {
    let is_same = |name: &&String| name.to_uppercase().replace('-', "_") == segment;
    let matching: Vec<&String> = names.into_iter().flatten().filter(is_same).collect();
    match matching[..] {
        [] => Ok(segment.to_lowercase()),
        [name] => Ok(name.clone()),
        [first, second, ..] => Err(ValidationError::new(format!("`{segment}` is ambiguous: `{first}` or `{second}`"))
            .with_help("rename one of the two")),
    }
}
