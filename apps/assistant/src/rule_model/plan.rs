//! Plans of the rule model: a first plan, and alternatives if it returned nothing. No plan runs twice in a turn.

use serde_json::{Map, Value, json};

use super::RuleModel;
use super::answer::search_words;
use super::chat_intent::ChatIntent;
use super::classify::{ClassifiedQuestion, QuestionKind};
use super::sql_query::{ResultShape, SelectColumn, SqlQuery, ValueFormat};
use crate::plan::{Plan, PlannedCall};
use crate::prompt::TaskPrompt;

/// Maximum number of passages per search.
const MAX_PASSAGES: usize = 8;

impl RuleModel {
    /// Returns the first plan that was not tried and whose tools are available.
    pub(super) fn plan(&self, prompt: &TaskPrompt) -> Plan {
        let classified = self.classify(prompt);
        let can_be_tried = |plan: &Plan| {
            let has_tools = plan.tool_calls.iter().all(|call| prompt.tools.contains(&call.tool));
            has_tools && (plan.tool_calls.is_empty() || !plan.tool_calls.iter().all(|call| was_tried(call, prompt)))
        };
        let plans = self.plans(&classified);
        plans.into_iter().find(can_be_tried).unwrap_or_else(|| Plan::generate("there is nothing else to try"))
    }

    fn plans(&self, classified: &ClassifiedQuestion) -> Vec<Plan> {
        match &classified.kind {
            QuestionKind::Chat(intent) => self.chat_plans(intent),
            QuestionKind::Future => vec![Plan::generate("the data has no future values")],
            QuestionKind::Calculation(text) => {
                vec![Plan::tools([call("calculate", json!({ "expression": text }))], "the question is a calculation")]
            }
            QuestionKind::Data(query) => {
                let reason = "all words of the question match the data";
                // The date range of the data is queried together with the measure: a sum over days without data
                // would be misleading.
                let range = self.diagnostic_query(query).filter(|other| other.shape == ResultShape::Range);
                let calls = std::iter::once(&**query).chain(&range).map(|query| self.query_call(query));
                let mut plans = vec![Plan::tools(calls, reason)];
                plans.extend(
                    self.diagnostic_query(query)
                        .map(|other| Plan::tools([self.query_call(&other)], "the result is empty: find the cause")),
                );
                if classified.parsed.periods.is_empty() {
                    plans.extend(searches(classified));
                }
                plans
            }
            QuestionKind::Text => searches(classified),
        }
    }

    fn query_call(&self, query: &SqlQuery) -> PlannedCall {
        let mut planned = call("bq_query", json!({ "sql": query.sql() }));
        planned.args.extend(self.dataset.iter().map(|name| ("dataset".to_owned(), name.as_str().into())));
        planned
    }

    fn chat_plans(&self, intent: &ChatIntent) -> Vec<Plan> {
        let single_call = |tool: &str, args: Value, reason: &str| vec![Plan::tools([call(tool, args)], reason)];
        match intent {
            ChatIntent::Memory => single_call("search_memory", json!({}), "the question is about saved facts"),
            ChatIntent::DeleteMemory(query) => {
                single_call("forget_memory", json!({ "query": query }), "the user wants to delete a saved fact")
            }
            ChatIntent::Clock => single_call("now", json!({}), "the question is about the time"),
            ChatIntent::Tables => single_call("list_tables", json!({}), "the question is about the tables"),
            ChatIntent::File(path) => single_call("read_file", json!({ "path": path }), "the question is about a file"),
            ChatIntent::Describe(text) => {
                let table = self.catalog.tables.iter().find(|table| text.contains(&table.name.to_lowercase()));
                match table {
                    Some(table) => {
                        single_call("describe_table", json!({ "table": table.name }), "the question is about a table")
                    }
                    None => single_call("list_tables", json!({}), "the question is about the tables"),
                }
            }
            _ => vec![Plan::generate("there is nothing to look up")],
        }
    }

    /// Returns the diagnostic query for an empty result: the date range of the data, or the number of rows.
    pub(super) fn diagnostic_query(&self, query: &SqlQuery) -> Option<SqlQuery> {
        let bare = SqlQuery {
            group: Vec::new(),
            order: Vec::new(),
            limit: None,
            ranked: None,
            is_distinct: false,
            ..query.clone()
        };
        if let Some((_, column_ref)) = query.period.as_ref().filter(|(period, _)| !period.name.is_empty()) {
            let day = |function: &str, name: &str| SelectColumn {
                sql: format!("{function}(substr({}, 1, 10))", column_ref.sql()),
                name: name.to_owned(),
                form: ValueFormat::Plain,
            };
            let columns = vec![day("MIN", "first day"), day("MAX", "last day")];
            let (table, joins, filters) = (column_ref.table.clone(), Vec::new(), Vec::new());
            return Some(SqlQuery { shape: ResultShape::Range, columns, table, joins, filters, ..bare });
        }
        if !matches!(query.shape, ResultShape::List | ResultShape::Ranking | ResultShape::Comparison) {
            return None;
        }
        let name = format!("number of {}", query.table.replace('_', " "));
        let columns = vec![SelectColumn { sql: "COUNT(*)".to_owned(), name, form: ValueFormat::Integer }];
        Some(SqlQuery { shape: ResultShape::Number, columns, ..bare })
    }
}

/// Returns searches: first all words of the question with synonyms, then the words alone, then only the two
/// longest.
fn searches(classified: &ClassifiedQuestion) -> Vec<Plan> {
    let (words, synonyms) = search_words(&classified.question);
    let first = words.iter().chain(&synonyms).cloned().collect::<Vec<_>>().join(" ");
    let mut longest = words.clone();
    longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
    longest.truncate(2);
    let queries = [first, words.join(" "), longest.join(" ")];
    let search = |query: String| {
        let search = call("search_docs", json!({ "query": query, "limit": MAX_PASSAGES }));
        Plan::tools([search], "documents may contain the answer")
    };
    queries.into_iter().filter(|query| !query.is_empty()).map(search).collect()
}

fn call(tool: &str, args: Value) -> PlannedCall {
    let args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    PlannedCall::new("", tool, args)
}

/// Returns true if a call was made in this turn; a different row limit does not make it a new call.
fn was_tried(call: &PlannedCall, prompt: &TaskPrompt) -> bool {
    let normalised_args = |args: &Map<String, Value>| -> Vec<String> {
        let texts = args.values().filter_map(Value::as_str);
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()).collect()
    };
    prompt
        .previous_calls
        .iter()
        .any(|previous| previous.tool == call.tool && normalised_args(&previous.args) == normalised_args(&call.args))
}
