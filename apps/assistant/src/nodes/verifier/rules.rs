//! What can be said of outputs without a model.
//!
//! Where a plan reads records, they decide: a passage that was found beside a query without rows does not answer the
//! question. Rules are careful: what they let pass, a model may still turn down.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::prompt::{Clarified, Output};
use crate::verdict::Reason;

/// What the outputs are worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Finding {
    /// They answer the question, as far as rules can tell.
    Good { missing: Vec<String> },
    /// They do not.
    Bad { reason: Reason, missing: Vec<String> },
    /// The user must say what was meant.
    Unclear(Unclear),
}

/// What is not clear in a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unclear {
    pub(super) kind: &'static str,
    /// The words of the question that are not clear.
    pub(super) about: String,
    pub(super) question: String,
    pub(super) choices: Vec<String>,
}

/// Kinds of failure that lie in the question.
const IN_QUESTION: [&str; 3] = ["unknown_table", "ambiguous", "forbidden"];
/// The tool that reads records.
const RECORDS: &str = "bq_query";
/// The most choices that a user is shown.
const MOST_CHOICES: usize = 8;

/// Looks at what the calls of the last attempt gave.
pub(super) fn judge(question: &str, clarified: &[Clarified], outputs: &[Output]) -> Finding {
    let reads_records = outputs.iter().any(|output| output.tool == RECORDS);
    let counts = |output: &&Output| !reads_records || output.tool == RECORDS;
    let deciding: Vec<&Output> = outputs.iter().filter(counts).collect();
    let missing: Vec<String> = outputs.iter().filter_map(lack).collect();
    let is_good = |output: &&Output| output.is_good() && !is_empty(output);
    if !deciding.iter().any(is_good) {
        if let Some(unclear) = outputs.iter().find_map(|output| in_question(question, output)) {
            return Finding::Unclear(unclear);
        }
        let all_failed = deciding.iter().all(|output| !output.is_good());
        let reason = if all_failed && !deciding.is_empty() { Reason::Error } else { Reason::Empty };
        return Finding::Bad { reason, missing };
    }
    if let Some(unclear) = outputs.iter().filter(is_good).find_map(|output| several(question, clarified, output)) {
        return Finding::Unclear(unclear);
    }
    let good: Vec<&Output> = outputs.iter().filter(is_good).collect();
    match lacks_what_is_asked(question, &good) {
        Some(what) => Finding::Bad { reason: Reason::Irrelevant, missing: vec![what.to_owned()] },
        None => Finding::Good { missing },
    }
}

/// What a call did not give, in words.
fn lack(output: &Output) -> Option<String> {
    match (output.is_good(), is_empty(output)) {
        (true, true) => Some(format!("`{}` found nothing", output.tool)),
        (true, false) => None,
        (false, _) => Some(format!("`{}`: {}", output.tool, output.content.trim())),
    }
}

/// Whether a call gave nothing.
pub(super) fn is_empty(output: &Output) -> bool {
    match output.value() {
        Value::Object(entries) if entries.is_empty() => true,
        Value::Object(entries) => {
            let lists = ["rows", "passages", "facts", "tables", "results", "items", "hits", "columns"];
            match lists.iter().find_map(|name| entries.get(*name).and_then(Value::as_array)) {
                Some(found) => found.iter().all(is_nothing),
                None => entries.get("text").is_some_and(is_nothing),
            }
        }
        value => is_nothing(&value),
    }
}

/// Nothing, or a row of nothing: what a sum over no rows gives.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_nothing),
        _ => false,
    }
}

/// A failure that lies in the question.
fn in_question(question: &str, output: &Output) -> Option<Unclear> {
    if output.is_good() {
        return None;
    }
    let kind = IN_QUESTION.into_iter().find(|kind| {
        let text = &output.content;
        text.starts_with(&format!("{kind}: ")) || text.contains(&format!(" {kind}: "))
    })?;
    let text = output.content.split_once(&format!("{kind}: ")).map_or("", |(_, text)| text).trim();
    let names: Vec<&str> = quoted(text);
    let asked = question.to_lowercase();
    let (said, near): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| asked.contains(&name.to_lowercase()));
    // A name that the question does not have was made up by the plan.
    if kind == "unknown_table" && !names.is_empty() && said.is_empty() {
        return None;
    }
    let about = said.first().or(names.first()).copied().unwrap_or_default().to_owned();
    let mut choices: Vec<String> = Vec::new();
    for name in near.into_iter().filter(|name| **name != about) {
        if !choices.iter().any(|known| known == name) && choices.len() < MOST_CHOICES {
            choices.push(name.to_owned());
        }
    }
    let question = match kind {
        "forbidden" => format!("{text}. What would you like to know instead?"),
        _ => format!("{text}. What do you mean?"),
    };
    Some(Unclear { kind, about, question: question.replace("..", "."), choices })
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|name| !name.trim().is_empty()).collect()
}

/// Records of several that have the name in the question, where the question speaks of one.
fn several(question: &str, clarified: &[Clarified], output: &Output) -> Option<Unclear> {
    static OF_ONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:of|by|for|from|did|has)\s+(?:(?:Mr|Mrs|Ms|Dr)\.?\s+)?(\p{Lu}[\p{L}'-]+)\b")
            .expect("a pattern")
    });
    let name = OF_ONE.captures(question)?.get(1)?.as_str();
    if clarified.iter().any(|known| known.answer.to_lowercase().contains(&name.to_lowercase())) {
        return None;
    }
    let value = output.value();
    let rows = value.get("rows")?.as_array()?;
    let columns = rows.first()?.as_array()?.len();
    (0..columns).find_map(|column| {
        let cells: Option<Vec<&str>> = rows.iter().map(|row| row.get(column)?.as_str()).collect();
        let different: BTreeSet<&str> = cells?.into_iter().collect();
        let has_name = |cell: &&str| cell.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name);
        // The same words with more to them: people of one name, and not a column that says the name beside other things.
        let are_names = different.iter().all(|cell| has_name(cell) && cell.split_whitespace().count() <= 4);
        let is_exact = different.iter().any(|cell| question.contains(*cell) && *cell != name);
        (different.len() > 1 && different.len() <= MOST_CHOICES && are_names && !is_exact).then(|| Unclear {
            kind: "ambiguous",
            about: name.to_owned(),
            question: format!("There are {} of the name `{name}`. Which one do you mean?", different.len()),
            choices: different.into_iter().map(str::to_owned).collect(),
        })
    })
}

/// A number or a name that is asked for and that no output has.
fn lacks_what_is_asked(question: &str, outputs: &[&Output]) -> Option<&'static str> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(how many|how much|how long|what percentage|number of|total of|average)\b")
            .expect("a pattern")
    });
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)^\s*(who|whose)\b|\bname of\b").expect("a pattern"));
    let has = |test: fn(&Value) -> bool| outputs.iter().any(|output| any_within(&output.value(), test));
    if NUMBER.is_match(question) && !has(says_number) {
        return Some("a number");
    }
    (NAME.is_match(question) && !has(says_word)).then_some("a name")
}

/// Whether one of the values passes; keys and what a call says about itself do not count.
fn any_within(value: &Value, test: fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_within(item, test)),
        Value::Object(entries) => {
            let about = ["columns", "count", "truncated", "sql", "source"];
            let told =
                entries.iter().filter(|(key, _)| !entries.contains_key("rows") || !about.contains(&key.as_str()));
            told.map(|(_, value)| value).any(|value| any_within(value, test))
        }
        value => test(value),
    }
}

fn says_number(value: &Value) -> bool {
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

fn says_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn good(tool: &str, content: Value) -> Output {
        let (id, tool, status) = (String::new(), tool.to_owned(), "success".to_owned());
        Output { id, tool, args: Map::new(), status, content: content.to_string() }
    }

    fn bad(tool: &str, content: &str) -> Output {
        Output { status: "error".to_owned(), content: content.to_owned(), ..good(tool, Value::Null) }
    }

    fn reason(question: &str, outputs: &[Output]) -> Option<&'static str> {
        match judge(question, &[], outputs) {
            Finding::Good { .. } => None,
            Finding::Bad { reason, .. } => Some(reason.name()),
            Finding::Unclear(unclear) => Some(unclear.kind),
        }
    }

    /// R-PLN-42: rules before any model.
    #[test]
    fn outputs_are_judged_by_rules() {
        let (none, some) = (json!({ "rows": [], "count": 0 }), json!({ "columns": ["n"], "rows": [[37]], "count": 1 }));
        let passage = json!({ "passages": [{ "text": "late is later than due", "source": "a.md#b", "title": "t" }] });
        let rows: Vec<(&str, Vec<Output>, Option<&str>)> = vec![
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

    /// R-PLN-43, R-PLN-61: several of one name are asked about, and not once it is clear.
    #[test]
    fn several_of_one_name_are_asked_about() {
        let rows = json!({ "columns": ["name"], "rows": [["Anna Miller"], ["Bob Miller"], ["Anna Miller"]] });
        let outputs = [good("bq_query", rows)];
        let Finding::Unclear(unclear) = judge("Orders of Miller", &[], &outputs) else { panic!("it is unclear") };
        assert_eq!(
            (unclear.about.as_str(), unclear.choices),
            ("Miller", vec!["Anna Miller".into(), "Bob Miller".into()])
        );
        let clarified = [Clarified { about: "Miller".to_owned(), answer: "Anna Miller".to_owned() }];
        assert!(matches!(judge("Orders of Miller", &clarified, &outputs), Finding::Good { .. }));
        for clear in ["Orders of Anna Miller", "Which customers are called Miller?", "Orders of Meier"] {
            assert!(matches!(judge(clear, &[], &outputs), Finding::Good { .. }), "{clear}");
        }
    }
}
