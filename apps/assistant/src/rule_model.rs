//! The rule model: plans, answers, verifies and summarises behind the port of a language model, and declares itself
//! as rules.
//!
//! A question is parsed with the names in the data, the synonyms and the periods that it mentions. If every word is
//! understood, the question becomes a query of the data; otherwise documents are searched, and a sentence is quoted
//! only if it has the words of the question. If both fail, the answer says that the answer is not known. Nothing is
//! guessed.

mod aggregation;
mod answer;
mod calculation;
mod chat_intent;
mod classify;
mod join_graph;
mod lexicon;
mod mentions;
mod parsed_question;
mod periods;
mod plan;
mod query_builder;
mod query_cues;
mod query_draft;
mod select_clause;
mod sql_query;
mod synonyms;
mod tokens;
mod verify;

use superstep::models::{RuleBasedModel, ScriptedReply};

use crate::data::{Catalog, Column, ColumnType};
use crate::prompt::{ModelTask, TaskPrompt};
use join_graph::JoinGraph;
use lexicon::{ColumnRef, Lexicon};
pub use synonyms::Synonyms;

/// Label of the rule model in the user interface.
pub const LABEL: &str = "rule-based, no language model";

/// Creates the rule model for this data and these synonyms: `local/rules`.
///
/// ```
/// use superstep_assistant::data::Dataset;
/// use superstep_assistant::rule_model::{Synonyms, rules};
/// use superstep_assistant::sample;
///
/// # fn main() -> superstep::Result<()> {
/// let synonyms = Synonyms::parse(&sample::text("synonyms.txt").unwrap_or_default())?;
/// let model = rules(Dataset::sample()?.catalog().clone(), synonyms);
/// # let _ = model;
/// # Ok(()) }
/// ```
#[must_use]
pub fn rules(catalog: Catalog, synonyms: Synonyms) -> RuleBasedModel {
    into_model(RuleModel::new(catalog, &synonyms))
}

/// Creates the rule model like [`rules`], for an installation whose queries go to other data by default: its calls
/// name this dataset.
#[must_use]
pub fn rules_for_dataset(dataset: impl Into<String>, catalog: Catalog, synonyms: Synonyms) -> RuleBasedModel {
    into_model(RuleModel { dataset: Some(dataset.into()), ..RuleModel::new(catalog, &synonyms) })
}

fn into_model(model: RuleModel) -> RuleBasedModel {
    RuleBasedModel::from_fn(move |request, _| match TaskPrompt::from_request(request) {
        Some(prompt) => ScriptedReply::text(model.reply(&prompt)),
        None => ScriptedReply::text(format!("This assistant is {LABEL}. It answers only requests of its own graph.")),
    })
}

/// Shared data of the rule model.
struct RuleModel {
    catalog: Catalog,
    lexicon: Lexicon,
    join_graph: JoinGraph,
    /// Dataset that calls must name, if any.
    dataset: Option<String>,
}

impl RuleModel {
    fn new(catalog: Catalog, synonyms: &Synonyms) -> Self {
        Self { lexicon: Lexicon::new(&catalog, synonyms), join_graph: JoinGraph::new(&catalog), dataset: None, catalog }
    }

    fn reply(&self, prompt: &TaskPrompt) -> String {
        match prompt.task {
            ModelTask::Plan => self.plan(prompt).to_text(),
            ModelTask::Answer => self.answer(prompt),
            ModelTask::Verify => self.judge(prompt),
            ModelTask::Summarize => verify::summary_json(prompt),
        }
    }

    fn column(&self, column_ref: &ColumnRef) -> Option<&Column> {
        self.catalog.table(&column_ref.table)?.column(&column_ref.column)
    }

    /// Returns true if one of the columns holds money.
    fn is_money(&self, column_refs: &[ColumnRef]) -> bool {
        column_refs
            .iter()
            .any(|column_ref| self.column(column_ref).is_some_and(|column| column.kind == ColumnType::Decimal))
    }

    /// Returns true if the rows of a table are events or parts of events.
    fn is_event_table(&self, table: &str) -> bool {
        let Some(table) = self.catalog.table(table) else { return false };
        let parents = table.columns.iter().filter_map(|column| column.references.as_ref());
        let mut all = parents.filter_map(|(table, _)| self.catalog.table(table)).chain([table]);
        all.any(|table| table.event().is_some())
    }
}
