//! Rules that judge outputs without a model.
//!
//! If a plan queries records, their results decide: a passage found next to an empty query does not answer the
//! question. The rules reject only clear cases; a model may still reject what they accept.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::prompt::{Clarification, ToolResult};
use crate::verdict::VerdictReason;

/// Verdict of the rules on the outputs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RuleVerdict {
    /// The outputs answer the question, as far as rules can tell.
    Good { missing: Vec<String> },
    /// The outputs do not answer the question.
    Bad { reason: VerdictReason, missing: Vec<String> },
    /// The user must clarify the question.
    Unclear(AmbiguousQuestion),
}

/// An ambiguity in a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AmbiguousQuestion {
    pub(super) kind: &'static str,
    /// Ambiguous part of the question.
    pub(super) about: String,
    pub(super) question: String,
    pub(super) choices: Vec<String>,
}

/// Error kinds that are caused by the question.
const QUESTION_ERRORS: [&str; 3] = ["unknown_table", "ambiguous", "forbidden"];
/// Tool that queries records.
const QUERY_TOOL: &str = "bq_query";
/// Maximum number of choices shown to the user.
const MAX_CHOICES: usize = 8;

/// Judges the outputs of the last attempt.
pub(super) fn judge(question: &str, clarified: &[Clarification], outputs: &[ToolResult]) -> RuleVerdict {
    let reads_records = outputs.iter().any(|output| output.tool == QUERY_TOOL);
    let is_deciding = |output: &&ToolResult| !reads_records || output.tool == QUERY_TOOL;
    let deciding: Vec<&ToolResult> = outputs.iter().filter(is_deciding).collect();
    let missing: Vec<String> = outputs.iter().filter_map(describe_missing).collect();
    let is_usable = |output: &&ToolResult| output.is_success() && !is_empty(output);
    if !deciding.iter().any(is_usable) {
        if let Some(unclear) = outputs.iter().find_map(|output| ambiguity_from_error(question, output)) {
            return RuleVerdict::Unclear(unclear);
        }
        let all_failed = deciding.iter().all(|output| !output.is_success());
        let reason = if all_failed && !deciding.is_empty() { VerdictReason::Error } else { VerdictReason::Empty };
        return RuleVerdict::Bad { reason, missing };
    }
    if let Some(unclear) =
        outputs.iter().filter(is_usable).find_map(|output| ambiguous_match(question, clarified, output))
    {
        return RuleVerdict::Unclear(unclear);
    }
    let good: Vec<&ToolResult> = outputs.iter().filter(is_usable).collect();
    match missing_answer_kind(question, &good) {
        Some(requirement) => {
            RuleVerdict::Bad { reason: VerdictReason::Irrelevant, missing: vec![requirement.to_owned()] }
        }
        None => RuleVerdict::Good { missing },
    }
}

/// Describes in a sentence what a call failed to return.
fn describe_missing(output: &ToolResult) -> Option<String> {
    match (output.is_success(), is_empty(output)) {
        (true, true) => Some(format!("`{}` found nothing", output.tool)),
        (true, false) => None,
        (false, _) => Some(format!("`{}`: {}", output.tool, output.content.trim())),
    }
}

/// Returns true if a call returned nothing.
pub(super) fn is_empty(output: &ToolResult) -> bool {
    match output.value() {
        Value::Object(entries) if entries.is_empty() => true,
        Value::Object(entries) => {
            let lists = ["rows", "passages", "facts", "tables", "results", "items", "hits", "columns"];
            match lists.iter().find_map(|name| entries.get(*name).and_then(Value::as_array)) {
                Some(items) => items.iter().all(is_empty_value),
                None => entries.get("text").is_some_and(is_empty_value),
            }
        }
        value => is_empty_value(&value),
    }
}

/// Returns true for empty values and rows of empty values, such as the sum over no rows.
fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty_value),
        _ => false,
    }
}

/// Returns the ambiguity if the question caused the failure of this call.
fn ambiguity_from_error(question: &str, output: &ToolResult) -> Option<AmbiguousQuestion> {
    if output.is_success() {
        return None;
    }
    let kind = QUESTION_ERRORS.into_iter().find(|kind| {
        let text = &output.content;
        text.starts_with(&format!("{kind}: ")) || text.contains(&format!(" {kind}: "))
    })?;
    let text = output.content.split_once(&format!("{kind}: ")).map_or("", |(_, text)| text).trim();
    let names: Vec<&str> = quoted(text);
    let lower_question = question.to_lowercase();
    let (mentioned, suggested): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| lower_question.contains(&name.to_lowercase()));
    // The plan invented a name that is not in the question, so the user need not be asked.
    if kind == "unknown_table" && !names.is_empty() && mentioned.is_empty() {
        return None;
    }
    let about = mentioned.first().or(names.first()).copied().unwrap_or_default().to_owned();
    let mut choices: Vec<String> = Vec::new();
    for name in suggested.into_iter().filter(|name| **name != about) {
        if !choices.iter().any(|existing| existing == name) && choices.len() < MAX_CHOICES {
            choices.push(name.to_owned());
        }
    }
    let question = match kind {
        "forbidden" => format!("{text}. What would you like to know instead?"),
        _ => format!("{text}. What do you mean?"),
    };
    Some(AmbiguousQuestion { kind, about, question: question.replace("..", "."), choices })
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|name| !name.trim().is_empty()).collect()
}

/// Detects several records with the name in the question, if the question refers to one.
fn ambiguous_match(question: &str, clarified: &[Clarification], output: &ToolResult) -> Option<AmbiguousQuestion> {
    static OF_ONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:of|by|for|from|did|has)\s+(?:(?:Mr|Mrs|Ms|Dr)\.?\s+)?(\p{Lu}[\p{L}'-]+)\b")
            .expect("a pattern")
    });
    let name = OF_ONE.captures(question)?.get(1)?.as_str();
    if clarified.iter().any(|clarification| clarification.answer.to_lowercase().contains(&name.to_lowercase())) {
        return None;
    }
    let value = output.value();
    let rows = value.get("rows")?.as_array()?;
    let columns = rows.first()?.as_array()?.len();
    (0..columns).find_map(|column| {
        let cells: Option<Vec<&str>> = rows.iter().map(|row| row.get(column)?.as_str()).collect();
        let distinct: BTreeSet<&str> = cells?.into_iter().collect();
        let has_name = |cell: &&str| cell.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name);
        // Only cells that extend the name by a few words are names of people; longer cells merely mention the name.
        let are_names = distinct.iter().all(|cell| has_name(cell) && cell.split_whitespace().count() <= 4);
        let is_exact = distinct.iter().any(|cell| question.contains(*cell) && *cell != name);
        (distinct.len() > 1 && distinct.len() <= MAX_CHOICES && are_names && !is_exact).then(|| AmbiguousQuestion {
            kind: "ambiguous",
            about: name.to_owned(),
            question: format!("There are {} entries named `{name}`. Which one do you mean?", distinct.len()),
            choices: distinct.into_iter().map(str::to_owned).collect(),
        })
    })
}

/// Returns a requested number or name that is in none of the outputs.
fn missing_answer_kind(question: &str, outputs: &[&ToolResult]) -> Option<&'static str> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(how many|how much|how long|what percentage|number of|total of|average)\b")
            .expect("a pattern")
    });
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)^\s*(who|whose)\b|\bname of\b").expect("a pattern"));
    let has = |test: fn(&Value) -> bool| outputs.iter().any(|output| any_value(&output.value(), test));
    if NUMBER.is_match(question) && !has(contains_number) {
        return Some("a number");
    }
    (NAME.is_match(question) && !has(contains_word)).then_some("a name")
}

/// Returns true if one of the values passes the test; keys and metadata of the call are ignored.
fn any_value(value: &Value, test: fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_value(item, test)),
        Value::Object(entries) => {
            let about = ["columns", "count", "truncated", "sql", "source"];
            let content =
                entries.iter().filter(|(key, _)| !entries.contains_key("rows") || !about.contains(&key.as_str()));
            content.map(|(_, value)| value).any(|value| any_value(value, test))
        }
        value => test(value),
    }
}

fn contains_number(value: &Value) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        let words =
            "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|none";
        Regex::new(&format!(r"(?i)\d|\b({words})\b")).expect("a pattern")
    });
    match value {
        Value::Number(_) => true,
        Value::String(text) => WORDS.is_match(text),
        _ => false,
    }
}

fn contains_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn good(tool: &str, content: Value) -> ToolResult {
        let (id, tool, status) = (String::new(), tool.to_owned(), "success".to_owned());
        ToolResult { id, tool, args: Map::new(), status, content: content.to_string() }
    }

    fn bad(tool: &str, content: &str) -> ToolResult {
        ToolResult { status: "error".to_owned(), content: content.to_owned(), ..good(tool, Value::Null) }
    }

    fn reason(question: &str, outputs: &[ToolResult]) -> Option<&'static str> {
        match judge(question, &[], outputs) {
            RuleVerdict::Good { .. } => None,
            RuleVerdict::Bad { reason, .. } => Some(reason.name()),
            RuleVerdict::Unclear(unclear) => Some(unclear.kind),
        }
    }

    /// R-PLN-42: rules run before any model.
    #[test]
    fn outputs_are_judged_by_rules() {
        let (none, some) = (json!({ "rows": [], "count": 0 }), json!({ "columns": ["n"], "rows": [[37]], "count": 1 }));
        let passage = json!({ "passages": [{ "text": "late is later than due", "source": "a.md#b", "title": "t" }] });
        let rows: Vec<(&str, Vec<ToolResult>, Option<&str>)> = vec![
            ("How many?", vec![good("bq_query", some.clone())], None),
            ("How many?", vec![good("bq_query", none.clone())], Some("empty")),
            ("How much?", vec![good("bq_query", json!({ "rows": [[null]] }))], Some("empty")),
            ("Orders?", vec![good("search_docs", passage.clone()), good("bq_query", none.clone())], Some("empty")),
            ("Orders?", vec![good("search_docs", json!({ "passages": [] }))], Some("empty")),
            ("Orders?", vec![bad("bq_query", "`bq_query` failed: timeout: 10 s")], Some("error")),
            ("Orders?", vec![bad("now", "`now` failed: x"), good("calculate", json!({ "result": "4" }))], None),
            ("How many are late?", vec![good("search_docs", passage.clone())], Some("irrelevant")),
            ("What is late?", vec![good("search_docs", passage)], None),
            ("Who sold most?", vec![good("bq_query", some)], Some("irrelevant")),
            ("Who sold most?", vec![good("bq_query", json!({ "rows": [["Ann", 3]] }))], None),
            (
                "Show the ordrs table",
                vec![bad("bq_query", "unknown_table: no `ordrs`, near: `orders`")],
                Some("unknown_table"),
            ),
            ("How is it?", vec![bad("bq_query", "unknown_table: no `ordrs`, near: `orders`")], Some("error")),
            ("Salaries", vec![bad("bq_query", "forbidden: you may not read the table `employees`")], Some("forbidden")),
        ];
        for (question, outputs, expected) in rows {
            assert_eq!(reason(question, &outputs), expected, "{question}: {outputs:?}");
        }
    }

    /// R-PLN-43, R-PLN-61: several records with one name cause a clarification question, until the name is
    /// unambiguous.
    #[test]
    fn several_people_with_one_name_cause_a_question() {
        let rows = json!({ "columns": ["name"], "rows": [["Anna Miller"], ["Bob Miller"], ["Anna Miller"]] });
        let outputs = [good("bq_query", rows)];
        let RuleVerdict::Unclear(unclear) = judge("Orders of Miller", &[], &outputs) else { panic!("it is unclear") };
        assert_eq!(
            (unclear.about.as_str(), unclear.choices),
            ("Miller", vec!["Anna Miller".into(), "Bob Miller".into()])
        );
        let clarified = [Clarification { about: "Miller".to_owned(), answer: "Anna Miller".to_owned() }];
        assert!(matches!(judge("Orders of Miller", &clarified, &outputs), RuleVerdict::Good { .. }));
        for clear in ["Orders of Anna Miller", "Which customers are called Miller?", "Orders of Meier"] {
            assert!(matches!(judge(clear, &[], &outputs), RuleVerdict::Good { .. }), "{clear}");
        }
    }
}
