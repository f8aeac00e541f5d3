//! Invalid files and their exact error messages.

use superstep::files::{Components, FileFormat, GraphFile};

use super::samples::{Folder, assert_golden, parts, path};

const STATE: &str = "\
name = \"t\"
[state]
text = { type = \"string\" }
list = { type = \"array\" }
log = { type = \"array\", reducer = \"append\" }
chat = { type = \"messages\" }
secret = { type = \"string\", private = true }
";

/// Returns a file with this node `a` and other content, between start and end.
fn file_with(rest: &str) -> String {
    format!("{STATE}{rest}\n[[edges]]\nfrom = \"START\"\nto = \"a\"\n[[edges]]\nfrom = \"a\"\nto = \"END\"\n")
}

const FINE: &str = "[nodes.a]\nkind = \"set\"\nvalues = { text = \"x\" }";

/// Files with one error each.
#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(&'static str, String)> {
    let node = |name, keys: &str| (name, file_with(&format!("[nodes.a]\n{keys}")));
    let edge = |name, edge: &str| (name, format!("{}[[edges]]\n{edge}\n", file_with(FINE)));
    let state = |name, field: &str| (name, file_with(FINE).replacen("[state]\n", &format!("[state]\n{field}\n"), 1));
    let top = |name, key: &str| (name, format!("{key}\n{}", file_with(FINE)));
    vec![
        ("not TOML", "name = \nstate = {".into()),
        ("a key twice", top("", "name = \"u\"").1),
        ("an empty file", String::new()),
        ("no nodes", "name = \"t\"\nedges = []\n[state]\na = {}\n[nodes]\n".into()),
        ("wrong types everywhere", "name = 3\nversion = 0\nstate = 1\nnodes = []\nedges = {}\ninput = \"x\"\n".into()),
        ("an empty name", top("", "").1.replace("name = \"t\"", "name = \"\"")),
        ("a number that does not fit", top("", "recursion_limit = 99999999999999999999").1),
        ("not a number", top("", "recursion_limit = nan").1),
        top("an unknown key", "recursion_limits = 3"),
        top("an unknown field in the input", "input = [\"text\", \"txet\"]"),
        top("a private field in the output", "output = [\"secret\"]"),
        top("an unknown breakpoint", "interrupt_before = [\"b\"]\ninterrupt_after = [\"*\"]"),
        top("retry without a number", "retry = { backoff = -1 }"),
        top("migrations that lead nowhere", "version = 3\nmigrations = [{ from = 1, to = 2, add = { text = \"\" } }]"),
        top(
            "a migration of unknown fields",
            "version = 2\nmigrations = [{ from = 1, to = 2, rename = { x = \"txt\" } }]",
        ),
        state("a field that is not a table", "more = \"string\""),
        state("an unknown type", "more = { type = \"strng\" }"),
        state("an unknown option", "more = { tipe = \"string\" }"),
        state("an unknown reducer", "more = { reducer = \"apend\" }"),
        state("a default that does not fit", "more = { type = \"integer\", default = \"one\" }"),
        state("a reserved field", "__more = {}"),
        node("no kind", "model = \"m\""),
        node("an unknown kind", "kind = \"modle\""),
        node("a kind that is not a text", "kind = 1"),
        node("an unknown key of a node", "kind = \"set\"\nvalue = { text = 1 }\nvalues = { text = \"\" }"),
        node("a model without anything", "kind = \"model\""),
        node("a model that has nowhere to write", "kind = \"model\"\nmodel = \"m\"\nprompt = \"?\""),
        node(
            "a model with two prompts",
            "kind = \"model\"\nmodel = \"m\"\nprompt = \"?\"\nprompt_file = \"p.md\"\noutput = \"text\"",
        ),
        node("messages that are none", "kind = \"model\"\nmodel = \"m\"\nmessages = \"text\""),
        node(
            "a schema and messages",
            "kind = \"model\"\nmodel = \"m\"\nmessages = \"chat\"\nschema = { type = \"object\" }",
        ),
        node(
            "a schema that is none",
            "kind = \"model\"\nmodel = \"m\"\nprompt = \"?\"\noutput = \"text\"\nschema = { type = \"strin\" }",
        ),
        node(
            "tools without messages",
            "kind = \"model\"\nmodel = \"m\"\nprompt = \"?\"\noutput = \"text\"\ntools = [\"x\", \"x\"]",
        ),
        node(
            "a prompt with an unknown field",
            "kind = \"model\"\nmodel = \"m\"\nprompt = \"a {{txt}} {{text}}\"\noutput = \"text\"",
        ),
        node("a prompt that is none", "kind = \"model\"\nmodel = \"m\"\nprompt = \"a {{ b\"\noutput = \"text\""),
        node(
            "a prompt file beside nothing",
            "kind = \"model\"\nmodel = \"m\"\nprompt_file = \"p.md\"\noutput = \"text\"",
        ),
        node("a timeout below zero", "kind = \"set\"\nvalues = { text = \"x\" }\ntimeout = -1"),
        node(
            "a policy for an unknown tool",
            "kind = \"tools\"\nmessages = \"chat\"\ntools = [\"find\"]\npolicy = { require_approval = [\"fund\", \"*\"] }",
        ),
        node("tools without a list", "kind = \"tools\"\ntools = [\"find\"]\nerrors = \"txt\""),
        node(
            "a condition without else",
            "kind = \"condition\"\nroutes = [{ when = { field = \"text\", equals = 1 }, to = \"END\" }]",
        ),
        node(
            "a condition that leads nowhere",
            "kind = \"condition\"\nroutes = [{ when = { field = \"txt\", equals = 1 }, to = \"b\" }]\nelse = \"START\"",
        ),
        node(
            "a condition without an operator",
            "kind = \"condition\"\nroutes = [{ when = { field = \"text\" }, to = \"END\" }]\nelse = \"END\"",
        ),
        node(
            "a test with two words",
            "kind = \"condition\"\nroutes = [{ when = { field = \"text\", equals = 1, at_least = 2 }, to = \"END\" }]\nelse = \"END\"",
        ),
        node(
            "a condition without a field",
            "kind = \"condition\"\nroutes = [{ when = { not = { equals = 1 } }, to = \"END\" }]\nelse = \"END\"",
        ),
        node(
            "a test with too much",
            "kind = \"condition\"\nroutes = [{ when = { field = \"text\", any = [] }, to = \"END\" }]\nelse = \"END\"",
        ),
        node(
            "a test with a wrong pointer",
            "kind = \"condition\"\nroutes = [{ when = { field = \"text\", at = \"x\", exists = true }, to = \"END\" }]\nelse = \"END\"",
        ),
        node("a map over a text", "kind = \"map\"\nover = \"text\"\nto = \"END\""),
        (
            "a map whose tasks overwrite each other",
            file_with(
                "[nodes.a]\nkind = \"map\"\nover = \"list\"\nto = \"b\"\n[nodes.b]\nkind = \"set\"\ncopies = { text = \"item\" }",
            ),
        ),
        ("an item where there is none", file_with("[nodes.a]\nkind = \"set\"\ncopies = { log = \"item\" }")),
        node("an interrupt without a prompt", "kind = \"interrupt\"\noutput = \"txt\"\nresume_type = \"bool\""),
        node("a subgraph of two kinds", "kind = \"subgraph\"\ngraph = \"g\"\nfile = \"g.toml\""),
        node("a set that sets nothing", "kind = \"set\""),
        node(
            "a set that does not fit",
            "kind = \"set\"\nvalues = { text = 1, txt = 2 }\ntemplates = { text = \"{{nobody}}\" }",
        ),
        edge("an edge to nobody", "from = \"a\"\nto = \"b\""),
        edge("an edge from the end", "from = \"END\"\nto = \"START\""),
        edge("an edge without an end", "from = \"a\""),
        edge("a join of the start", "from = [\"START\", \"a\"]\nto = [\"END\"]"),
        edge("an empty join", "from = []\nto = \"a\""),
        (
            "a node that cannot be reached",
            file_with(&format!("{FINE}\n[nodes.b]\nkind = \"set\"\nvalues = {{ text = \"y\" }}")),
        ),
        ("a node called END", file_with(&format!("{FINE}\n[nodes.END]\nkind = \"set\"\nvalues = {{ text = \"y\" }}"))),
        ("a node with a reserved name", file_with(FINE).replace("nodes.a", "nodes.__a").replace("\"a\"", "\"__a\"")),
        ("columns count characters", "name = \"t\"\nédges = 1".into()),
    ]
}

/// R-FWK-96: all problems are listed at once, with line, column and a suggestion.
#[test]
fn problems_are_reported_with_their_location() {
    let mut all = String::new();
    for (name, text) in cases() {
        let error = GraphFile::parse(&text, FileFormat::Toml).expect_err(name);
        assert!(error.diagnostics().iter().all(|problem| problem.pointer.starts_with("<toml>:")), "{error}");
        all.push_str(&format!("# {name}\n{error}\n\n"));
    }
    assert_golden("broken.txt", &all);
}

/// R-FWK-96: the same holds for JSON.
#[test]
fn problems_in_json_are_reported_with_their_location() {
    let cases = [
        ("not JSON", "{\n  \"name\": \"t\",\n  \"state\": {]\n}"),
        ("nothing", ""),
        ("not a table", "[1, 2]"),
        ("too deep", &"[".repeat(200)),
        ("a key twice", "{ \"name\": \"t\",\n \"state\": { \"a\": {}, \"a\": {} }, \"name\": \"u\" }"),
        (
            "null",
            "{ \"name\": null, \"state\": { \"a\": {} },\n \"nodes\": { \"a\": { \"kind\": \"set\", \"values\": { \"a\": null } } }, \"edges\": [] }",
        ),
        (
            "places",
            "{ \"name\": \"t\", \"state\": { \"a\": {} },\n  \"nodes\": { \"é\": { \"kind\": \"set\", \"copies\": { \"a\": \"b\" } } },\n  \"edges\": [{ \"from\": \"START\", \"to\": \"e\" }] }",
        ),
    ];
    let mut all = String::new();
    for (name, text) in cases {
        let error = GraphFile::parse(text, FileFormat::Json).expect_err(name);
        all.push_str(&format!("# {name}\n{error}\n\n"));
    }
    assert_golden("broken_json.txt", &all);
}

/// R-FWK-96: missing components are named at the location that references them, all at once, also in subgraphs.
#[test]
fn missing_parts_are_reported_with_their_location() {
    let file = GraphFile::open(path("everything.json")).unwrap();
    let folder = path("");
    let message = |parts: &Components| {
        let error = file.build(parts).map(drop).unwrap_err();
        error.to_string().replace(&*folder.to_string_lossy(), "")
    };
    let some = Components::new().model("smal", super::samples::model());
    assert_golden("missing.txt", &format!("{}\n\n{}\n", message(&Components::new()), message(&some)));
    file.build(&parts()).unwrap();
}

/// R-FWK-96: a timeout on a synchronous function among the components is rejected at its node.
#[test]
fn invalid_parts_are_reported_with_their_location() {
    let text = file_with("[nodes.a]\nkind = \"rust\"\nnode = \"plain\"\ntimeout = 1");
    let file = GraphFile::parse(&text, FileFormat::Toml).unwrap();
    let error = file.build(&Components::new().node("plain", || serde_json::json!({}))).map(drop).unwrap_err();
    assert_eq!(error.diagnostics()[0].pointer, "<toml>:8:8");
    assert!(error.diagnostics()[0].message.contains("is a plain function, which cannot be cancelled"), "{error}");
}

/// R-FWK-96: prompts and graphs are in the folder of the file or below; no path leads outside of it.
#[test]
fn nothing_is_read_outside_of_the_folder() {
    let folder = Folder::new("outside");
    folder.write("secret.md", "+++\nversion = \"1\"\n+++\nsecret");
    folder.write("in/fine.md", "+++\nversion = \"1\"\n+++\nfine");
    let node = |file: &str| {
        file_with(&format!("[nodes.a]\nkind = \"model\"\nmodel = \"m\"\nprompt_file = {file:?}\noutput = \"text\""))
    };
    let mut all = String::new();
    let mut check_rejected = |name: &str, file: &str| {
        let path = folder.write("in/graph.toml", &node(file));
        let error = GraphFile::open(&path).expect_err(name);
        all.push_str(&format!("# {name}\n{}\n\n", error.to_string().replace(&*folder.0.to_string_lossy(), "")));
    };
    check_rejected("up", "../secret.md");
    check_rejected("up, after down", "x/../../secret.md");
    check_rejected("from the root", &folder.0.join("secret.md").to_string_lossy());
    check_rejected("missing", "missing.md");
    check_rejected("a folder", ".");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret.md", folder.0.join("in/link.md")).unwrap();
        check_rejected("through a link", "link.md");
    }
    folder.write("in/bad.md", "no head");
    check_rejected("a prompt without a head", "bad.md");
    folder.write("in/unknown.md", "+++\nversion = \"1\"\n+++\nwhat {{nobody}} said");
    check_rejected("a prompt with an unknown field", "unknown.md");
    assert_golden("outside.txt", &all);
    GraphFile::open(folder.write("in/graph.toml", &node("./fine.md"))).unwrap();
}

/// R-FWK-96: an error in a referenced graph has its location in its own file; a graph cannot contain itself.
#[test]
fn problems_in_a_subgraph_are_reported_in_its_file() {
    let folder = Folder::new("inside");
    let outer = folder.write("outer.toml", &file_with("[nodes.a]\nkind = \"subgraph\"\nfile = \"sub/inner.toml\""));
    let message = || {
        let error = GraphFile::open(&outer).unwrap_err();
        error.to_string().replace(&*folder.0.to_string_lossy(), "")
    };
    let mut all = format!("# missing\n{}\n\n", message());
    folder.write("sub/inner.toml", &file_with("[nodes.a]\nkind = \"set\"\nvalues = { txt = 1 }"));
    all.push_str(&format!("# wrong\n{}\n\n", message()));
    folder.write("sub/inner.toml", &file_with("[nodes.a]\nkind = \"subgraph\"\nfile = \"inner.toml\""));
    all.push_str(&format!("# itself\n{}\n\n", message()));
    folder.write("sub/inner.toml", &file_with("[nodes.a]\nkind = \"subgraph\"\nfile = \"inner.yaml\""));
    folder.write("sub/inner.yaml", "");
    all.push_str(&format!("# another form\n{}\n\n", message()));
    assert_golden("inside.txt", &all);
}
