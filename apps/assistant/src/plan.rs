//! Plan of a turn: the calls that a model proposes and the graph runs.
//!
//! Models write JSON with errors: surrounding text, extra commas and missing ends are repaired. An impossible plan
//! (duplicate ids, cyclic dependencies) is rejected with a reason that the model can act on.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sqlparser::dialect::BigQueryDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};
use superstep::core::canonical::sort_keys;

mod repair;

/// Next step after a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// Writes the answer without calling tools.
    Generate,
    /// Calls tools first.
    ToolUse,
}

/// Plan for a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Next step of the turn.
    pub next_step: NextStep,
    /// Tool calls to run; empty if no tool is needed.
    #[serde(default)]
    pub tool_calls: Vec<PlannedCall>,
    /// Reason for the plan, in one sentence.
    #[serde(default)]
    #[serde(rename = "why")]
    pub reason: String,
}

/// Tool call of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// Id of the call, unique in the conversation. The planner assigns an id if the model omits it.
    #[serde(default)]
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call. `{{id}}` in a text is replaced by the result of the call with that id.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Ids of the calls that must end before this call starts.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Reason for the call, in one sentence.
    #[serde(default)]
    #[serde(rename = "why")]
    pub reason: String,
}

impl Plan {
    /// Creates a plan without calls; the answer is written next.
    #[must_use]
    pub fn generate(reason: impl Into<String>) -> Self {
        Self { next_step: NextStep::Generate, tool_calls: Vec::new(), reason: reason.into() }
    }

    /// Creates a plan that runs these calls first.
    #[must_use]
    pub fn tools(calls: impl IntoIterator<Item = PlannedCall>, reason: impl Into<String>) -> Self {
        Self { next_step: NextStep::ToolUse, tool_calls: calls.into_iter().collect(), reason: reason.into() }
    }

    /// Parses a model response, repairs minor errors, and validates the plan.
    ///
    /// ```
    /// use superstep_assistant::plan::Plan;
    ///
    /// let plan = Plan::parse("Sure:\n```json\n{\"tool_calls\": [{\"tool\": \"now\",}]\n```").unwrap();
    /// assert_eq!(plan.tool_calls[0].tool, "now");
    /// ```
    ///
    /// # Errors
    /// Returns a message for the model if the text contains no plan, an id is used twice, or a dependency is
    /// unknown or cyclic.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = repair::object(text).ok_or("the answer contains no JSON object")?;
        let mut plan = repair::plan(value)?;
        plan.assign_ids();
        plan.check()?;
        Ok(plan)
    }

    /// Returns the plan as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns a text that is equal for plans with the same calls and arguments, whatever their order and ids.
    #[must_use]
    pub fn signature(&self) -> String {
        let mut calls: Vec<String> = self.tool_calls.iter().map(PlannedCall::signature).collect();
        calls.sort();
        calls.join("\n")
    }

    /// Assigns ids to calls without one.
    fn assign_ids(&mut self) {
        let used_ids: BTreeSet<String> = self.tool_calls.iter().map(|call| call.id.clone()).collect();
        let mut free_ids = (1..).map(|number| format!("c{number}")).filter(|id| !used_ids.contains(id));
        for call in self.tool_calls.iter_mut().filter(|call| call.id.trim().is_empty()) {
            call.id = free_ids.next().unwrap_or_default();
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for call in &self.tool_calls {
            if !ids.insert(call.id.as_str()) {
                return Err(format!("two calls have the id `{}`", call.id));
            }
        }
        for call in &self.tool_calls {
            if let Some(unknown) = call.depends_on.iter().find(|id| !ids.contains(id.as_str())) {
                return Err(format!("`{}` depends on `{unknown}`, which is not in the plan", call.id));
            }
        }
        groups(&self.tool_calls).map(|_| ())
    }
}

impl PlannedCall {
    /// Creates a call without dependencies and reason.
    #[must_use]
    pub fn new(id: impl Into<String>, tool: impl Into<String>, args: Map<String, Value>) -> Self {
        Self { id: id.into(), tool: tool.into(), args, depends_on: Vec::new(), reason: String::new() }
    }

    /// Adds dependencies on other calls.
    #[must_use]
    pub fn after(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.depends_on.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Sets the reason.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub(crate) fn signature(&self) -> String {
        signature(&self.tool, &self.args)
    }
}

/// Returns a text that is equal for calls of the same tool with equivalent arguments.
pub(crate) fn signature(tool: &str, args: &Map<String, Value>) -> String {
    format!("{tool} {}", normalised(tool, args))
}

/// Returns the placeholder in arguments for the result of the call with this id.
pub(crate) fn reference(id: &str) -> String {
    format!("{{{{{id}}}}}")
}

/// Groups the calls: calls of a group can run in parallel and depend only on earlier groups.
///
/// # Errors
/// Returns the calls that depend on each other in a cycle.
pub(crate) fn groups(calls: &[PlannedCall]) -> Result<Vec<Vec<String>>, String> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut remaining: BTreeMap<&str, &PlannedCall> = calls.iter().map(|call| (call.id.as_str(), call)).collect();
    while !remaining.is_empty() {
        let is_ready = |call: &&PlannedCall| {
            remaining.contains_key(call.id.as_str())
                && !call.depends_on.iter().any(|id| remaining.contains_key(id.as_str()))
        };
        let group: Vec<String> = calls.iter().filter(is_ready).map(|call| call.id.clone()).collect();
        if group.is_empty() {
            let names: Vec<String> = remaining.keys().map(|id| format!("`{id}`")).collect();
            return Err(format!("calls depend on each other in a circle: {}", names.join(", ")));
        }
        group.iter().for_each(|id| {
            remaining.remove(id.as_str());
        });
        groups.push(group);
    }
    Ok(groups)
}

/// Normalises arguments: the order of keys and null values are ignored; in SQL and search texts, spaces and letter
/// case are ignored where they have no meaning. All other values, such as paths, are compared exactly.
fn normalised(tool: &str, args: &Map<String, Value>) -> String {
    let non_null = args.iter().filter(|(_, value)| !value.is_null());
    let entries: BTreeMap<&String, Value> = non_null
        .map(|(key, value)| match (tool, key.as_str(), value) {
            ("bq_query", "sql", Value::String(sql)) => (key, Value::from(normalised_sql(sql))),
            ("search_docs" | "search_memory" | "web_search", "query", Value::String(words)) => {
                let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
                (key, Value::from(words.join(" ").trim_end_matches(['.', '?', '!'])))
            }
            _ => (key, sort_keys(value.clone())),
        })
        .collect();
    json!(entries).to_string()
}

/// Returns the tokens of a query without whitespace and comments. Only keywords are case-insensitive: string
/// literals are not, and for names this depends on the database.
fn normalised_sql(sql: &str) -> String {
    let Ok(tokens) = Tokenizer::new(&BigQueryDialect {}, sql).tokenize() else { return sql.to_owned() };
    let parts = tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))).map(|token| match token {
        Token::Word(word) if word.keyword != Keyword::NoKeyword && word.quote_style.is_none() => {
            word.value.to_uppercase()
        }
        token => token.to_string(),
    });
    parts.collect::<Vec<_>>().join(" ").trim_end_matches([';', ' ']).to_owned()
}
