//! Validation of a file on its own: names of fields and nodes, placeholders, compatible types.
//!
//! The graph compiler validates the structure of the graph; it runs at the end, with placeholder nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::field::Field;
use superstep_core::schema::Schema;
use superstep_core::suggest::did_you_mean_or_list;
use superstep_core::types::FieldType;

use super::condition::{Condition, ConditionKind as TestCheck};
use super::diagnostics::Diagnostics;
use super::model::{
    ConditionNodeConfig, GraphFileModel, InterruptNodeConfig, MapNodeConfig, ModelNodeConfig, NodeKindConfig,
    PromptConfig, SetNodeConfig,
};
use super::model::{SubgraphNodeConfig, ToolNodeConfig};
use super::spanned::below;
use super::{END, START};

mod edges;

/// The checks of one file.
pub(super) struct FileChecker<'a> {
    pub(super) description: &'a GraphFileModel,
    pub(super) schema: &'a Arc<Schema>,
    pub(super) diagnostics: &'a mut Diagnostics,
}

/// Returns the item names of nodes that are targets of map nodes.
pub(super) fn items(description: &GraphFileModel) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut items: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (_, node) in &description.nodes {
        if let NodeKindConfig::Map(map) = &node.kind {
            items.entry(&map.to).or_default().insert(&map.item);
        }
    }
    items
}

impl FileChecker<'_> {
    pub(super) fn run(mut self) {
        self.sizes();
        let description = self.description;
        for (name, node) in &description.nodes {
            let at = below("/nodes", name);
            if name == START || name == END {
                self.diagnostics.at_key(&at, format!("`{name}` is not a valid node name"), None);
            }
            match &node.kind {
                NodeKindConfig::Model(model) => self.model(name, &at, model),
                NodeKindConfig::Tools(tools) => self.tools(&at, tools),
                NodeKindConfig::Condition(condition) => self.condition(name, &at, condition),
                NodeKindConfig::Map(map) => self.map(&at, map),
                NodeKindConfig::Interrupt(interrupt) => self.interrupt(name, &at, interrupt),
                NodeKindConfig::Subgraph(subgraph) => self.subgraph(&at, subgraph),
                NodeKindConfig::Set(set) => self.set(name, &at, set),
                NodeKindConfig::Rust(rust) => {
                    for (at_name, target) in
                        item_pointers(&below(&at, "goto"), rust.goto.as_deref().unwrap_or_default())
                    {
                        self.target(&at_name, target);
                    }
                    for (key, fields) in [("reads", &rust.reads), ("writes", &rust.writes)] {
                        self.fields(&below(&at, key), fields.as_deref().unwrap_or_default());
                    }
                }
            }
        }
        self.edges();
        let top = &description.top;
        self.fields("/input", top.input.as_deref().unwrap_or_default());
        self.fields("/output", top.output.as_deref().unwrap_or_default());
        for (pointer, names) in
            [("/interrupt_before", &top.interrupt_before), ("/interrupt_after", &top.interrupt_after)]
        {
            for (at, name) in item_pointers(pointer, names).filter(|(_, name)| *name != "*") {
                self.node(&at, name);
            }
        }
    }

    fn model(&mut self, name: &str, at: &str, model: &ModelNodeConfig) {
        self.prompt(name, at, &model.prompt, model.messages.is_none());
        if let Some(field) = &model.messages {
            self.message_list(&below(at, "messages"), field);
        }
        let output = model.output.as_ref().and_then(|field| self.field(&below(at, "output"), field));
        let writes_messages = match &model.output {
            Some(_) => output.is_some_and(is_messages),
            None => true,
        };
        if model.output.is_none() && model.messages.is_none() {
            self.diagnostics.at(
                at,
                "`output` is missing",
                Some(
                    "without `messages`, the node requires a field \
                 for its response"
                        .to_owned(),
                ),
            );
        }
        if model.schema.is_some() && writes_messages {
            let help = "set `output` to a field that is not a message list";
            self.diagnostics.at(
                &below(at, "schema"),
                "a response with a schema cannot be written to a message list",
                Some(help.to_owned()),
            );
        }
        if !model.tools.is_empty() && !writes_messages {
            let help = "remove `output`; tool calls are part of the message";
            self.diagnostics.at(
                &below(at, "tools"),
                "a model node with tools must write to a message list",
                Some(help.to_owned()),
            );
        }
        self.check_duplicates(&below(at, "tools"), &model.tools);
    }

    fn tools(&mut self, at: &str, tools: &ToolNodeConfig) {
        self.message_list(&below(at, "messages"), &tools.messages);
        self.check_duplicates(&below(at, "tools"), &tools.tools);
        let tool_names: Vec<&str> = tools.tools.iter().map(String::as_str).collect();
        let policy = below(at, "policy");
        for (key, names) in [
            ("allow", &tools.policy.allow),
            ("require_approval", &tools.policy.require_approval),
            ("deny", &tools.policy.deny),
        ] {
            for (at, name) in item_pointers(&below(&policy, key), names) {
                if name != "*" && !tool_names.contains(&name) {
                    self.diagnostics.at(
                        &at,
                        format!("the node has no tool `{name}`"),
                        Some(did_you_mean_or_list(name, &tool_names)),
                    );
                }
            }
        }
    }

    fn condition(&mut self, name: &str, at: &str, condition: &ConditionNodeConfig) {
        for (number, route) in condition.routes.iter().enumerate() {
            let pointer = format!("{at}/routes/{number}");
            self.target(&below(&pointer, "to"), &route.to);
            self.test(name, &below(&pointer, "when"), &route.when);
        }
        self.target(&below(at, "else"), &condition.otherwise);
    }

    fn test(&mut self, node: &str, at: &str, test: &Condition) {
        match &test.0 {
            TestCheck::All(tests) | TestCheck::Any(tests) => {
                let word = if matches!(test.0, TestCheck::All(_)) { "all" } else { "any" };
                for (number, test) in tests.iter().enumerate() {
                    self.test(node, &format!("{at}/{word}/{number}"), test);
                }
            }
            TestCheck::Not(test) => self.test(node, &below(at, "not"), test),
            TestCheck::HasToolCalls(field) => self.message_list(&below(at, "has_tool_calls"), field),
            TestCheck::Field { field, at: value_pointer, .. } => {
                self.value(node, &below(at, "field"), field);
                if value_pointer.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
                    let help = Some("a JSON pointer must start with `/`".to_owned());
                    self.diagnostics.at(&below(at, "at"), "not a JSON pointer", help);
                }
            }
        }
    }

    fn map(&mut self, at: &str, map: &MapNodeConfig) {
        if self.field(&below(at, "over"), &map.over).is_some_and(|field| !may_be_list(field)) {
            let fact = format!("`{}` is not a list", map.over);
            self.diagnostics.at(&below(at, "over"), fact, Some("give it the type `array`".to_owned()));
        }
        self.target(&below(at, "else"), &map.otherwise);
        let pointer = below(at, "to");
        if map.to == END || map.to == START {
            self.diagnostics.at(
                &pointer,
                format!("`{}` cannot be the target of a map", map.to),
                Some("use the name of a node".to_owned()),
            );
            return;
        }
        self.node(&pointer, &map.to);
        let target = self.description.nodes.iter().find(|(name, _)| *name == map.to).map(|(_, node)| &node.kind);
        for name in target.map(writes).unwrap_or_default() {
            let single = self.schema.find(name).map(|id| self.schema.field(id)).filter(|field| field.reducer.is_none());
            if single.is_some_and(|field| !is_messages(field)) {
                let fact = format!("several tasks of `{}` write `{name}`, which has no reducer", map.to);
                self.diagnostics.at(&pointer, fact, Some(format!("give `{name}` a reducer, such as `append`")));
            }
        }
    }

    fn interrupt(&mut self, name: &str, at: &str, interrupt: &InterruptNodeConfig) {
        self.prompt(name, at, &interrupt.prompt, true);
        self.field(&below(at, "output"), &interrupt.output);
        for (pointer, field) in item_pointers(&below(at, "payload_fields"), &interrupt.payload_fields) {
            self.value(name, &pointer, field);
        }
    }

    fn subgraph(&mut self, at: &str, subgraph: &SubgraphNodeConfig) {
        if subgraph.graph.is_some() == subgraph.file.is_some() {
            let fact = "set either `graph` or `file`, not both";
            self.diagnostics.at(at, fact, Some("`graph` is the name of a component, `file` is a path".to_owned()));
        }
    }

    fn set(&mut self, name: &str, at: &str, set: &SetNodeConfig) {
        let mut written = BTreeSet::new();
        let keys = [
            ("values", set.values.keys().collect::<Vec<_>>()),
            ("templates", set.templates.keys().collect()),
            ("copies", set.copies.keys().collect()),
        ];
        for (key, fields) in keys {
            for field in fields {
                let pointer = below(&below(at, key), field);
                if self.find_field(&pointer, field, true).is_some() && !written.insert(field) {
                    self.diagnostics.at_key(&pointer, format!("the node writes `{field}` twice"), None);
                }
            }
        }
        if written.is_empty() && set.values.len() + set.templates.len() + set.copies.len() == 0 {
            self.diagnostics.at(
                at,
                "the node writes no field",
                Some("add `values`, `templates` or `copies`".to_owned()),
            );
        }
        for (field, value) in &set.values {
            let target_field =
                self.schema.find(field).map(|id| self.schema.field(id)).filter(|field| field.reducer.is_none());
            for error in target_field.and_then(|field| field.field_type.check(value).err()).unwrap_or_default() {
                self.diagnostics.validation_error(&below(&below(at, "values"), field), error);
            }
        }
        for (field, text) in &set.templates {
            let pointer = below(&below(at, "templates"), field);
            match super::load::inline(name, self.description.top.version, text) {
                Ok(prompt) => self.placeholders(name, &pointer, &prompt),
                Err(error) => self.diagnostics.at(&pointer, error.message(), error.help().map(str::to_owned)),
            }
        }
        for (field, from) in &set.copies {
            self.value(name, &below(&below(at, "copies"), field), from);
        }
    }

    fn prompt(&mut self, node: &str, at: &str, prompt: &PromptConfig, required: bool) {
        match (&prompt.text, &prompt.file) {
            (Some(_), Some(_)) => {
                self.diagnostics.at(
                    at,
                    "set either `prompt` or `prompt_file`, not both",
                    Some("remove one of them".to_owned()),
                );
            }
            (None, None) if required => {
                self.diagnostics.at(at, "`prompt` is missing", Some("add `prompt` or `prompt_file`".to_owned()));
            }
            _ => {}
        }
        if let Some(read) = &prompt.read {
            let key = if prompt.text.is_some() { "prompt" } else { "prompt_file" };
            self.placeholders(node, &below(at, key), read);
        }
    }

    fn placeholders(&mut self, node: &str, at: &str, prompt: &crate::models::Prompt) {
        for placeholder in prompt.placeholders() {
            self.value(node, at, placeholder);
        }
    }

    /// Checks a name that must be a field, or an item of a map node.
    fn value(&mut self, node: &str, at: &str, name: &str) {
        let items = items(self.description);
        if !items.get(node).is_some_and(|items| items.contains(name)) {
            self.find_field(at, name, false);
        }
    }

    fn fields(&mut self, at: &str, names: &[String]) {
        for (pointer, name) in item_pointers(at, names) {
            self.field(&pointer, name);
        }
    }

    fn field(&mut self, at: &str, name: &str) -> Option<&Field> {
        self.find_field(at, name, false)
    }

    fn find_field(&mut self, at: &str, name: &str, is_key: bool) -> Option<&Field> {
        let schema = self.schema;
        let Some(id) = schema.find(name) else {
            if self.diagnostics.is_full() {
                return None;
            }
            let field_names: Vec<&str> = schema.fields().iter().map(|field| &*field.name).collect();
            let (fact, help) = (
                format!("the state has no field `{}`", super::value_type::truncate_for_message(name)),
                did_you_mean_or_list(name, &field_names),
            );
            match is_key {
                true => self.diagnostics.at_key(at, fact, Some(help)),
                false => self.diagnostics.at(at, fact, Some(help)),
            }
            return None;
        };
        Some(schema.field(id))
    }

    fn message_list(&mut self, at: &str, name: &str) {
        if self.field(at, name).is_some_and(|field| !is_messages(field)) {
            let help = Some("give the field the type `messages`".to_owned());
            self.diagnostics.at(at, format!("`{name}` is not a message list"), help);
        }
    }

    /// Checks a name that must be a node, the start or the end.
    fn check_endpoint(&mut self, at: &str, name: &str) {
        if name != START && name != END {
            self.node(at, name);
        }
    }

    /// Checks the target of a goto.
    fn target(&mut self, at: &str, name: &str) {
        if name == START {
            self.diagnostics.at(at, "`START` cannot be a target", None);
        } else if name != END {
            self.node(at, name);
        }
    }

    fn node(&mut self, at: &str, name: &str) {
        let mut node_names: Vec<&str> = self.description.nodes.iter().map(|(name, _)| name.as_str()).collect();
        if !node_names.contains(&name) && !self.diagnostics.is_full() {
            node_names.push(END);
            let fact = format!("no node `{}`", super::value_type::truncate_for_message(name));
            self.diagnostics.at(at, fact, Some(did_you_mean_or_list(name, &node_names)));
        }
    }

    fn check_duplicates(&mut self, at: &str, names: &[String]) {
        let mut seen = BTreeSet::new();
        for (pointer, name) in item_pointers(at, names) {
            if !seen.insert(name) {
                self.diagnostics.at(
                    &pointer,
                    format!("duplicate name `{name}`"),
                    Some("remove one of them".to_owned()),
                );
            }
        }
    }
}

/// Returns the fields that a node of a built-in kind writes.
pub(super) fn writes(kind: &NodeKindConfig) -> Vec<&str> {
    match kind {
        NodeKindConfig::Model(model) => {
            model.output.iter().chain(&model.messages).take(1).map(String::as_str).collect()
        }
        NodeKindConfig::Tools(tools) => vec![&tools.messages],
        NodeKindConfig::Interrupt(interrupt) => vec![&interrupt.output],
        NodeKindConfig::Set(set) => {
            set.values.keys().chain(set.templates.keys()).chain(set.copies.keys()).map(String::as_str).collect()
        }
        _ => Vec::new(),
    }
}

fn is_messages(field: &Field) -> bool {
    field.field_type == FieldType::Messages
}

fn may_be_list(field: &Field) -> bool {
    let mut kind = &field.field_type;
    while let FieldType::Nullable(inner) = kind {
        kind = inner;
    }
    matches!(kind, FieldType::Any | FieldType::Array | FieldType::Messages | FieldType::Schema(_))
}

fn item_pointers<'a>(at: &str, names: &'a [String]) -> impl Iterator<Item = (String, &'a str)> {
    let at = at.to_owned();
    names.iter().enumerate().map(move |(number, name)| (below(&at, &number.to_string()), name.as_str()))
}
