//! All keys of a graph file: name, type, description.
//!
//! The validation of files, their JSON Schema and the tables of the book are generated from these tables.

use super::value_type::{FileKey, ValueType};

/// A kind of node, with its keys in addition to [`COMMON`].
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
    required("name", &ValueType::Name, "the name of the graph"),
    optional("version", &ValueType::Integer(1), "the version of the state's shape; 1 unless told"),
    optional("description", &ValueType::Text, "what the graph is for, in words"),
    required("state", &ValueType::Fields, "the fields of the state, with type, reducer, default"),
    optional("input", &NAMES, "the fields an input may have; all that are not private unless told"),
    optional("output", &NAMES, "the fields an output has; all that are not private unless told"),
    optional("recursion_limit", &ValueType::Integer(1), "how many supersteps a run may have; 25 unless told"),
    optional("interrupt_before", &NAMES, "nodes before which a run stops; `*` is all"),
    optional("interrupt_after", &NAMES, "nodes after which a run stops; `*` is all"),
    required("nodes", &ValueType::Map(&ValueType::Node), "the nodes, by name"),
    required("edges", &ValueType::List(&EDGE), "what leads on always"),
    optional("retry", &RETRY, "how failed nodes are tried again, for nodes that do not say otherwise"),
    optional("migrations", &ValueType::List(&MIGRATION), "how threads of earlier versions of the state are read"),
];

static EDGE: ValueType = ValueType::Table(&EDGE_KEYS);
pub(super) static EDGE_KEYS: [FileKey; 2] = [
    required(
        "from",
        &ValueType::OneOrMore(&ValueType::Name),
        "a node or `START`; a list joins: all of them must have finished",
    ),
    required("to", &ValueType::OneOrMore(&ValueType::Name), "a node or `END`; a list leads to each of them"),
];

static RETRY: ValueType = ValueType::Table(&RETRY_KEYS);
pub(super) static RETRY_KEYS: [FileKey; 5] = [
    required("max_attempts", &ValueType::Integer(1), "how often it is tried in all"),
    optional("initial_interval", &ValueType::Seconds, "seconds before the second attempt; 0.5 unless told"),
    optional("backoff", &ValueType::Number, "what each wait is multiplied with; 2 unless told"),
    optional("max_interval", &ValueType::Seconds, "the longest wait in seconds; 128 unless told"),
    optional("jitter", &ValueType::Bool, "whether waits vary by up to a tenth; they do unless told"),
];

static TIMEOUT: ValueType = ValueType::Table(&TIMEOUT_KEYS);
pub(super) static TIMEOUT_KEYS: [FileKey; 2] = [
    optional("run", &ValueType::Seconds, "seconds for one attempt"),
    optional("idle", &ValueType::Seconds, "seconds without a sign of life"),
];

static MIGRATION: ValueType = ValueType::Table(&MIGRATION_KEYS);
pub(super) static MIGRATION_KEYS: [FileKey; 6] = [
    required("from", &ValueType::Integer(1), "the version it begins at"),
    required("to", &ValueType::Integer(1), "the version it leads to"),
    optional("rename", &ValueType::Map(&ValueType::Name), "fields that have another name: old = new"),
    optional("add", &ValueType::Map(&ValueType::Value), "fields that are new, with their value"),
    optional("remove", &NAMES, "fields that are gone"),
    optional("rename_nodes", &ValueType::Map(&ValueType::Name), "nodes that have another name: old = new"),
];

static TEST: ValueType = ValueType::Table(&TEST_KEYS);
pub(super) static TEST_KEYS: [FileKey; 12] = [
    optional("field", &ValueType::Name, "the field that is looked at"),
    optional("at", &ValueType::Text, "a JSON pointer into its value, such as `/score`"),
    optional("equals", &ValueType::Value, "holds when the value is this"),
    optional("one_of", &ValueType::List(&ValueType::Value), "holds when the value is one of these"),
    optional(
        "at_least",
        &ValueType::Value,
        "holds when the value is a number, not below this, or a text, not before it",
    ),
    optional("at_most", &ValueType::Value, "holds when the value is a number, not above this, or a text, not after it"),
    optional(
        "contains",
        &ValueType::Value,
        "holds when the value is a text with this in it, or a list that has this item",
    ),
    optional(
        "exists",
        &ValueType::Bool,
        "holds when there is a value other than null, or with `false` when there is none",
    ),
    optional("wants_tools", &ValueType::Name, "holds when the last message of this field asks for tools"),
    optional("all", &ValueType::List(&TEST), "holds when all of these tests hold"),
    optional("any", &ValueType::List(&TEST), "holds when one of these tests holds"),
    optional("not", &TEST, "holds when this test does not"),
];

static ROUTE: ValueType = ValueType::Table(&ROUTE_KEYS);
pub(super) static ROUTE_KEYS: [FileKey; 2] =
    [required("when", &TEST, "the test"), required("to", &ValueType::Name, "the node, or `END`, where it holds")];

static POLICY: ValueType = ValueType::Table(&POLICY_KEYS);
pub(super) static POLICY_KEYS: [FileKey; 3] = [
    optional("allow", &NAMES, "tools that run without a question; `*` is all that are not named"),
    optional("ask", &NAMES, "tools a person is asked about"),
    optional("deny", &NAMES, "tools that never run"),
];

/// Keys of every node.
pub(super) static COMMON_NODE_KEYS: [FileKey; 6] = [
    required("kind", &ValueType::Name, "the kind of the node"),
    optional("description", &ValueType::Text, "what the node is for; shown in drawings"),
    optional("retry", &RETRY, "how it is tried again when it fails"),
    optional("timeout", &ValueType::SecondsOr(&TIMEOUT), "how long it may take, in seconds"),
    optional("defer", &ValueType::Bool, "waits until nothing else is due"),
    optional("was", &NAMES, "names it had before: threads that are due there go on here"),
];

/// The kinds of nodes.
pub(super) static KINDS: [NodeKindSpec; 8] = [
    NodeKindSpec { name: "model", description: "asks a model", keys: &MODEL },
    NodeKindSpec { name: "tools", description: "runs the tools that the last message asks for", keys: &TOOLS },
    NodeKindSpec {
        name: "condition",
        description: "leads on by tests of fields; the first that holds wins",
        keys: &CONDITION,
    },
    NodeKindSpec { name: "map", description: "starts a task of a node for each item of a list", keys: &MAP },
    NodeKindSpec { name: "interrupt", description: "asks a person and waits for the answer", keys: &INTERRUPT },
    NodeKindSpec {
        name: "subgraph",
        description: "runs another graph; fields of the same name are shared",
        keys: &SUBGRAPH,
    },
    NodeKindSpec { name: "set", description: "writes fields: constants, texts with placeholders, copies", keys: &SET },
    NodeKindSpec { name: "rust", description: "runs a node that is written in Rust", keys: &RUST },
];

static MODEL: [FileKey; 9] = [
    required("model", &ValueType::Name, "the model, by its name among the parts"),
    optional("prompt", &ValueType::Text, "what the model is told, with `{{fields}}`"),
    optional("prompt_file", &ValueType::Name, "a prompt in a file beside this one"),
    optional(
        "messages",
        &ValueType::Name,
        "the message list it goes on with; without one the prompt is the whole question",
    ),
    optional("tools", &NAMES, "tools it may ask for, by name among the parts"),
    optional("output", &ValueType::Name, "the field its answer is written to; the message list unless told"),
    optional("schema", &ValueType::Schema, "the JSON Schema its answer must fit; the field then holds the value"),
    optional("temperature", &ValueType::Number, "how much chance there is in the answer"),
    optional("max_tokens", &ValueType::Integer(1), "the longest answer, in tokens"),
];

static TOOLS: [FileKey; 7] = [
    required("tools", &NAMES, "the tools, by name among the parts"),
    optional("messages", &ValueType::Name, "the message list; `messages` unless told"),
    optional(
        "policy",
        &POLICY,
        "which tools run, are asked about, never run; destructive ones are asked about unless told",
    ),
    optional(
        "errors",
        &ValueType::Enum(&["text", "propagate"]),
        "whether the model is told of failures (`text`), or the node fails",
    ),
    optional("call_timeout", &ValueType::Seconds, "seconds for one call; 60 unless told"),
    optional("max_concurrency", &ValueType::Integer(1), "how many calls of a message run at once"),
    optional("ask_together", &ValueType::Bool, "whether all calls of a message are one question"),
];

static CONDITION: [FileKey; 2] = [
    required("routes", &ValueType::List(&ROUTE), "the tests, in order, and where they lead"),
    required("else", &ValueType::Name, "the node, or `END`, where no test holds"),
];

static MAP: [FileKey; 4] = [
    required("over", &ValueType::Name, "the field with the list"),
    required("to", &ValueType::Name, "the node that runs once for each item"),
    optional("as", &ValueType::Name, "what the item is called there; `item` unless told"),
    optional("else", &ValueType::Name, "the node where the list is empty; `END` unless told"),
];

static INTERRUPT: [FileKey; 5] = [
    optional("prompt", &ValueType::Text, "the question, with `{{fields}}`"),
    optional("prompt_file", &ValueType::Name, "the question, in a file beside this one"),
    required("output", &ValueType::Name, "the field the answer is written to"),
    optional("answer", &ValueType::Type, "the type of the answer; any value unless told"),
    optional("show", &NAMES, "fields that are shown with the question"),
];

static SUBGRAPH: [FileKey; 2] = [
    optional("graph", &ValueType::Name, "a graph, by its name among the parts"),
    optional("file", &ValueType::Name, "a graph file beside this one"),
];

static SET: [FileKey; 3] = [
    optional("values", &ValueType::Map(&ValueType::Value), "fields and the constants they get"),
    optional("templates", &ValueType::Map(&ValueType::Text), "fields and the texts they get, with `{{fields}}`"),
    optional("copies", &ValueType::Map(&ValueType::Name), "fields and the fields they are copied from"),
];

static RUST: [FileKey; 4] = [
    required("node", &ValueType::Name, "the node, by its name among the parts"),
    optional("goto", &NAMES, "where its commands may lead"),
    optional("reads", &NAMES, "private fields it reads"),
    optional("writes", &NAMES, "private fields it writes"),
];

/// Returns all tables of keys, for the book and the schema.
pub(super) fn tables() -> Vec<(&'static str, &'static str, &'static [FileKey])> {
    let mut tables: Vec<(&str, &str, &[FileKey])> = vec![
        ("the file", "", &TOP_LEVEL_KEYS),
        ("an edge", "one of `edges`", &EDGE_KEYS),
        ("every node", "one of `nodes`", &COMMON_NODE_KEYS),
    ];
    tables.extend(KINDS.iter().map(|kind| (kind.name, kind.description, kind.keys)));
    tables.extend([
        ("a route", "one of the `routes` of a condition", &ROUTE_KEYS[..]),
        ("a test", "what stands under `when`; one test word each", &TEST_KEYS[..]),
        ("retry", "of a node, or of the file", &RETRY_KEYS[..]),
        ("timeout", "where it is a table", &TIMEOUT_KEYS[..]),
        ("policy", "of a `tools` node", &POLICY_KEYS[..]),
        ("a migration", "one of `migrations`", &MIGRATION_KEYS[..]),
    ]);
    tables
}
