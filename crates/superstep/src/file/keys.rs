//! Every key of a graph file, once: what it is called, what it holds, what it means.
//!
//! The check of a file, its JSON Schema and the table in the book come from here.

use super::form::{Form, Key};

/// A kind of node, and the keys it has besides [`COMMON`].
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) says: &'static str,
    pub(super) keys: &'static [Key],
}

const fn may(name: &'static str, form: &'static Form, says: &'static str) -> Key {
    Key { name, form, required: false, says }
}

const fn must(name: &'static str, form: &'static Form, says: &'static str) -> Key {
    Key { name, form, required: true, says }
}

static NAMES: Form = Form::List(&Form::Name);

/// The keys of the file itself.
pub(super) static TOP: [Key; 13] = [
    must("name", &Form::Name, "the name of the graph"),
    may("version", &Form::Whole(1), "the version of the state's shape; 1 unless told"),
    may("description", &Form::Text, "what the graph is for, in words"),
    must("state", &Form::Fields, "the fields of the state, with type, reducer, default"),
    may("input", &NAMES, "the fields an input may have; all that are not private unless told"),
    may("output", &NAMES, "the fields an output has; all that are not private unless told"),
    may("recursion_limit", &Form::Whole(1), "how many supersteps a run may have; 25 unless told"),
    may("interrupt_before", &NAMES, "nodes before which a run stops; `*` is all"),
    may("interrupt_after", &NAMES, "nodes after which a run stops; `*` is all"),
    must("nodes", &Form::Map(&Form::Node), "the nodes, by name"),
    must("edges", &Form::List(&EDGE), "what leads on always"),
    may("retry", &RETRY, "how failed nodes are tried again, for nodes that do not say otherwise"),
    may("migrations", &Form::List(&MIGRATION), "how threads of earlier versions of the state are read"),
];

static EDGE: Form = Form::Table(&EDGE_KEYS);
pub(super) static EDGE_KEYS: [Key; 2] = [
    must("from", &Form::OneOrMore(&Form::Name), "a node or `START`; a list joins: all of them must have finished"),
    must("to", &Form::OneOrMore(&Form::Name), "a node or `END`; a list leads to each of them"),
];

static RETRY: Form = Form::Table(&RETRY_KEYS);
pub(super) static RETRY_KEYS: [Key; 5] = [
    must("max_attempts", &Form::Whole(1), "how often it is tried in all"),
    may("initial_interval", &Form::Seconds, "seconds before the second attempt; 0.5 unless told"),
    may("backoff", &Form::Number, "what each wait is multiplied with; 2 unless told"),
    may("max_interval", &Form::Seconds, "the longest wait in seconds; 128 unless told"),
    may("jitter", &Form::Flag, "whether waits vary by up to a tenth; they do unless told"),
];

static TIMEOUT: Form = Form::Table(&TIMEOUT_KEYS);
pub(super) static TIMEOUT_KEYS: [Key; 2] = [
    may("run", &Form::Seconds, "seconds for one attempt"),
    may("idle", &Form::Seconds, "seconds without a sign of life"),
];

static MIGRATION: Form = Form::Table(&MIGRATION_KEYS);
pub(super) static MIGRATION_KEYS: [Key; 6] = [
    must("from", &Form::Whole(1), "the version it begins at"),
    must("to", &Form::Whole(1), "the version it leads to"),
    may("rename", &Form::Map(&Form::Name), "fields that have another name: old = new"),
    may("add", &Form::Map(&Form::Value), "fields that are new, with their value"),
    may("remove", &NAMES, "fields that are gone"),
    may("rename_nodes", &Form::Map(&Form::Name), "nodes that have another name: old = new"),
];

static TEST: Form = Form::Table(&TEST_KEYS);
pub(super) static TEST_KEYS: [Key; 12] = [
    may("field", &Form::Name, "the field that is looked at"),
    may("at", &Form::Text, "a JSON pointer into its value, such as `/score`"),
    may("equals", &Form::Value, "holds when the value is this"),
    may("one_of", &Form::List(&Form::Value), "holds when the value is one of these"),
    may("at_least", &Form::Value, "holds when the value is a number, not below this, or a text, not before it"),
    may("at_most", &Form::Value, "holds when the value is a number, not above this, or a text, not after it"),
    may("contains", &Form::Value, "holds when the value is a text with this in it, or a list that has this item"),
    may("exists", &Form::Flag, "holds when there is a value other than null, or with `false` when there is none"),
    may("wants_tools", &Form::Name, "holds when the last message of this field asks for tools"),
    may("all", &Form::List(&TEST), "holds when all of these tests hold"),
    may("any", &Form::List(&TEST), "holds when one of these tests holds"),
    may("not", &TEST, "holds when this test does not"),
];

static ROUTE: Form = Form::Table(&ROUTE_KEYS);
pub(super) static ROUTE_KEYS: [Key; 2] =
    [must("when", &TEST, "the test"), must("to", &Form::Name, "the node, or `END`, where it holds")];

static POLICY: Form = Form::Table(&POLICY_KEYS);
pub(super) static POLICY_KEYS: [Key; 3] = [
    may("allow", &NAMES, "tools that run without a question; `*` is all that are not named"),
    may("ask", &NAMES, "tools a person is asked about"),
    may("deny", &NAMES, "tools that never run"),
];

/// The keys every node has.
pub(super) static COMMON: [Key; 6] = [
    must("kind", &Form::Name, "the kind of the node"),
    may("description", &Form::Text, "what the node is for; shown in drawings"),
    may("retry", &RETRY, "how it is tried again when it fails"),
    may("timeout", &Form::SecondsOr(&TIMEOUT), "how long it may take, in seconds"),
    may("defer", &Form::Flag, "waits until nothing else is due"),
    may("was", &NAMES, "names it had before: threads that are due there go on here"),
];

/// The kinds of nodes.
pub(super) static KINDS: [Kind; 8] = [
    Kind { name: "model", says: "asks a model", keys: &MODEL },
    Kind { name: "tools", says: "runs the tools that the last message asks for", keys: &TOOLS },
    Kind { name: "condition", says: "leads on by tests of fields; the first that holds wins", keys: &CONDITION },
    Kind { name: "map", says: "starts a task of a node for each item of a list", keys: &MAP },
    Kind { name: "interrupt", says: "asks a person and waits for the answer", keys: &INTERRUPT },
    Kind { name: "subgraph", says: "runs another graph; fields of the same name are shared", keys: &SUBGRAPH },
    Kind { name: "set", says: "writes fields: constants, texts with placeholders, copies", keys: &SET },
    Kind { name: "rust", says: "runs a node that is written in Rust", keys: &RUST },
];

static MODEL: [Key; 9] = [
    must("model", &Form::Name, "the model, by its name among the parts"),
    may("prompt", &Form::Text, "what the model is told, with `{{fields}}`"),
    may("prompt_file", &Form::Name, "a prompt in a file beside this one"),
    may("messages", &Form::Name, "the message list it goes on with; without one the prompt is the whole question"),
    may("tools", &NAMES, "tools it may ask for, by name among the parts"),
    may("output", &Form::Name, "the field its answer is written to; the message list unless told"),
    may("schema", &Form::Schema, "the JSON Schema its answer must fit; the field then holds the value"),
    may("temperature", &Form::Number, "how much chance there is in the answer"),
    may("max_tokens", &Form::Whole(1), "the longest answer, in tokens"),
];

static TOOLS: [Key; 7] = [
    must("tools", &NAMES, "the tools, by name among the parts"),
    may("messages", &Form::Name, "the message list; `messages` unless told"),
    may("policy", &POLICY, "which tools run, are asked about, never run; destructive ones are asked about unless told"),
    may(
        "errors",
        &Form::Word(&["text", "propagate"]),
        "whether the model is told of failures (`text`), or the node fails",
    ),
    may("call_timeout", &Form::Seconds, "seconds for one call; 60 unless told"),
    may("max_concurrency", &Form::Whole(1), "how many calls of a message run at once"),
    may("ask_together", &Form::Flag, "whether all calls of a message are one question"),
];

static CONDITION: [Key; 2] = [
    must("routes", &Form::List(&ROUTE), "the tests, in order, and where they lead"),
    must("else", &Form::Name, "the node, or `END`, where no test holds"),
];

static MAP: [Key; 4] = [
    must("over", &Form::Name, "the field with the list"),
    must("to", &Form::Name, "the node that runs once for each item"),
    may("as", &Form::Name, "what the item is called there; `item` unless told"),
    may("else", &Form::Name, "the node where the list is empty; `END` unless told"),
];

static INTERRUPT: [Key; 5] = [
    may("prompt", &Form::Text, "the question, with `{{fields}}`"),
    may("prompt_file", &Form::Name, "the question, in a file beside this one"),
    must("output", &Form::Name, "the field the answer is written to"),
    may("answer", &Form::Type, "the type of the answer; any value unless told"),
    may("show", &NAMES, "fields that are shown with the question"),
];

static SUBGRAPH: [Key; 2] = [
    may("graph", &Form::Name, "a graph, by its name among the parts"),
    may("file", &Form::Name, "a graph file beside this one"),
];

static SET: [Key; 3] = [
    may("values", &Form::Map(&Form::Value), "fields and the constants they get"),
    may("templates", &Form::Map(&Form::Text), "fields and the texts they get, with `{{fields}}`"),
    may("copies", &Form::Map(&Form::Name), "fields and the fields they are copied from"),
];

static RUST: [Key; 4] = [
    must("node", &Form::Name, "the node, by its name among the parts"),
    may("goto", &NAMES, "where its commands may lead"),
    may("reads", &NAMES, "private fields it reads"),
    may("writes", &NAMES, "private fields it writes"),
];

/// Every table of keys, for the book and the schema.
pub(super) fn tables() -> Vec<(&'static str, &'static str, &'static [Key])> {
    let mut tables: Vec<(&str, &str, &[Key])> = vec![
        ("the file", "", &TOP),
        ("an edge", "one of `edges`", &EDGE_KEYS),
        ("every node", "one of `nodes`", &COMMON),
    ];
    tables.extend(KINDS.iter().map(|kind| (kind.name, kind.says, kind.keys)));
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
