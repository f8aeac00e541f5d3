//! All keys of a graph file: name, type, description.
//!
//! The validation of files, their JSON Schema and the tables of the book are generated from these tables.

use super::value_type::{FileKey, ValueType};

/// A kind of node, with its keys in addition to [`COMMON_NODE_KEYS`].
pub(super) struct NodeKindSpec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) keys: &'static [FileKey],
}

const fn optional(name: &'static str, form: &'static ValueType, description: &'static str) -> FileKey {
    FileKey { name, form, required: false, description }
}

const fn required(name: &'static str, form: &'static ValueType, description: &'static str) -> FileKey {
    FileKey { name, form, required: true, description }
}

static NAMES: ValueType = ValueType::List(&ValueType::Name);

/// Keys of the file itself.
pub(super) static TOP_LEVEL_KEYS: [FileKey; 13] = [
    required("name", &ValueType::Name, "name of the graph"),
    optional("version", &ValueType::Integer(1), "version of the state schema; default: 1"),
    optional("description", &ValueType::Text, "description of the graph"),
    required("state", &ValueType::Fields, "fields of the state, with type, reducer and default value"),
    optional("input", &NAMES, "fields of the input; default: all fields that are not private"),
    optional("output", &NAMES, "fields of the output; default: all fields that are not private"),
    optional("recursion_limit", &ValueType::Integer(1), "maximum number of supersteps of a run; default: 25"),
    optional("interrupt_before", &NAMES, "nodes before which a run is interrupted; `*` selects all nodes"),
    optional("interrupt_after", &NAMES, "nodes after which a run is interrupted; `*` selects all nodes"),
    required("nodes", &ValueType::Map(&ValueType::Node), "nodes by name"),
    required("edges", &ValueType::List(&EDGE), "edges between nodes"),
    optional("retry", &RETRY, "default retry policy of the nodes"),
    optional("migrations", &ValueType::List(&MIGRATION), "migrations of threads from earlier versions of the state"),
];

static EDGE: ValueType = ValueType::Table(&EDGE_KEYS);
pub(super) static EDGE_KEYS: [FileKey; 2] = [
    required(
        "from",
        &ValueType::OneOrMore(&ValueType::Name),
        "source: a node or `START`; a list is a join, which fires when all of its nodes have finished",
    ),
    required("to", &ValueType::OneOrMore(&ValueType::Name), "target: a node or `END`; a list runs all of its nodes"),
];

static RETRY: ValueType = ValueType::Table(&RETRY_KEYS);
pub(super) static RETRY_KEYS: [FileKey; 5] = [
    required("max_attempts", &ValueType::Integer(1), "maximum number of attempts, including the first"),
    optional("initial_interval", &ValueType::Seconds, "delay before the second attempt, in seconds; default: 0.5"),
    optional("backoff", &ValueType::Number, "factor by which the delay grows; default: 2"),
    optional("max_interval", &ValueType::Seconds, "maximum delay, in seconds; default: 128"),
    optional("jitter", &ValueType::Bool, "if true, delays vary randomly by up to 10 %; default: true"),
];

static TIMEOUT: ValueType = ValueType::Table(&TIMEOUT_KEYS);
pub(super) static TIMEOUT_KEYS: [FileKey; 2] = [
    optional("run", &ValueType::Seconds, "maximum duration of one attempt, in seconds"),
    optional("idle", &ValueType::Seconds, "maximum time without a heartbeat, in seconds"),
];

static MIGRATION: ValueType = ValueType::Table(&MIGRATION_KEYS);
pub(super) static MIGRATION_KEYS: [FileKey; 6] = [
    required("from", &ValueType::Integer(1), "version before the migration"),
    required("to", &ValueType::Integer(1), "version after the migration"),
    optional("rename", &ValueType::Map(&ValueType::Name), "renamed fields: old = new"),
    optional("add", &ValueType::Map(&ValueType::Value), "added fields, with their values"),
    optional("remove", &NAMES, "removed fields"),
    optional("rename_nodes", &ValueType::Map(&ValueType::Name), "renamed nodes: old = new"),
];

static TEST: ValueType = ValueType::Table(&TEST_KEYS);
pub(super) static TEST_KEYS: [FileKey; 12] = [
    optional("field", &ValueType::Name, "field to test"),
    optional("at", &ValueType::Text, "JSON pointer into the value of the field, such as `/score`"),
    optional("equals", &ValueType::Value, "true if the value equals this one"),
    optional("one_of", &ValueType::List(&ValueType::Value), "true if the value is in this list"),
    optional(
        "at_least",
        &ValueType::Value,
        "true if the value is a number or string greater than or equal to this one",
    ),
    optional("at_most", &ValueType::Value, "true if the value is a number or string less than or equal to this one"),
    optional(
        "contains",
        &ValueType::Value,
        "true if the value is a string that contains this one, or a list that contains this item",
    ),
    optional("exists", &ValueType::Bool, "true if the value exists and is not null; with `false`, true if it does not"),
    optional("has_tool_calls", &ValueType::Name, "true if the last message of this field has tool calls"),
    optional("all", &ValueType::List(&TEST), "true if all of these conditions are true"),
    optional("any", &ValueType::List(&TEST), "true if at least one of these conditions is true"),
    optional("not", &TEST, "true if this condition is false"),
];

static ROUTE: ValueType = ValueType::Table(&ROUTE_KEYS);
pub(super) static ROUTE_KEYS: [FileKey; 2] = [
    required("when", &TEST, "condition"),
    required(
        "to",
        &ValueType::Name,
        "target if the condition is true: a \
         node or `END`",
    ),
];

static POLICY: ValueType = ValueType::Table(&POLICY_KEYS);
pub(super) static POLICY_KEYS: [FileKey; 3] = [
    optional("allow", &NAMES, "tools that run without approval; `*` selects all tools that are not listed"),
    optional("require_approval", &NAMES, "tools that require the approval of a person"),
    optional("deny", &NAMES, "tools that never run"),
];

/// Keys of every node.
pub(super) static COMMON_NODE_KEYS: [FileKey; 6] = [
    required("kind", &ValueType::Name, "kind of the node"),
    optional("description", &ValueType::Text, "description of the node, shown in diagrams"),
    optional("retry", &RETRY, "retry policy of the node"),
    optional("timeout", &ValueType::SecondsOr(&TIMEOUT), "timeout of an attempt, in seconds"),
    optional("defer", &ValueType::Bool, "if true, the node runs only when no other task is scheduled"),
    optional("former_names", &NAMES, "former names of the node, under which existing threads may have scheduled it"),
];

/// The kinds of nodes.
pub(super) static KINDS: [NodeKindSpec; 8] = [
    NodeKindSpec { name: "model", description: "calls a model", keys: &MODEL },
    NodeKindSpec { name: "tools", description: "runs the tool calls of the last message", keys: &TOOLS },
    NodeKindSpec {
        name: "condition",
        description: "selects the next node by conditions on fields; the first true condition wins",
        keys: &CONDITION,
    },
    NodeKindSpec { name: "map", description: "runs a node once for each item of a list", keys: &MAP },
    NodeKindSpec {
        name: "interrupt",
        description: "interrupts the run and waits for a resume value",
        keys: &INTERRUPT,
    },
    NodeKindSpec {
        name: "subgraph",
        description: "runs another graph; fields with the same name are shared",
        keys: &SUBGRAPH,
    },
    NodeKindSpec {
        name: "set",
        description: "writes fields: constants, templates with placeholders, copies of \
         other fields",
        keys: &SET,
    },
    NodeKindSpec { name: "rust", description: "runs a node that is implemented in Rust", keys: &RUST },
];

static MODEL: [FileKey; 9] = [
    required("model", &ValueType::Name, "model, by its name in the components"),
    optional("prompt", &ValueType::Text, "system prompt, with placeholders such as `{{field}}`"),
    optional("prompt_file", &ValueType::Name, "prompt file in the folder of the graph file"),
    optional("messages", &ValueType::Name, "message list to send; without one the prompt is sent as the only message"),
    optional("tools", &NAMES, "tools that the model may call, by their names in the components"),
    optional("output", &ValueType::Name, "field for the response; default: the message list"),
    optional("schema", &ValueType::Schema, "JSON Schema of the response; the field then holds the parsed value"),
    optional("temperature", &ValueType::Number, "sampling temperature"),
    optional("max_tokens", &ValueType::Integer(1), "maximum length of the response, in tokens"),
];

static TOOLS: [FileKey; 7] = [
    required("tools", &NAMES, "tools, by their names in the components"),
    optional("messages", &ValueType::Name, "field with the message list; default: `messages`"),
    optional(
        "policy",
        &POLICY,
        "tools that run, require approval, or never run; default: destructive tools require approval",
    ),
    optional(
        "errors",
        &ValueType::Enum(&["text", "propagate"]),
        "on failure of a tool call: `text` returns the error to the model, `propagate` fails the node",
    ),
    optional("tool_timeout", &ValueType::Seconds, "timeout of a tool call, in seconds; default: 60"),
    optional("max_concurrency", &ValueType::Integer(1), "maximum number of concurrent tool calls"),
    optional(
        "batch_approvals",
        &ValueType::Bool,
        "if true, one interrupt requests approval for all tool calls of \
         a message",
    ),
];

static CONDITION: [FileKey; 2] = [
    required("routes", &ValueType::List(&ROUTE), "conditions and targets, in order"),
    required("else", &ValueType::Name, "target if no condition is true: a node or `END`"),
];

static MAP: [FileKey; 4] = [
    required("over", &ValueType::Name, "field with the list"),
    required("to", &ValueType::Name, "node that runs once for each item"),
    optional("as", &ValueType::Name, "field that holds the item in the input of the node; default: `item`"),
    optional("else", &ValueType::Name, "target if the list is empty: a node or `END`; default: `END`"),
];

static INTERRUPT: [FileKey; 5] = [
    optional("prompt", &ValueType::Text, "prompt, with placeholders such as `{{field}}`"),
    optional("prompt_file", &ValueType::Name, "prompt file, in the folder of the graph file"),
    required("output", &ValueType::Name, "field for the resume value"),
    optional("resume_type", &ValueType::Type, "type of the resume value; default: any value"),
    optional("payload_fields", &NAMES, "state fields copied into the interrupt payload"),
];

static SUBGRAPH: [FileKey; 2] = [
    optional("graph", &ValueType::Name, "graph, by its name in the components"),
    optional("file", &ValueType::Name, "graph file in the folder of this file"),
];

static SET: [FileKey; 3] = [
    optional("values", &ValueType::Map(&ValueType::Value), "fields and their constant values"),
    optional(
        "templates",
        &ValueType::Map(&ValueType::Text),
        "fields and their templates, with placeholders \
         such as `{{field}}`",
    ),
    optional("copies", &ValueType::Map(&ValueType::Name), "target fields and the fields they are copied from"),
];

static RUST: [FileKey; 4] = [
    required("node", &ValueType::Name, "node, by its name in the components"),
    optional("goto", &NAMES, "`goto` targets of its commands"),
    optional("reads", &NAMES, "private fields that the node reads"),
    optional("writes", &NAMES, "private fields that the node writes"),
];

/// Returns all tables of keys, for the book and the schema.
pub(super) fn tables() -> Vec<(&'static str, &'static str, &'static [FileKey])> {
    let mut tables: Vec<(&str, &str, &[FileKey])> = vec![
        ("graph file", "", &TOP_LEVEL_KEYS),
        ("edge", "an item of `edges`", &EDGE_KEYS),
        ("all nodes", "an item of `nodes`", &COMMON_NODE_KEYS),
    ];
    tables.extend(KINDS.iter().map(|kind| (kind.name, kind.description, kind.keys)));
    tables.extend([
        ("route", "an item of `routes` of a `condition` node", &ROUTE_KEYS[..]),
        ("condition", "the value of `when`; exactly one operator each", &TEST_KEYS[..]),
        ("retry", "of a node, or of the graph file", &RETRY_KEYS[..]),
        ("timeout", "the value of `timeout`, if it is a table", &TIMEOUT_KEYS[..]),
        ("policy", "the value of `policy` of a `tools` node", &POLICY_KEYS[..]),
        ("migration", "an item of `migrations`", &MIGRATION_KEYS[..]),
    ]);
    tables
}
