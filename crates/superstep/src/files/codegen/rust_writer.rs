//! Writer of Rust code, formatted as by `rustfmt` with lines of 120 characters: expressions that do not fit become
//! variables.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Number, Value};
use superstep_core::canonical::sorted_entries;

use super::super::condition::{Comparison, Condition, ConditionKind};
use super::super::{END, START};

/// Maximum line length, in characters.
pub(super) const WIDTH: usize = 120;

/// Maximum length of an inline expression, in characters; longer ones become variables.
const MAX_INLINE_WIDTH: usize = 60;

/// A module that is being written.
#[derive(Default)]
pub(super) struct RustModule {
    constants: String,
    functions: Vec<String>,
    used_names: BTreeSet<String>,
}

/// A function body that is being written.
#[derive(Default)]
pub(super) struct FunctionBody {
    text: String,
    pub(super) needs_parts: bool,
}

impl RustModule {
    /// Returns a function name that is not used yet.
    pub(super) fn name(&mut self, preferred: &str) -> String {
        let mut name = identifier(preferred);
        if KEYWORDS.contains(&name.as_str()) || name.starts_with(|first: char| first.is_ascii_digit()) {
            name = format!("graph_{name}");
        }
        let mut number = 2;
        let mut unique = name.clone();
        while !self.used_names.insert(unique.clone()) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        unique
    }

    /// Adds a text as a constant, and returns its name.
    pub(super) fn constant(&mut self, preferred: &str, text: &str) -> String {
        let name = self.name(preferred).to_uppercase();
        let text = raw(text);
        let head = format!("const {name}: &str =");
        let first = text.lines().next().unwrap_or_default();
        let is_long = head.len() + 1 + first.chars().count() + 1 > WIDTH;
        // A text that fits on no line stays on the first.
        let starts_on_next_line = is_long && !text.contains('\n') && 4 + text.chars().count() < WIDTH;
        let gap = if starts_on_next_line { "\n    " } else { " " };
        _ = writeln!(self.constants, "{head}{gap}{text};\n");
        name
    }

    /// Reserves the position of a function, so that graphs come before their nodes.
    pub(super) fn slot(&mut self) -> usize {
        self.functions.push(String::new());
        self.functions.len() - 1
    }

    pub(super) fn function(&mut self, slot: usize, head: &str, body: &FunctionBody) {
        self.functions[slot] = format!("\n{head} {{\n{}}}\n", body.text);
    }

    pub(super) fn constants(&self) -> &str {
        &self.constants
    }

    pub(super) fn functions(&self) -> String {
        self.functions.concat()
    }
}

impl FunctionBody {
    pub(super) fn line(&mut self, line: &str) {
        _ = writeln!(self.text, "    {line}");
    }

    /// Writes a statement with a chain of calls: on one line or the next if it fits, otherwise one call per line.
    pub(super) fn chain(&mut self, head: &str, start: &str, calls: &[String]) {
        let chain = format!("{start}{};", calls.concat());
        let width = chain.chars().count();
        let is_single_line = !chain.contains('\n');
        match () {
            () if calls.is_empty() || is_single_line && 4 + head.len() + width <= WIDTH => {
                self.line(&format!("{head}{chain}"))
            }
            () if is_single_line && 8 + width <= WIDTH => self.line(&format!("{}\n        {chain}", head.trim_end())),
            () => self.line(&format!("{head}{start}\n        {};", calls.join("\n        "))),
        }
    }

    /// Writes a chain of calls as the return value of the function.
    pub(super) fn tail(&mut self, start: &str, calls: &[String]) {
        let chain = format!("{start}{}", calls.concat());
        match 4 + chain.chars().count() <= WIDTH && !chain.contains('\n') {
            true => self.line(&chain),
            false => self.line(&format!("{start}\n        {}", calls.join("\n        "))),
        }
    }

    /// Returns a list inline, or writes it as a variable.
    pub(super) fn list(&mut self, name: &str, items: &[String]) -> String {
        let list = format!("[{}]", items.join(", "));
        if list.chars().count() <= MAX_INLINE_WIDTH {
            return list;
        }
        let line = format!("let {name} = {list};");
        match 4 + line.chars().count() <= WIDTH {
            true => self.line(&line),
            false => self.line(&format!("let {name} = [\n        {},\n    ];", items.join(",\n        "))),
        }
        name.to_owned()
    }

    /// Returns a list of texts. An empty list is written with its type.
    pub(super) fn texts(&mut self, name: &str, items: &[String]) -> String {
        if items.is_empty() { "[\"\"; 0]".to_owned() } else { self.list(name, items) }
    }

    /// Returns a value inline, or writes it as a variable.
    pub(super) fn value(&mut self, name: &str, value: &Value) -> String {
        let text = literal(value);
        if text.chars().count() <= MAX_INLINE_WIDTH {
            return text;
        }
        self.line(&format!("let {name} = {};", json(value, 4, WIDTH - 20)));
        name.to_owned()
    }
}

/// Returns a condition as an expression; nested conditions become variables if the expression is too long.
pub(super) fn test(test: &Condition, name: &str, body: &mut FunctionBody) -> String {
    let (word, inner) = match &test.0 {
        ConditionKind::All(tests) => ("all", tests.as_slice()),
        ConditionKind::Any(tests) => ("any", tests.as_slice()),
        ConditionKind::Not(inner) => {
            let inner = self::test(inner, &format!("{name}_not"), body);
            return format!("Condition::not({inner})");
        }
        ConditionKind::HasToolCalls(field) => return format!("Condition::has_tool_calls({})", quoted(field)),
        ConditionKind::Field { field, at, comparison } => {
            let expression = self::comparison(field, comparison, name, body);
            let at = at.as_ref().map(|at| format!(".at({})", quoted(at))).unwrap_or_default();
            return format!("{expression}{at}");
        }
    };
    let parts: Vec<String> = inner
        .iter()
        .enumerate()
        .map(|(number, part)| self::test(part, &format!("{name}_{}", number + 1), body))
        .collect();
    let list = body.list(name, &parts);
    format!("Condition::{word}({list})")
}

fn comparison(field: &str, comparison: &Comparison, name: &str, body: &mut FunctionBody) -> String {
    let field = quoted(field);
    let (word, value) = match comparison {
        Comparison::Exists(true) => return format!("Condition::exists({field})"),
        Comparison::Exists(false) => return format!("Condition::is_missing({field})"),
        Comparison::OneOf(values) => {
            let items: Vec<String> = values.iter().map(|value| json(value, 4, usize::MAX)).collect();
            let list = body.texts(&format!("{name}_values"), &items);
            return format!("Condition::one_of({field}, {list})");
        }
        Comparison::Equals(value) => ("equals", value),
        Comparison::AtLeast(value) => ("at_least", value),
        Comparison::AtMost(value) => ("at_most", value),
        Comparison::Contains(value) => ("contains", value),
    };
    let value = body.value(&format!("{name}_value"), value);
    format!("Condition::{word}({field}, {value})")
}

pub(super) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Returns an expression that converts to a JSON value.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => self::number(number),
        other => json(other, 4, usize::MAX),
    }
}

/// Returns a number; an integer outside `i32`, the default type in Rust, gets a suffix.
fn number(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) if i32::try_from(integer).is_ok() => integer.to_string(),
        Some(integer) => format!("{integer}_i64"),
        None => number.as_u64().map_or_else(|| number.to_string(), |integer| format!("{integer}_u64")),
    }
}

/// Returns a value as `json!`: on one line if it is not wider than `width`, otherwise indented.
pub(super) fn json(value: &Value, indent: usize, width: usize) -> String {
    let line = compact(value);
    if line.chars().count() + indent <= width {
        return format!("json!({line})");
    }
    match value {
        Value::Object(_) => format!("json!({})", pretty(value, indent)),
        // `rustfmt` reformats lists, but not inside an object.
        Value::Array(_) => {
            let wrapped = serde_json::json!({ "value": value });
            format!("{}[\"value\"]\n{}.clone()", json(&wrapped, indent, width), " ".repeat(indent + 4))
        }
        _ => format!("json!({line})"),
    }
}

fn pretty(value: &Value, indent: usize) -> String {
    let (open, entries, close) = match value {
        Value::Object(map) if !map.is_empty() => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), entry(value, indent + 4));
            ("{", sorted_entries(map).map(entry).collect::<Vec<_>>(), "}")
        }
        Value::Array(items) if compact(value).chars().count() > MAX_INLINE_WIDTH => {
            ("[", items.iter().map(|item| entry(item, indent + 4)).collect(), "]")
        }
        other => return compact(other),
    };
    let gap = format!("\n{}", " ".repeat(indent + 4));
    format!("{open}{gap}{}\n{}{close}", entries.join(&format!(",{gap}")), " ".repeat(indent))
}

/// Returns a nested value: on one line if it is short.
fn entry(value: &Value, indent: usize) -> String {
    let line = compact(value);
    if line.chars().count() <= MAX_INLINE_WIDTH { line } else { pretty(value, indent) }
}

fn compact(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> =
                sorted_entries(map).map(|(key, value)| format!("{}: {}", quoted(key), compact(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        Value::Number(number) => self::number(number),
        other => other.to_string(),
    }
}

pub(super) fn names<T: AsRef<str>>(all: &[T]) -> Vec<String> {
    all.iter().map(|name| quoted(name.as_ref())).collect()
}

/// Returns an endpoint of an edge.
pub(super) fn end(name: &str) -> String {
    match name {
        START | END => name.to_owned(),
        name => quoted(name),
    }
}

/// Returns several endpoints of one type.
pub(super) fn ends(all: &[&str]) -> Vec<String> {
    let is_mixed = all.contains(&END);
    let one = |name: &&str| match end(name) {
        text if is_mixed && **name != *END => format!("{text}.into()"),
        text => text,
    };
    all.iter().map(one).collect()
}

pub(super) fn seconds(time: f64) -> String {
    format!("std::time::Duration::from_secs_f64({time:?})")
}

/// Returns a raw string literal, with as many `#` as the text requires.
fn raw(text: &str) -> String {
    // A raw string must not contain a lone carriage return.
    if text.contains('\r')
        || text.chars().any(|character| character.is_control() && character != '\n' && character != '\t')
    {
        return quoted(text);
    }
    let mut signs = String::new();
    while text.contains(&format!("\"{signs}")) {
        signs.push('#');
    }
    match text.contains('\\') || !signs.is_empty() {
        true => format!("r{signs}\"{text}\"{signs}"),
        false => format!("\"{text}\""),
    }
}

fn identifier(name: &str) -> String {
    let characters = name.chars().map(|character| match character {
        character if character.is_ascii_alphanumeric() => character.to_ascii_lowercase(),
        _ => '_',
    });
    let mut name = String::new();
    for character in characters {
        if character != '_' || !name.ends_with('_') {
            name.push(character);
        }
    }
    match name.trim_matches('_') {
        "" => "graph".to_owned(),
        name => name.to_owned(),
    }
}

/// Names that a generated function cannot have.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "blocking", "box", "break", "build", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "json", "let",
    "loop", "macro", "match", "mod", "move", "mut", "node", "override", "priv", "pub", "ref", "return", "self",
    "static", "struct", "super", "trait", "true", "try", "type", "unsafe", "use", "where", "while",
];
