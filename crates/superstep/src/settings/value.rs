//! Parsing of single settings: a raw text, number or list is converted to a validated value or an error.
//!
//! Errors never repeat the given text: it may contain a secret that was pasted into the wrong line, and the location
//! in the message is sufficient. References are not resolved here (see `secret`).

use std::path::Path;
use std::time::Duration;

use superstep_core::suggest::{did_you_mean, did_you_mean_or_list};
use superstep_core::validation_error::ValidationError;

use super::keys::{PROVIDERS, SettingType};
use super::secret::{MaybeSecret, REFERENCE_HELP, Secret, SecretReference, is_secret_name};

/// The value as written.
#[derive(Clone, Copy)]
pub(crate) enum RawValue<'a> {
    /// Text from the environment or a flag, where numbers and lists are text too.
    Text(&'a str),
    /// Text from the file.
    Quoted(&'a str),
    /// An integer from the file; `None` if it is too large for any setting.
    Integer(Option<i64>),
    /// A list from the file; `None` if an element is not text.
    List(Option<&'a [String]>),
    /// Any other value from the file, by the name of its type.
    Other(&'static str),
}

/// Context of a value.
#[derive(Default)]
pub(crate) struct ValueContext<'a> {
    /// Last part of the path.
    pub(crate) name: &'a str,
    /// Base folder of relative paths.
    pub(crate) base: Option<&'a Path>,
    /// True if the text came from the environment, where secrets may be literals.
    pub(crate) is_environment: bool,
}

/// The parsed value.
#[derive(Debug, Clone)]
pub(crate) enum SettingValue {
    /// Text of any kind.
    Text(String),
    /// An integer.
    Count(u32),
    /// A duration.
    Duration(Duration),
    /// A program and its arguments.
    Words(Vec<String>),
    /// Text that may be a secret.
    Guarded(MaybeSecret),
    /// An unresolved reference to a secret.
    Reference(SecretReference),
}

impl SettingValue {
    /// Returns the value for display.
    pub(crate) fn display(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Duration(duration) => format_duration(*duration),
            Self::Words(words) => format!("{words:?}"),
            Self::Guarded(guarded) => guarded.to_string(),
            Self::Reference(_) => Secret::new("").to_string(),
        }
    }
}

/// Parses a value of the given type.
pub(crate) fn read(
    shape: SettingType,
    raw: &RawValue<'_>,
    context: &ValueContext<'_>,
) -> Result<SettingValue, ValidationError> {
    match shape {
        SettingType::Count(min, max) => count(raw, min, max).map(SettingValue::Count),
        SettingType::Words => words(raw).map(SettingValue::Words),
        SettingType::List => list(raw).map(SettingValue::Words),
        _ => read_text(shape, text(raw)?, context),
    }
}

fn read_text(shape: SettingType, text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    match shape {
        SettingType::Path => Ok(SettingValue::Text(from_base(text, context))),
        SettingType::Duration => duration(text).map(SettingValue::Duration),
        SettingType::Choice(words) => choice(text, words),
        SettingType::Secret => secret(text, context),
        SettingType::Open => open(text, context),
        SettingType::Address => address(text, context),
        SettingType::GraphPath if text.starts_with("rust:") => rust_name(text),
        SettingType::GraphPath => Ok(SettingValue::Text(from_base(text, context))),
        SettingType::Store => store(text, context),
        SettingType::Provider if text.starts_with("rust:") => rust_name(text),
        SettingType::Provider => choice(text, PROVIDERS),
        SettingType::Text | SettingType::Count(..) | SettingType::Words | SettingType::List => {
            Ok(SettingValue::Text(text.to_owned()))
        }
    }
}

fn text<'a>(raw: &RawValue<'a>) -> Result<&'a str, ValidationError> {
    match raw {
        RawValue::Text(text) | RawValue::Quoted(text) if text.trim().is_empty() => {
            Err(ValidationError::new("expected a string, found nothing")
                .with_help("remove the setting to use its default"))
        }
        RawValue::Text(text) | RawValue::Quoted(text) => Ok(text),
        other => Err(ValidationError::new(format!("expected a string, found {}", kind(other)))),
    }
}

fn kind(raw: &RawValue<'_>) -> &'static str {
    match raw {
        RawValue::Text(_) | RawValue::Quoted(_) => "text",
        RawValue::Integer(_) => "a number",
        RawValue::List(_) => "a list",
        RawValue::Other(kind) => kind,
    }
}

fn count(raw: &RawValue<'_>, min: u32, max: u32) -> Result<u32, ValidationError> {
    let number = match raw {
        RawValue::Integer(number) => *number,
        RawValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    let in_range = number.and_then(|number| u32::try_from(number).ok()).filter(|number| (min..=max).contains(number));
    in_range.ok_or_else(|| {
        let actual = number.map_or_else(|| kind(raw).to_owned(), |number| number.to_string());
        ValidationError::new(format!("expected an integer from {min} to {max}, found {actual}"))
    })
}

fn texts(raw: &RawValue<'_>) -> Option<Vec<String>> {
    match raw {
        RawValue::List(list) => list.map(<[String]>::to_vec),
        RawValue::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn list(raw: &RawValue<'_>) -> Result<Vec<String>, ValidationError> {
    texts(raw).ok_or_else(|| {
        ValidationError::new(format!("expected a list of strings, found {}", found_in_list(raw)))
            .with_help("write one string per item: `[\"one\", \"two\"]`")
    })
}

fn words(raw: &RawValue<'_>) -> Result<Vec<String>, ValidationError> {
    let list = texts(raw);
    let help = "write the program and each argument as separate strings: `[\"npx\", \"-y\", \"server\"]`";
    match list {
        Some(list) if list.first().is_some_and(|program: &String| !program.is_empty()) => Ok(list),
        Some(_) => Err(ValidationError::new("expected a program, found an empty list").with_help(help)),
        None => {
            Err(ValidationError::new(format!("expected a list of strings, found {}", found_in_list(raw)))
                .with_help(help))
        }
    }
}

fn found_in_list(raw: &RawValue<'_>) -> &'static str {
    match raw {
        RawValue::List(_) => "a list with other values",
        other => kind(other),
    }
}

/// Parses `500ms`, `30s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, ValidationError> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let parsed = number.parse::<u64>().ok().zip(milliseconds).and_then(|(number, unit)| number.checked_mul(unit));
    match parsed {
        Some(0) => {
            Err(ValidationError::new("the duration must not be zero").with_help("remove the setting to have no limit"))
        }
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(ValidationError::new("expected a duration")
            .with_help("use an integer with `ms`, `s`, `m` or `h`, for example `30s`")),
    }
}

/// Formats a duration in the shortest form that [`duration`] parses.
pub(crate) fn format_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = units.into_iter().find(|(size, _)| milliseconds.is_multiple_of(*size));
    let (size, unit) = unit.unwrap_or((1, "ms"));
    format!("{}{unit}", milliseconds / size)
}

fn choice(text: &str, words: &[&str]) -> Result<SettingValue, ValidationError> {
    match words.contains(&text) {
        true => Ok(SettingValue::Text(text.to_owned())),
        false => Err(ValidationError::new("unknown value").with_help(did_you_mean_or_list(text, words))),
    }
}

fn rust_name(text: &str) -> Result<SettingValue, ValidationError> {
    match text.trim_start_matches("rust:").trim().is_empty() {
        true => Err(ValidationError::new("`rust:` requires a name").with_help("use `rust:NAME`")),
        false => Ok(SettingValue::Text(text.to_owned())),
    }
}

/// Resolves a path of the file relative to the folder of the file, so that it does not depend on the current folder.
fn from_base(path: &str, context: &ValueContext<'_>) -> String {
    match context.base {
        Some(base) => base.join(path).to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

fn reference(text: &str, context: &ValueContext<'_>) -> Option<Result<SettingValue, ValidationError>> {
    let parsed = SecretReference::read(text)?.map(|reference| match reference {
        SecretReference::File(path) => SecretReference::File(from_base(&path, context)),
        other => other,
    });
    Some(parsed.map(SettingValue::Reference))
}

fn hidden(text: &str) -> SettingValue {
    SettingValue::Guarded(MaybeSecret::Hidden(Secret::new(text)))
}

fn secret(text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    match reference(text, context) {
        Some(result) => result,
        None if context.is_environment => Ok(hidden(text)),
        None => Err(ValidationError::new("a secret must not be written here").with_help(REFERENCE_HELP)),
    }
}

fn open(text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    match is_secret_name(context.name) {
        true => secret(text, context),
        false => plain_or_secret(text, context),
    }
}

fn plain_or_secret(text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    match reference(text, context) {
        Some(result) => result,
        None if context.is_environment => Ok(hidden(text)),
        None => Ok(SettingValue::Guarded(MaybeSecret::Plain(text.to_owned()))),
    }
}

fn address(text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    let value = plain_or_secret(text, context)?;
    if let SettingValue::Guarded(guarded) = &value {
        check_address(guarded)?;
    }
    Ok(value)
}

/// Rejects text that is not an HTTP URL, and a literal URL that contains a secret.
pub(crate) fn check_address(address: &MaybeSecret) -> Result<(), ValidationError> {
    let text = address.expose();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)) else {
        return Err(ValidationError::new("expected a URL that starts with `https://` or `http://`"));
    };
    let (host, query) = (rest.split(['/', '?', '#']).next().unwrap_or_default(), rest.split_once('?'));
    if host.is_empty() {
        return Err(ValidationError::new("the URL has no host"));
    }
    let parameters = query.map(|(_, query)| query).unwrap_or_default().split('&');
    let is_secret = host.contains('@') || parameters.map(|p| p.split('=').next().unwrap_or(p)).any(is_secret_name);
    match address {
        MaybeSecret::Plain(_) if is_secret => {
            Err(ValidationError::new("the URL contains a secret").with_help(REFERENCE_HELP))
        }
        _ => Ok(()),
    }
}

fn store(text: &str, context: &ValueContext<'_>) -> Result<SettingValue, ValidationError> {
    match text.split_once(':') {
        None if matches!(text, "memory" | "postgres") => Ok(SettingValue::Text(text.to_owned())),
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(SettingValue::Text(format!("sqlite:{}", from_base(path, context))))
        }
        Some(("postgres" | "postgresql", _)) => {
            Err(ValidationError::new("the URL of a database may contain a secret and must not be written here")
                .with_help("write `postgres` here, and a reference to the URL in `storage.url`"))
        }
        _ => {
            let help = did_you_mean(text, ["memory", "sqlite:PATH", "postgres"]);
            Err(ValidationError { help, ..ValidationError::new("expected `memory`, `sqlite:PATH` or `postgres`") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(shape: SettingType, raw: RawValue<'_>) -> Result<String, String> {
        let context = ValueContext { base: Some(Path::new("etc")), ..ValueContext::default() };
        read(shape, &raw, &context).map(|value| value.display()).map_err(|error| error.message)
    }

    /// R-FWK-54: durations are written with their unit.
    #[test]
    fn durations_are_displayed_in_the_largest_exact_unit() {
        let rows = [
            ("500ms", Some("500ms")),
            ("1000ms", Some("1s")),
            ("30s", Some("30s")),
            ("90s", Some("90s")),
            ("5m", Some("5m")),
            ("120m", Some("2h")),
            (" 1h ", Some("1h")),
            ("0s", None),
            ("30", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("1 s", None),
            ("1d", None),
            ("99999999999999999999s", None),
            ("9999999999999999999h", None),
        ];
        for (text, expected) in rows {
            assert_eq!(display(SettingType::Duration, RawValue::Quoted(text)).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_number_is_a_number_in_the_file_and_text_elsewhere() {
        let port = SettingType::Count(0, 65_535);
        let range_error = |actual: &str| Err(format!("expected an integer from 0 to 65535, found {actual}"));
        assert_eq!(display(port, RawValue::Integer(Some(80))), Ok("80".into()));
        assert_eq!(display(port, RawValue::Text("80")), Ok("80".into()));
        assert_eq!(display(port, RawValue::Quoted("80")), range_error("text"));
        assert_eq!(display(port, RawValue::Text("eighty")), range_error("text"));
        assert_eq!(display(port, RawValue::Integer(Some(-1))), range_error("-1"));
        assert_eq!(display(port, RawValue::Text("65536")), range_error("65536"));
        assert_eq!(display(port, RawValue::Integer(None)), range_error("a number"));
        assert_eq!(display(port, RawValue::Other("a date")), range_error("a date"));
    }

    #[test]
    fn a_program_is_a_list_in_the_file_and_json_elsewhere() {
        let argv = ["npx".to_owned(), "-y".to_owned()];
        assert_eq!(display(SettingType::Words, RawValue::List(Some(&argv))), Ok(r#"["npx", "-y"]"#.into()));
        assert_eq!(display(SettingType::Words, RawValue::Text(r#"["npx","-y"]"#)), Ok(r#"["npx", "-y"]"#.into()));
        for raw in [
            RawValue::List(None),
            RawValue::List(Some(&[])),
            RawValue::Text("npx -y"),
            RawValue::Text("[1]"),
            RawValue::Text("[\"\"]"),
        ] {
            assert!(display(SettingType::Words, raw).is_err());
        }
    }

    #[test]
    fn paths_of_the_file_start_from_its_folder_and_names_do_not() {
        let rows = [
            (SettingType::GraphPath, "chat.toml", "etc/chat.toml"),
            (SettingType::GraphPath, "rust:chat", "rust:chat"),
            (SettingType::Store, "sqlite:threads.db", "sqlite:etc/threads.db"),
            (SettingType::Store, "sqlite:/var/threads.db", "sqlite:/var/threads.db"),
            (SettingType::Store, "memory", "memory"),
            (SettingType::Provider, "rust:mine", "rust:mine"),
        ];
        for (shape, text, expected) in rows {
            assert_eq!(display(shape, RawValue::Quoted(text)).as_deref(), Ok(expected), "{text}");
        }
    }

    /// R-FWK-54: a URL that contains a secret is rejected where it would be displayed.
    #[test]
    fn addresses_with_secrets_in_them_are_rejected() {
        for text in ["https://host", "http://[::1]:80/v1/", "https://host/openai?api-version=2024-10-21"] {
            assert_eq!(display(SettingType::Address, RawValue::Quoted(text)).as_deref(), Ok(text));
        }
        let rows = [
            "https://user:MARKER@host/",
            "https://host/?tavilyApiKey=MARKER",
            "https://host/?a=1&token=MARKER",
            "https:///MARKER",
            "ftp://MARKER",
            "https://MARKER MARKER",
        ];
        for text in rows {
            let error = display(SettingType::Address, RawValue::Quoted(text)).unwrap_err();
            assert!(!error.contains("MARKER"), "{error}");
        }
    }

    /// R-FWK-54: errors never repeat the given text, for any setting.
    #[test]
    fn a_fault_never_repeats_the_text() {
        for key in crate::settings::keys::KEYS {
            for text in ["MARKER MARKER", "postgres://MARKER", "sk-MARKER", "env:MARKER.x", "sqlite", "rust:"] {
                for raw in [RawValue::Quoted(text), RawValue::Text(text)] {
                    let context = ValueContext { name: key.path, ..ValueContext::default() };
                    let Err(error) = read(key.shape, &raw, &context) else { continue };
                    assert!(!format!("{error:?}").contains("MARKER"), "{}: {error:?}", key.path);
                }
            }
        }
    }
}
