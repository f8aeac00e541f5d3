//! Rust code generation from a graph file: the steps of `build`, written as Rust.
//!
//! The code compiles without warnings and is formatted as by `rustfmt`. It requires `superstep` and `serde_json`.

use superstep_core::canonical::sorted_entries;

use super::build::{format_name, private_fields, resume_schema, targets};
use super::model::{
    InterruptNodeConfig, MigrationConfig, ModelNodeConfig, NodeConfig, NodeKindConfig, RetryConfig, SetNodeConfig,
    ToolErrorsConfig,
};
use super::model::{TimeoutConfig, ToolNodeConfig};
use super::{GraphFile, load};
use crate::models::Prompt;

mod rust_writer;

use rust_writer::{FunctionBody, RustModule, WIDTH, end, ends, literal, names, quoted, seconds, test};

impl GraphFile {
    /// Generates the graph as Rust code: a module with
    /// `pub fn build(parts: &Components) -> Result<CompiledGraph<DynamicState>>`.
    ///
    /// With the same components, the generated graph has the same diagram and behavior as the file. Referenced
    /// prompts and graphs are included.
    #[must_use]
    pub fn to_rust(&self) -> String {
        let mut module = RustModule::default();
        let graph = write_graph(self, &mut module);
        let head = format!("//! The graph `{}`, generated from a graph file.\n", one_line(self.name()));
        let about = self.description().map(|text| format!("//!\n//! {}\n", one_line(text))).unwrap_or_default();
        let functions = module.functions();
        let json = if functions.contains("json!(") { "use serde_json::json;\n" } else { "" };
        let prompt = if functions.contains(" = Prompt::new(") { "use superstep::models::Prompt;\n" } else { "" };
        let opening = "use superstep::prelude::*;\n\
                       use superstep::{CompiledGraph, DynamicState, Result, Schema};\n\n";
        let build = format!(
            "/// Builds the graph from the components that it refers to by name.\n///\n/// # Errors\n/// \
                 Returns an error if a component is missing.\npub fn build(parts: &Components) -> \
                 Result<CompiledGraph<DynamicState>> {{\n    let mut graph = {graph}(parts)?;\n    \
                 parts.apply_storage(&mut graph);\n    graph.compile()\n}}\n"
        );
        format!(
            "{head}{about}\n{json}use superstep::files::*;\n{prompt}{opening}{}{build}{functions}",
            module.constants()
        )
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the function that builds a graph, and returns its name.
fn write_graph(file: &GraphFile, module: &mut RustModule) -> String {
    let top = &file.description.top;
    let (function, slot) = (module.name(&top.name), module.slot());
    let mut body = FunctionBody::default();
    let schema = write_schema(file, &function, module);
    body.line(&format!("let schema = {schema}()?;"));
    body.line(&format!("let mut graph = StateGraph::<DynamicState>::with_schema({}, schema);", quoted(&top.name)));
    for (name, node) in &file.description.nodes {
        let node_function = module.name(&format!("{function}_{name}"));
        let needs_parts = write_node(file, (name, node), &node_function, module);
        body.needs_parts |= needs_parts;
        body.line(&format!("{node_function}(&mut graph{})?;", if needs_parts { ", parts" } else { "" }));
    }
    for edge in &top.edges {
        for to in edge.to.names() {
            match edge.from.names() {
                [from] => body.line(&format!("graph.add_edge({}, {});", end(from), end(to))),
                sources => {
                    let list = body.list("sources", &names(sources));
                    body.line(&format!("graph.add_join({list}, {});", end(to)));
                }
            }
        }
    }
    for (method, fields) in [
        ("input_fields", top.input.as_deref()),
        ("output_fields", top.output.as_deref()),
        ("interrupt_before", Some(top.interrupt_before.as_slice()).filter(|names| !names.is_empty())),
        ("interrupt_after", Some(top.interrupt_after.as_slice()).filter(|names| !names.is_empty())),
    ] {
        if let Some(fields) = fields {
            let list = body.texts(method, &names(fields));
            body.line(&format!("graph.{method}({list});"));
        }
    }
    if let Some(limit) = top.recursion_limit {
        body.line(&format!("graph.recursion_limit({limit});"));
    }
    if let Some(retry) = &top.retry {
        write_retry(retry, &mut body);
        body.line("graph.default_retry(retry);");
    }
    for migration in &top.migrations {
        write_migration(migration, &mut body);
        body.line(&format!("graph.add_migration({}, migration);", migration.from));
    }
    body.line("Ok(graph)");
    let parts = if body.needs_parts { "parts" } else { "_parts" };
    let head = format!("fn {function}({parts}: &Components) -> Result<StateGraph<DynamicState>>");
    module.function(slot, &head, &body);
    function
}

fn write_schema(file: &GraphFile, graph: &str, module: &mut RustModule) -> String {
    let (function, slot) = (module.name(&format!("{graph}_state")), module.slot());
    let top = &file.description.top;
    let mut fields = vec![format!(".version({})", top.version)];
    for (name, options) in sorted_entries(&top.state) {
        let field = serde_json::json!({ name: options });
        fields.push(format!(".fields_from_json(&{})", rust_writer::json(&field, 8, 100)));
    }
    fields.push(".build()".to_owned());
    let mut body = FunctionBody::default();
    body.tail(&format!("Schema::builder({})", quoted(&top.name)), &fields);
    module.function(slot, &format!("fn {function}() -> Result<std::sync::Arc<Schema>>"), &body);
    function
}

fn write_node(file: &GraphFile, (name, node): (&str, &NodeConfig), function: &str, module: &mut RustModule) -> bool {
    let slot = module.slot();
    let mut body = FunctionBody::default();
    body.needs_parts = matches!(
        node.kind,
        NodeKindConfig::Model(_) | NodeKindConfig::Tools(_) | NodeKindConfig::Subgraph(_) | NodeKindConfig::Rust(_)
    );
    match &node.kind {
        NodeKindConfig::Model(data) => write_model(name, data, function, module, &mut body),
        NodeKindConfig::Tools(data) => write_tools(data, &mut body),
        NodeKindConfig::Condition(data) => {
            let mut calls = Vec::new();
            for (number, route) in data.routes.iter().enumerate() {
                let test = test(&route.when, &format!("test_{}", number + 1), &mut body);
                calls.push(format!(".when({test}, {})", end(&route.to)));
            }
            body.chain("let step = ", &format!("ConditionNode::default_to({})", end(&data.otherwise)), &calls);
        }
        NodeKindConfig::Map(data) => {
            let calls = [format!(".item({})", quoted(&data.item)), format!(".when_empty({})", end(&data.otherwise))];
            body.chain("let step = ", &format!("MapNode::new({}, {})", quoted(&data.over), end(&data.to)), &calls);
        }
        NodeKindConfig::Interrupt(data) => write_interrupt(data, function, module, &mut body),
        NodeKindConfig::Set(data) => write_set(file, (name, data), function, module, &mut body),
        NodeKindConfig::Subgraph(data) => match (&data.graph, &data.read) {
            (Some(graph), _) => body.line(&format!("let step = parts.find_graph({})?;", quoted(graph))),
            (None, read) => {
                let inner = read.as_ref().map(|read| write_graph(read, module)).unwrap_or_default();
                body.line(&format!("let step = {inner}(parts)?.compile()?;"));
            }
        },
        NodeKindConfig::Rust(data) => body.line(&format!("let step = parts.find_node({})?;", quoted(&data.node))),
    }
    write_policies(file, (name, node), &mut body);
    body.line(&format!("graph.add_node({}, step);", quoted(name)));
    body.line("Ok(())");
    let parts = if body.needs_parts { ", parts: &Components" } else { "" };
    module.function(slot, &format!("fn {function}(graph: &mut StateGraph<DynamicState>{parts}) -> Result<()>"), &body);
    body.needs_parts
}

fn write_policies(file: &GraphFile, (name, node): (&str, &NodeConfig), body: &mut FunctionBody) {
    let mut calls = Vec::new();
    if let Some(description) = &node.description {
        calls.push(format!(".metadata(\"description\", {})", quoted(description)));
    }
    if let Some(retry) = &node.retry {
        write_retry(retry, body);
        calls.push(".retry(retry)".to_owned());
    }
    if let Some(timeout) = &node.timeout {
        calls.push(format!(".timeout({})", write_timeout(timeout, body)));
    }
    if node.defer {
        calls.push(".defer()".to_owned());
    }
    calls.extend(node.former_names.iter().map(|name| format!(".renamed_from({})", quoted(name))));
    if let Some(targets) = targets(&node.kind) {
        let list = body.texts("targets", &ends(&targets));
        calls.push(format!(".goto_targets({list})"));
    }
    let (reads, writes) = private_fields(&file.description, &file.schema, name, &node.kind);
    for (method, fields) in [("reads", reads), ("writes", writes)] {
        if let Some(fields) = fields {
            let list = body.texts(method, &names(&fields));
            calls.push(format!(".{method}({list})"));
        }
    }
    if !calls.is_empty() {
        body.chain("let step = ", "node(step)", &calls);
    }
}

fn write_model(name: &str, data: &ModelNodeConfig, function: &str, module: &mut RustModule, body: &mut FunctionBody) {
    let mut calls = Vec::new();
    if !data.tools.is_empty() {
        let list = body.list("tools", &names(&data.tools));
        calls.push(format!(".tools(parts.find_tools({list})?)"));
    }
    if let Some(prompt) = &data.prompt.read {
        write_prompt("prompt", prompt, function, module, body);
        calls.push(".prompt(prompt)".to_owned());
    }
    calls.extend(data.messages.iter().map(|field| format!(".messages({})", quoted(field))));
    calls.extend(data.output.iter().map(|field| format!(".output({})", quoted(field))));
    if let Some(schema) = &data.schema {
        body.line(&format!("let schema = {};", rust_writer::json(schema, 4, 100)));
        body.line(&format!(
            "let format = superstep::models::ResponseFormat::new({}, schema);",
            quoted(&format_name(name))
        ));
        calls.push(".format(format)".to_owned());
    }
    calls.extend(data.temperature.map(|temperature| format!(".temperature({temperature:?})")));
    calls.extend(data.max_tokens.map(|tokens| format!(".max_tokens({tokens})")));
    body.chain("let step = ", &format!("ModelNode::new(parts.find_model({})?)", quoted(&data.model)), &calls);
}

fn write_tools(data: &ToolNodeConfig, body: &mut FunctionBody) {
    let mut calls = vec![format!(".messages_field({})", quoted(&data.messages))];
    let policy = [
        ("allow", &data.policy.allow),
        ("require_approval", &data.policy.require_approval),
        ("deny", &data.policy.deny),
    ];
    let rules: Vec<_> = policy.into_iter().filter(|(_, tools)| !tools.is_empty()).collect();
    if !rules.is_empty() {
        let rule_calls: Vec<String> = rules
            .into_iter()
            .map(|(method, tools)| format!(".and_{method}({})", body.list(method, &names(tools))))
            .collect();
        body.chain("let policy = ", "superstep::tools::ToolPolicy::default()", &rule_calls);
        calls.push(".policy(policy)".to_owned());
    }
    if data.errors == Some(ToolErrorsConfig::Propagate) {
        calls.push(".error_handling(superstep::tools::ToolErrorHandling::Propagate)".to_owned());
    }
    calls.extend(data.tool_timeout.map(|time| format!(".timeout({})", seconds(time))));
    calls.extend(data.max_concurrency.map(|calls| format!(".max_concurrency({calls})")));
    calls.extend(data.batch_approvals.then(|| ".batch_approvals()".to_owned()));
    let list = body.list("tools", &names(&data.tools));
    body.line(&format!("let tools = parts.find_tools({list})?;"));
    body.chain("let step = ", "ToolNode::new(tools)", &calls);
}

fn write_interrupt(data: &InterruptNodeConfig, function: &str, module: &mut RustModule, body: &mut FunctionBody) {
    let mut calls = Vec::new();
    if let Some(prompt) = &data.prompt.read {
        write_prompt("question", prompt, function, module, body);
    }
    if let Some(schema) = resume_schema(data) {
        body.line(&format!("let schema = {};", rust_writer::json(&schema, 4, 100)));
        calls.push(".resume_schema(schema)".to_owned());
    }
    if !data.payload_fields.is_empty() {
        let list = body.list("payload_fields", &names(&data.payload_fields));
        calls.push(format!(".payload_fields({list})"));
    }
    body.chain("let step = ", &format!("InterruptNode::new(question, {})", quoted(&data.output)), &calls);
}

fn write_set(
    file: &GraphFile,
    (name, data): (&str, &SetNodeConfig),
    function: &str,
    module: &mut RustModule,
    body: &mut FunctionBody,
) {
    let mut calls = Vec::new();
    for (number, (field, value)) in data.values.iter().enumerate() {
        let value = body.value(&format!("value_{}", number + 1), value);
        calls.push(format!(".value({}, {value})", quoted(field)));
    }
    for (number, (field, text)) in data.templates.iter().enumerate() {
        if let Ok(prompt) = load::inline(name, file.version(), text) {
            let variable = format!("text_{}", number + 1);
            write_prompt(&variable, &prompt, &format!("{function}_{variable}"), module, body);
            calls.push(format!(".template({}, {variable})", quoted(field)));
        }
    }
    calls.extend(data.copies.iter().map(|(field, from)| format!(".copy({}, {})", quoted(field), quoted(from))));
    body.chain("let step = ", "SetNode::new()", &calls);
}

/// Writes a prompt; a long text becomes a constant of the module.
fn write_prompt(variable: &str, prompt: &Prompt, function: &str, module: &mut RustModule, body: &mut FunctionBody) {
    let text = prompt.text();
    let line = |text: &str| {
        let (name, version) = (quoted(prompt.name()), quoted(prompt.version()));
        format!("let {variable} = Prompt::new({name}, {version}, {text})?;")
    };
    let single_line = line(&quoted(&text));
    if !text.contains('\n') && 4 + single_line.chars().count() <= WIDTH {
        return body.line(&single_line);
    }
    let constant = module.constant(&format!("{function}_prompt"), &text);
    body.line(&line(&constant));
}

fn write_retry(data: &RetryConfig, body: &mut FunctionBody) {
    let mut calls = Vec::new();
    calls.extend(data.initial_interval.map(|time| format!(".initial_interval({})", seconds(time))));
    calls.extend(data.backoff.map(|factor| format!(".backoff_factor({factor:?})")));
    calls.extend(data.max_interval.map(|time| format!(".max_interval({})", seconds(time))));
    calls.extend((data.jitter == Some(false)).then(|| ".without_jitter()".to_owned()));
    body.chain("let retry = ", &format!("RetryPolicy::exponential({})", data.max_attempts), &calls);
}

/// Writes a timeout: a duration inline, or a timeout value as a variable.
fn write_timeout(data: &TimeoutConfig, body: &mut FunctionBody) -> String {
    let (run, idle) = match data {
        TimeoutConfig::Seconds(run) => return seconds(*run),
        TimeoutConfig::Table { run, idle } => (run, idle),
    };
    let start = match run {
        Some(run) => format!("superstep::TimeoutPolicy::run_timeout({})", seconds(*run)),
        None => "superstep::TimeoutPolicy::default()".to_owned(),
    };
    let idle = idle.map(|idle| format!(".and_idle_timeout({})", seconds(idle)));
    body.chain("let timeout = ", &start, &idle.into_iter().collect::<Vec<_>>());
    "timeout".to_owned()
}

fn write_migration(data: &MigrationConfig, body: &mut FunctionBody) {
    let mut calls = Vec::new();
    calls.extend(data.rename.iter().map(|(from, to)| format!(".rename({}, {})", quoted(from), quoted(to))));
    calls.extend(data.add.iter().map(|(field, value)| format!(".add({}, {})", quoted(field), literal(value))));
    calls.extend(data.remove.iter().map(|field| format!(".remove({})", quoted(field))));
    calls.extend(data.rename_nodes.iter().map(|(from, to)| format!(".rename_node({}, {})", quoted(from), quoted(to))));
    body.chain("let migration = ", &format!("superstep::Migration::to_version({})", data.to), &calls);
}
