//! Answers of the rule model: sentences and tables from tool results, each with the number of its output, and
//! nothing else.

mod numbers;
mod passages;
mod rows;

use serde_json::Value;

use super::chat_intent::{ChatIntent, describe_history};
use super::classify::{ClassifiedQuestion, QuestionKind};
use super::sql_query::{ResultShape, SqlQuery};
use super::{LABEL, RuleModel};
use crate::data::ColumnType;
use crate::prompt::{TaskPrompt, ToolResult};
use crate::verdict::VerdictStatus;
pub(super) use passages::search_words;

/// Maximum number of characters of an output in a format that the rules do not know.
const MAX_OUTPUT_CHARS: usize = 600;

impl RuleModel {
    /// Answers a question.
    pub(super) fn answer(&self, prompt: &TaskPrompt) -> String {
        let classified = self.classify(prompt);
        let text = match self.chat_answer(&classified.kind, prompt) {
            Some(text) => text,
            None => self.lookup_answer(&classified, prompt),
        };
        match prompt.preferences["language"].as_str() {
            Some(language) if !language.is_empty() && !language.starts_with("en") => {
                format!("{text}\n\n(This assistant is {LABEL}; it answers in English only.)")
            }
            _ => text,
        }
    }

    /// Answers a message that needs no tool.
    fn chat_answer(&self, kind: &QuestionKind, prompt: &TaskPrompt) -> Option<String> {
        let QuestionKind::Chat(intent) = kind else { return None };
        let text = match intent {
            ChatIntent::Thanks => "You are welcome.".to_owned(),
            ChatIntent::Greeting => format!("Hello. I am {LABEL}. {}", self.examples()),
            ChatIntent::Bye => "Goodbye.".to_owned(),
            ChatIntent::Help => {
                format!("I am {LABEL}: I query the data, quote documents and calculate. {}", self.examples())
            }
            ChatIntent::Statement => "Noted.".to_owned(),
            ChatIntent::History { is_first } => describe_history(prompt, *is_first),
            _ => return None,
        };
        Some(text)
    }

    fn lookup_answer(&self, classified: &ClassifiedQuestion, prompt: &TaskPrompt) -> String {
        let gave_up = prompt.verdict.as_ref().filter(|verdict| verdict.status == VerdictStatus::GivingUp);
        let missing: Vec<String> =
            prompt.verdict.iter().flat_map(|verdict| &verdict.missing).map(|text| strip_error_kind(text)).collect();
        match self.answer_from_outputs(classified, prompt) {
            Some(text) if gave_up.is_some() && !missing.is_empty() => {
                format!("I could not find everything: {}.\n\n{text}", missing.join("; "))
            }
            Some(text) => match prompt.outputs.iter().find(|output| !output.is_success()) {
                Some(failed) => format!("{text}\n\nSome steps failed: {}.", strip_error_kind(&failed.content)),
                None => text,
            },
            None => self.unknown_answer(classified, prompt),
        }
    }

    /// Returns the answer from the outputs, if they contain one.
    pub(super) fn answer_from_outputs(&self, classified: &ClassifiedQuestion, prompt: &TaskPrompt) -> Option<String> {
        let good: Vec<(usize, &ToolResult)> = prompt
            .outputs
            .iter()
            .filter(|output| output.is_success())
            .enumerate()
            .map(|(index, output)| (index + 1, output))
            .collect();
        let reads_records = good.iter().any(|(_, output)| output.tool == "bq_query");
        // After a clarification, outputs of the rejected interpretation are still present.
        let is_own_query = |output: &ToolResult| self.query_of(classified, output).is_some();
        let has_own_query = good.iter().any(|(_, output)| is_own_query(output));
        let mut texts: Vec<String> = Vec::new();
        for (number, output) in &good {
            let text = match output.tool.as_str() {
                "bq_query" if has_own_query && !is_own_query(output) => None,
                "bq_query" => self.describe_output_rows(classified, output, (*number, !texts.is_empty()), prompt),
                "search_docs" if reads_records && !texts.is_empty() => None,
                "search_docs" => passages::quote_passages(classified, output, *number, prompt),
                _ => format_single_value(output, *number),
            };
            texts.extend(text);
        }
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Returns the query of the rule model that produced this output.
    fn query_of(&self, classified: &ClassifiedQuestion, output: &ToolResult) -> Option<SqlQuery> {
        let QuestionKind::Data(query) = &classified.kind else { return None };
        let sql = output.args.get("sql").and_then(Value::as_str).unwrap_or_default();
        let all = [Some((**query).clone()), self.diagnostic_query(query)];
        all.into_iter().flatten().find(|query| query.sql() == sql)
    }

    /// Describes rows. Of the date range of the data only the relevant part is mentioned: the reason for an empty
    /// result, or missing days.
    fn describe_output_rows(
        &self,
        classified: &ClassifiedQuestion,
        output: &ToolResult,
        (number, is_answered): (usize, bool),
        prompt: &TaskPrompt,
    ) -> Option<String> {
        let query = self.query_of(classified, output);
        match (&query, &classified.kind) {
            (Some(SqlQuery { shape: ResultShape::Range, .. }), QuestionKind::Data(requested)) => match is_answered {
                true => rows::describe_missing_days(requested, &output.value(), number, &prompt.today),
                false => rows::describe_data_range(requested, &output.value(), number),
            },
            _ => rows::describe_rows(query.as_ref(), &output.value(), number, prompt),
        }
    }

    /// States that the answer is not known, with the reason and what is known.
    fn unknown_answer(&self, classified: &ClassifiedQuestion, prompt: &TaskPrompt) -> String {
        let unknown = classified.parsed.unknown_words();
        let failed: Vec<String> = prompt
            .outputs
            .iter()
            .filter(|output| !output.is_success())
            .map(|output| strip_error_kind(&output.content))
            .collect();
        let searched = prompt.previous_calls.iter().any(|previous| previous.tool == "search_docs")
            || prompt.outputs.iter().any(|output| output.tool == "search_docs");
        let reason = match &classified.kind {
            QuestionKind::Future => "the question is about the future, and the data covers only the past".to_owned(),
            QuestionKind::Chat(ChatIntent::Memory) => return "I know nothing about you yet.".to_owned(),
            _ if !failed.is_empty() => failed.join("; "),
            QuestionKind::Text if searched && !unknown.is_empty() => {
                let named: Vec<String> = unknown.iter().map(|word| format!("\"{word}\"")).collect();
                format!("the data has no match for {}, and I found no matching document", named.join(", "))
            }
            QuestionKind::Text if searched => {
                "I found no matching document and could not turn the question into a query".to_owned()
            }
            _ => "I found no answer".to_owned(),
        };
        match prompt.preferences["length"].as_str() {
            Some("short") => format!("I do not know: {reason}."),
            _ => format!("I do not know: {reason}.\n\n{}", self.examples()),
        }
    }

    /// Returns example questions that can be answered.
    fn examples(&self) -> String {
        let event_table = self.catalog.tables.iter().find(|table| table.event().is_some());
        let mut all = Vec::new();
        if let Some(table) = event_table {
            all.push(format!("\"How many {} were there last month?\"", table.name.replace('_', " ")));
        }
        let number = self.catalog.tables.iter().find_map(|table| {
            let column = table.columns.iter().find(|column| column.kind == ColumnType::Decimal)?;
            Some(format!(
                "\"What is the average {} of {}?\"",
                column.name.replace('_', " "),
                table.name.replace('_', " ")
            ))
        });
        all.extend(number);
        all.push("\"What is 17.5% of 1,249.90?\"".to_owned());
        format!("You can ask me, for example: {}.", all.join(", "))
    }
}

/// Removes the machine-readable kind from an error text.
fn strip_error_kind(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    text.split_once(": ").map_or(text, |(kind, rest)| if kind.contains(' ') { text } else { rest }).to_owned()
}

/// Formats the outputs of tools that return a single value.
fn format_single_value(output: &ToolResult, number: usize) -> Option<String> {
    let value = output.value();
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match output.tool.as_str() {
        "calculate" => {
            let unit = value["unit"].as_str().map(|unit| format!(" {unit}")).unwrap_or_default();
            let about = if value["rounded"] == true { ", rounded" } else { "" };
            Some(format!("The result is {}{unit}{about} [{number}].", numbers::grouped(&text("result"))))
        }
        "now" => Some(format!("It is {} ({}) [{number}].", text("local"), text("zone"))),
        "list_tables" => format_list(&value["tables"], number, |table| {
            format!("{} ({} rows)", table["name"].as_str().unwrap_or_default(), table["rows"])
        }),
        "describe_table" => format_list(&value["columns"], number, |column| {
            let about = column["about"].as_str().filter(|about| !about.is_empty());
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            format!(
                "{} ({}){about}",
                column["name"].as_str().unwrap_or_default(),
                column["type"].as_str().unwrap_or_default()
            )
        }),
        "search_memory" => format_list(&value["facts"], number, |fact| {
            format!("{} ({})", fact["text"].as_str().unwrap_or_default(), fact["date"].as_str().unwrap_or_default())
        }),
        "forget_memory" => {
            let all =
                format_list(&value["forgotten"], number, |fact| fact["text"].as_str().unwrap_or_default().to_owned());
            Some(all.map_or("There was nothing to forget.".to_owned(), |all| format!("Forgotten:\n{all}")))
        }
        _ => {
            let content = value.get("text").and_then(Value::as_str).unwrap_or(&output.content);
            let short: String = content.chars().take(MAX_OUTPUT_CHARS).collect();
            let more = if content.chars().count() > MAX_OUTPUT_CHARS { " ..." } else { "" };
            (!short.trim().is_empty()).then(|| format!("{short}{more} [{number}]"))
        }
    }
}

fn format_list(value: &Value, number: usize, format_item: impl Fn(&Value) -> String) -> Option<String> {
    let all: Vec<String> = value.as_array()?.iter().map(|item| format!("- {}", format_item(item))).collect();
    (!all.is_empty()).then(|| format!("{} [{number}]", all.join("\n")))
}
