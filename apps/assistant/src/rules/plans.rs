//! Plans: what is tried first, and what is tried next where that gave nothing. No plan is made twice in a turn.

use serde_json::{Map, Value, json};

use super::Book;
use super::answers::search_words;
use super::query::{Form, Query, Shape, Shown};
use super::talk::Talk;
use super::topic::{Topic, Understood};
use crate::plan::{Plan, PlannedCall};
use crate::prompt::Ask;

/// How many passages are looked at.
const PASSAGES: usize = 8;

impl Book {
    /// The first plan that was not tried and whose tools there are.
    pub(super) fn plan(&self, ask: &Ask) -> Plan {
        let understood = self.understand(ask);
        let can_be_tried = |plan: &Plan| {
            let has_tools = plan.tool_calls.iter().all(|call| ask.tools.contains(&call.tool));
            has_tools && (plan.tool_calls.is_empty() || !plan.tool_calls.iter().all(|call| was_tried(call, ask)))
        };
        let plans = self.plans(&understood);
        plans.into_iter().find(can_be_tried).unwrap_or_else(|| Plan::generate("there is nothing else to try"))
    }

    fn plans(&self, understood: &Understood) -> Vec<Plan> {
        match &understood.topic {
            Topic::Talk(talk) => self.talking(talk),
            Topic::Future => vec![Plan::generate("nobody has data of the future")],
            Topic::Calculation(text) => {
                vec![Plan::tools([call("calculate", json!({ "expression": text }))], "it is a calculation")]
            }
            Topic::Data(query) => {
                let why = "all of its words mean something in the data";
                // Which days the data has is asked with it: a sum over days that it does not have would mislead.
                let range = self.other(query).filter(|other| other.shape == Shape::Range);
                let calls = std::iter::once(&**query).chain(&range).map(|query| self.asking(query));
                let mut plans = vec![Plan::tools(calls, why)];
                plans.extend(
                    self.other(query).map(|other| Plan::tools([self.asking(&other)], "nothing was found: looks why")),
                );
                if understood.reading.periods.is_empty() {
                    plans.extend(searches(understood));
                }
                plans
            }
            Topic::Text => searches(understood),
        }
    }

    fn asking(&self, query: &Query) -> PlannedCall {
        let mut asked = call("bq_query", json!({ "sql": query.sql() }));
        asked.args.extend(self.dataset.iter().map(|name| ("dataset".to_owned(), name.as_str().into())));
        asked
    }

    fn talking(&self, talk: &Talk) -> Vec<Plan> {
        let one = |tool: &str, args: Value, why: &str| vec![Plan::tools([call(tool, args)], why)];
        match talk {
            Talk::Memory => one("search_memory", json!({}), "it is about what is known of the user"),
            Talk::Forget(what) => one("forget_memory", json!({ "query": what }), "the user wants it forgotten"),
            Talk::Clock => one("now", json!({}), "it is about the time"),
            Talk::Tables => one("list_tables", json!({}), "it is about the tables"),
            Talk::File(path) => one("read_file", json!({ "path": path }), "it is about a file"),
            Talk::Describe(text) => {
                let named = self.catalog.tables.iter().find(|table| text.contains(&table.name.to_lowercase()));
                match named {
                    Some(table) => one("describe_table", json!({ "table": table.name }), "it is about a table"),
                    None => one("list_tables", json!({}), "it is about the tables"),
                }
            }
            _ => vec![Plan::generate("there is nothing to look up")],
        }
    }

    /// What is asked where a query gave nothing: which days the data has, or how many rows there are.
    pub(super) fn other(&self, query: &Query) -> Option<Query> {
        let bare = Query {
            group: Vec::new(),
            order: Vec::new(),
            limit: None,
            ranked: None,
            is_distinct: false,
            ..query.clone()
        };
        if let Some((_, place)) = query.period.as_ref().filter(|(period, _)| !period.name.is_empty()) {
            let day = |function: &str, name: &str| Shown {
                sql: format!("{function}(substr({}, 1, 10))", place.sql()),
                name: name.to_owned(),
                form: Form::Plain,
            };
            let columns = vec![day("MIN", "first day"), day("MAX", "last day")];
            let (table, joins, filters) = (place.table.clone(), Vec::new(), Vec::new());
            return Some(Query { shape: Shape::Range, columns, table, joins, filters, ..bare });
        }
        if !matches!(query.shape, Shape::List | Shape::Ranking | Shape::Comparison) {
            return None;
        }
        let name = format!("number of {}", query.table.replace('_', " "));
        let columns = vec![Shown { sql: "COUNT(*)".to_owned(), name, form: Form::Whole }];
        Some(Query { shape: Shape::Number, columns, ..bare })
    }
}

/// First the words of the question and others for them, then the rarer words alone.
fn searches(understood: &Understood) -> Vec<Plan> {
    let (own, others) = search_words(&understood.question);
    let first = own.iter().chain(&others).cloned().collect::<Vec<_>>().join(" ");
    let mut longest = own.clone();
    longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
    longest.truncate(2);
    let queries = [first, own.join(" "), longest.join(" ")];
    let search = |query: String| {
        let search = call("search_docs", json!({ "query": query, "limit": PASSAGES }));
        Plan::tools([search], "documents may say it")
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

/// Whether a call was made in this turn; limits on rows do not make it another.
fn was_tried(call: &PlannedCall, ask: &Ask) -> bool {
    let said = |args: &Map<String, Value>| -> Vec<String> {
        let texts = args.values().filter_map(Value::as_str);
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()).collect()
    };
    ask.tried.iter().any(|tried| tried.tool == call.tool && said(&tried.args) == said(&call.args))
}
