//! What one setting may be: raw text, number or list in, checked value or a fault out.
//!
//! A fault never repeats text that was given: somebody may have pasted a secret into the wrong line, and the place that
//! stands beside the fault is enough to find it. Follows no reference (see `secret`).

use std::path::Path;
use std::time::Duration;

use superstep_core::fault::Fault;
use superstep_core::suggest::{did_you_mean, known_names};

use super::secret::{Guarded, HOW, Reference, Secret, looks_secret};
use super::table::{PROVIDERS, Shape};

/// What was written.
#[derive(Clone, Copy)]
pub(crate) enum Raw<'a> {
    /// Text of the environment or of a flag, where numbers and lists are text as well.
    Text(&'a str),
    /// Text of the file.
    Quoted(&'a str),
    /// A whole number of the file; nothing when it is too large for any setting.
    Integer(Option<i64>),
    /// A list of the file; nothing when not all of it is text.
    List(Option<&'a [String]>),
    /// Anything else of the file, by what it is called.
    Other(&'static str),
}

/// What there is to know about the place of a value.
#[derive(Default)]
pub(crate) struct Spot<'a> {
    /// The last part of the path.
    pub(crate) name: &'a str,
    /// The folder that relative paths start from.
    pub(crate) base: Option<&'a Path>,
    /// Whether the text came from the environment, where a secret may stand as it is.
    pub(crate) is_environment: bool,
}

/// What was meant.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Text of any kind.
    Text(String),
    /// A whole number.
    Count(u32),
    /// A time span.
    Duration(Duration),
    /// A program and its arguments.
    Words(Vec<String>),
    /// Text that may be a secret.
    Guarded(Guarded),
    /// A secret that has yet to be fetched.
    Reference(Reference),
}

impl Value {
    /// How it is shown to people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Duration(duration) => show_duration(*duration),
            Self::Words(words) => format!("{words:?}"),
            Self::Guarded(guarded) => guarded.to_string(),
            Self::Reference(_) => Secret::new("").to_string(),
        }
    }
}

/// Reads what was written as a value of that shape.
pub(crate) fn read(shape: Shape, raw: &Raw<'_>, spot: &Spot<'_>) -> Result<Value, Fault> {
    match shape {
        Shape::Count(least, most) => count(raw, least, most).map(Value::Count),
        Shape::Words => words(raw).map(Value::Words),
        Shape::List => list(raw).map(Value::Words),
        _ => read_text(shape, text(raw)?, spot),
    }
}

fn read_text(shape: Shape, text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    match shape {
        Shape::Path => Ok(Value::Text(from_base(text, spot))),
        Shape::Duration => duration(text).map(Value::Duration),
        Shape::Choice(words) => choice(text, words),
        Shape::Secret => secret(text, spot),
        Shape::Open => open(text, spot),
        Shape::Address => address(text, spot),
        Shape::GraphPath if text.starts_with("rust:") => rust_name(text),
        Shape::GraphPath => Ok(Value::Text(from_base(text, spot))),
        Shape::Store => store(text, spot),
        Shape::Provider if text.starts_with("rust:") => rust_name(text),
        Shape::Provider => choice(text, PROVIDERS),
        Shape::Text | Shape::Count(..) | Shape::Words | Shape::List => Ok(Value::Text(text.to_owned())),
    }
}

fn text<'a>(raw: &Raw<'a>) -> Result<&'a str, Fault> {
    match raw {
        Raw::Text(text) | Raw::Quoted(text) if text.trim().is_empty() => {
            Err(Fault::new("expected text, found nothing").help("remove the setting to get its default back"))
        }
        Raw::Text(text) | Raw::Quoted(text) => Ok(text),
        other => Err(Fault::new(format!("expected text, found {}", kind(other)))),
    }
}

fn kind(raw: &Raw<'_>) -> &'static str {
    match raw {
        Raw::Text(_) | Raw::Quoted(_) => "text",
        Raw::Integer(_) => "a number",
        Raw::List(_) => "a list",
        Raw::Other(kind) => kind,
    }
}

fn count(raw: &Raw<'_>, least: u32, most: u32) -> Result<u32, Fault> {
    let number = match raw {
        Raw::Integer(number) => *number,
        Raw::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    let fits = number.and_then(|number| u32::try_from(number).ok()).filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| {
        let found = number.map_or_else(|| kind(raw).to_owned(), |number| number.to_string());
        Fault::new(format!("expected a whole number from {least} to {most}, found {found}"))
    })
}

fn texts(raw: &Raw<'_>) -> Option<Vec<String>> {
    match raw {
        Raw::List(list) => list.map(<[String]>::to_vec),
        Raw::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn list(raw: &Raw<'_>) -> Result<Vec<String>, Fault> {
    texts(raw).ok_or_else(|| {
        Fault::new(format!("expected a list of text, found {}", found_in_list(raw)))
            .help("write each as text of its own: `[\"one\", \"two\"]`")
    })
}

fn words(raw: &Raw<'_>) -> Result<Vec<String>, Fault> {
    let list = texts(raw);
    let help = "write the program and each argument as text of its own: `[\"npx\", \"-y\", \"server\"]`";
    match list {
        Some(list) if list.first().is_some_and(|program: &String| !program.is_empty()) => Ok(list),
        Some(_) => Err(Fault::new("expected a program, found an empty list").help(help)),
        None => Err(Fault::new(format!("expected a list of text, found {}", found_in_list(raw))).help(help)),
    }
}

fn found_in_list(raw: &Raw<'_>) -> &'static str {
    match raw {
        Raw::List(_) => "a list of something else",
        other => kind(other),
    }
}

/// Reads `500ms`, `30s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, Fault> {
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
        Some(0) => Err(Fault::new("a time limit of nothing stops everything").help("remove it to have no limit")),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(Fault::new("expected a time span").help("write a whole number and `ms`, `s`, `m` or `h`: `30s`")),
    }
}

/// The shortest way to write it that [`duration`] reads back.
pub(crate) fn show_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = units.into_iter().find(|(size, _)| milliseconds.is_multiple_of(*size));
    let (size, unit) = unit.unwrap_or((1, "ms"));
    format!("{}{unit}", milliseconds / size)
}

fn choice(text: &str, words: &[&str]) -> Result<Value, Fault> {
    match words.contains(&text) {
        true => Ok(Value::Text(text.to_owned())),
        false => Err(Fault::new("not one of the known words").help(known_names(text, words))),
    }
}

fn rust_name(text: &str) -> Result<Value, Fault> {
    match text.trim_start_matches("rust:").trim().is_empty() {
        true => Err(Fault::new("`rust:` is not followed by a name").help("write `rust:NAME`")),
        false => Ok(Value::Text(text.to_owned())),
    }
}

/// A path that stood in the file starts from the folder of the file, so that it means the same from everywhere.
fn from_base(path: &str, spot: &Spot<'_>) -> String {
    match spot.base {
        Some(base) => base.join(path).to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

fn reference(text: &str, spot: &Spot<'_>) -> Option<Result<Value, Fault>> {
    let found = Reference::read(text)?.map(|reference| match reference {
        Reference::File(path) => Reference::File(from_base(&path, spot)),
        other => other,
    });
    Some(found.map(Value::Reference))
}

fn hidden(text: &str) -> Value {
    Value::Guarded(Guarded::Hidden(Secret::new(text)))
}

fn secret(text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    match reference(text, spot) {
        Some(found) => found,
        None if spot.is_environment => Ok(hidden(text)),
        None => Err(Fault::new("a secret is not written here").help(HOW)),
    }
}

fn open(text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    match looks_secret(spot.name) {
        true => secret(text, spot),
        false => plain_or_secret(text, spot),
    }
}

fn plain_or_secret(text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    match reference(text, spot) {
        Some(found) => found,
        None if spot.is_environment => Ok(hidden(text)),
        None => Ok(Value::Guarded(Guarded::Plain(text.to_owned()))),
    }
}

fn address(text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    let value = plain_or_secret(text, spot)?;
    if let Value::Guarded(guarded) = &value {
        check_address(guarded)?;
    }
    Ok(value)
}

/// Refuses what is no HTTP address, and a literal address that carries a secret.
pub(crate) fn check_address(address: &Guarded) -> Result<(), Fault> {
    let text = address.expose();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)) else {
        return Err(Fault::new("expected an address that begins with `https://` or `http://`"));
    };
    let (host, query) = (rest.split(['/', '?', '#']).next().unwrap_or_default(), rest.split_once('?'));
    if host.is_empty() {
        return Err(Fault::new("the address names no host"));
    }
    let parameters = query.map(|(_, query)| query).unwrap_or_default().split('&');
    let is_secret = host.contains('@') || parameters.map(|p| p.split('=').next().unwrap_or(p)).any(looks_secret);
    match address {
        Guarded::Plain(_) if is_secret => Err(Fault::new("the address holds a secret").help(HOW)),
        _ => Ok(()),
    }
}

fn store(text: &str, spot: &Spot<'_>) -> Result<Value, Fault> {
    match text.split_once(':') {
        None if matches!(text, "memory" | "postgres") => Ok(Value::Text(text.to_owned())),
        Some(("sqlite", path)) if !path.is_empty() => Ok(Value::Text(format!("sqlite:{}", from_base(path, spot)))),
        Some(("postgres" | "postgresql", _)) => {
            Err(Fault::new("the address of the database may hold a secret and is not written here")
                .help("write `postgres` here, and the address as a reference into `stores.url`"))
        }
        _ => {
            let help = did_you_mean(text, ["memory", "sqlite:PATH", "postgres"]);
            Err(Fault { help, ..Fault::new("expected `memory`, `sqlite:PATH` or `postgres`") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shape: Shape, raw: Raw<'_>) -> Result<String, String> {
        let spot = Spot { base: Some(Path::new("etc")), ..Spot::default() };
        read(shape, &raw, &spot).map(|value| value.shown()).map_err(|fault| fault.message)
    }

    /// R-FWK-54: limits of time are written with their unit.
    #[test]
    fn time_spans_are_read_and_shown_in_the_largest_whole_unit() {
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
            assert_eq!(shown(Shape::Duration, Raw::Quoted(text)).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_number_is_a_number_in_the_file_and_text_elsewhere() {
        let port = Shape::Count(0, 65_535);
        let refused = |found: &str| Err(format!("expected a whole number from 0 to 65535, found {found}"));
        assert_eq!(shown(port, Raw::Integer(Some(80))), Ok("80".into()));
        assert_eq!(shown(port, Raw::Text("80")), Ok("80".into()));
        assert_eq!(shown(port, Raw::Quoted("80")), refused("text"));
        assert_eq!(shown(port, Raw::Text("eighty")), refused("text"));
        assert_eq!(shown(port, Raw::Integer(Some(-1))), refused("-1"));
        assert_eq!(shown(port, Raw::Text("65536")), refused("65536"));
        assert_eq!(shown(port, Raw::Integer(None)), refused("a number"));
        assert_eq!(shown(port, Raw::Other("a date")), refused("a date"));
    }

    #[test]
    fn a_program_is_a_list_in_the_file_and_json_elsewhere() {
        let argv = ["npx".to_owned(), "-y".to_owned()];
        assert_eq!(shown(Shape::Words, Raw::List(Some(&argv))), Ok(r#"["npx", "-y"]"#.into()));
        assert_eq!(shown(Shape::Words, Raw::Text(r#"["npx","-y"]"#)), Ok(r#"["npx", "-y"]"#.into()));
        for raw in [Raw::List(None), Raw::List(Some(&[])), Raw::Text("npx -y"), Raw::Text("[1]"), Raw::Text("[\"\"]")] {
            assert!(shown(Shape::Words, raw).is_err());
        }
    }

    #[test]
    fn paths_of_the_file_start_from_its_folder_and_names_do_not() {
        let rows = [
            (Shape::GraphPath, "chat.toml", "etc/chat.toml"),
            (Shape::GraphPath, "rust:chat", "rust:chat"),
            (Shape::Store, "sqlite:threads.db", "sqlite:etc/threads.db"),
            (Shape::Store, "sqlite:/var/threads.db", "sqlite:/var/threads.db"),
            (Shape::Store, "memory", "memory"),
            (Shape::Provider, "rust:mine", "rust:mine"),
        ];
        for (shape, text, expected) in rows {
            assert_eq!(shown(shape, Raw::Quoted(text)).as_deref(), Ok(expected), "{text}");
        }
    }

    /// R-FWK-54: an address with a secret in it is refused where it would be shown.
    #[test]
    fn addresses_with_secrets_in_them_are_refused() {
        for text in ["https://host", "http://[::1]:80/v1/", "https://host/openai?api-version=2024-10-21"] {
            assert_eq!(shown(Shape::Address, Raw::Quoted(text)).as_deref(), Ok(text));
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
            let refused = shown(Shape::Address, Raw::Quoted(text)).unwrap_err();
            assert!(!refused.contains("MARKER"), "{refused}");
        }
    }

    /// R-FWK-54: text that was given is never repeated, whatever it was given for.
    #[test]
    fn a_fault_never_repeats_the_text() {
        for key in crate::settings::table::KEYS {
            for text in ["MARKER MARKER", "postgres://MARKER", "sk-MARKER", "env:MARKER.x", "sqlite", "rust:"] {
                for raw in [Raw::Quoted(text), Raw::Text(text)] {
                    let spot = Spot { name: key.path, ..Spot::default() };
                    let Err(fault) = read(key.shape, &raw, &spot) else { continue };
                    assert!(!format!("{fault:?}").contains("MARKER"), "{}: {fault:?}", key.path);
                }
            }
        }
    }
}
