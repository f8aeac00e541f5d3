//! Tests of the settings as a whole: precedence, errors and their messages, and that no secret is ever printed.

use super::*;

const FILE: &str = r#"
secrets_file = "secrets.toml"

[graphs.chat]
path = "rust:chat"

[graphs.triage]
path = "graphs/triage.toml"

[models.fast]
provider = "openai"
model = "llama-3.1-8b-instant"
base_url = "https://api.groq.com/openai/v1/"
api_key = "env:GROQ_API_KEY"

[models.rules]
provider = "local/rules"

[storage]
checkpointer = "postgres"
url = "secret:database"
durability = "async"

[mcp_servers.git]
command = ["npx", "-y", "git-server"]
env = { LANG = "C", GIT_TOKEN = "file:run/token" }

[mcp_servers.search]
url = "env:SEARCH_URL"

[limits]
recursion_limit = 40
run_timeout = "5m"
"#;

fn sources() -> SettingsSources<'static> {
    let environment = [
        ("GROQ_API_KEY", "MARKER-groq"),
        ("SEARCH_URL", "https://search.example/?key=MARKER-search"),
        ("SUPERSTEP_MODELS__RULES__API_KEY", "MARKER-literal"),
        ("SUPERSTEP_MCP_SERVERS__GIT__ENV__DEBUG", "MARKER-debug"),
    ];
    SettingsSources::new().toml("superstep.toml", FILE).environment(environment).files(|path| match path {
        "secrets.toml" => Ok("database = 'postgres://MARKER-database'".to_owned()),
        "run/token" => Ok("MARKER-token\n".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    })
}

fn parse_error(sources: &SettingsSources<'_>) -> String {
    Settings::parse(sources).expect_err("something is wrong").to_string()
}

/// Returns the diagnostics of a file text, one line each.
fn diagnostics(text: &str) -> Vec<String> {
    let error = Settings::parse(&SettingsSources::new().toml("superstep.toml", text)).expect_err("something is wrong");
    error.diagnostics().iter().map(|diagnostic| format!("{}: {}", diagnostic.pointer, diagnostic.message)).collect()
}

/// R-FWK-54: `superstep.toml` names graphs, models, stores, servers, limits.
#[test]
fn the_file_names_graphs_models_storage_mcp_servers_and_limits() {
    let settings = Settings::parse(&sources()).unwrap();
    insta::assert_snapshot!(toml::to_string(&settings).unwrap(), @r#"
    [graphs.chat]
    rust = "chat"

    [graphs.triage.file]
    path = "graphs/triage.toml"
    kind = "toml"

    [models.fast]
    provider = "openai"
    model = "llama-3.1-8b-instant"
    base_url = "https://api.groq.com/openai/v1/"
    api_key = "***"

    [models.rules]
    provider = "local/rules"
    api_key = "***"

    [storage]
    durability = "async"

    [storage.checkpointer]
    postgres = "***"

    [mcp_servers.git.command]
    argv = ["npx", "-y", "git-server"]

    [mcp_servers.git.command.env]
    DEBUG = "***"
    GIT_TOKEN = "***"
    LANG = "C"

    [mcp_servers.search]
    url = "***"

    [server]
    host = "127.0.0.1"
    port = 8123
    port_in_use = "error"
    allowed_hosts = []
    allowed_origins = []
    body_limit = 65536
    max_concurrent_runs = 256
    drain_timeout = "8s"
    recovery = "auto"

    [limits]
    recursion_limit = 40
    run_timeout = "5m"
    "#);
    assert_eq!(settings.models["fast"].api_key.as_ref().unwrap().expose(), "MARKER-groq");
    let McpServerSettings::Command { env, .. } = &settings.mcp_servers["git"] else { panic!("it has a command") };
    assert_eq!(env["GIT_TOKEN"].expose(), "MARKER-token");
}

#[test]
fn without_any_source_every_setting_has_its_default() {
    let settings = Settings::parse(&SettingsSources::new()).unwrap();
    let (limits, server) = (&settings.limits, &settings.server);
    assert_eq!((limits.recursion_limit, limits.max_concurrency, limits.run_timeout), (25, None, None));
    assert_eq!((server.host.as_str(), server.port), ("127.0.0.1", 8123));
    assert!(matches!(settings.storage.checkpointer, CheckpointerSettings::Memory));
    assert_eq!(settings.storage.durability, Durability::Sync);
    assert!(settings.explain().iter().all(|row| row.origin == SettingOrigin::Default));
}

/// R-FWK-54: environment variables override the file, flags override both.
#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let key = "limits.recursion_limit";
    let file = SettingsSources::new().toml("superstep.toml", "limits.recursion_limit = 2");
    let environment = file.clone().environment([("SUPERSTEP_LIMITS__RECURSION_LIMIT", "3")]);
    let flags = environment.clone().flags([(key, "3"), (key, "4")]);
    let rows = [
        (SettingsSources::new(), 25, "default"),
        (file, 2, "superstep.toml:1:8"),
        (environment, 3, "environment variable `SUPERSTEP_LIMITS__RECURSION_LIMIT`"),
        (flags, 4, "flag `limits.recursion_limit`"),
    ];
    for (sources, expected, origin) in rows {
        let settings = Settings::parse(&sources).unwrap();
        let row = settings.explain().iter().find(|row| row.key == key).unwrap();
        assert_eq!(settings.limits.recursion_limit, expected);
        assert_eq!((row.value.as_str(), row.origin.to_string().as_str()), (expected.to_string().as_str(), origin));
    }
}

/// R-FWK-54: a variable of another superstep program is not an error.
#[test]
fn variables_of_other_programs_are_ignored() {
    let others = [("SUPERSTEP_WEIGHTS", "model.gguf"), ("SUPERSTEP_EVIDENCE", "documents")];
    let settings = Settings::parse(&SettingsSources::new().environment(others)).unwrap();
    assert!(settings.explain().iter().all(|row| row.origin == SettingOrigin::Default));
    assert!(
        parse_error(&SettingsSources::new().environment([("SUPERSTEP_WEIGHT", "model.gguf")])).contains("no setting")
    );
}

/// R-FWK-54: a reference that a later source has overridden is not resolved.
#[test]
fn only_the_effective_reference_is_resolved() {
    let file = "[models.gpt-4]\nprovider = 'openai'\nmodel = 'gpt-4'\napi_key = 'env:NOT_SET'";
    let sources = SettingsSources::new().toml("superstep.toml", file);
    assert!(parse_error(&sources).contains("superstep.toml:4:1: environment variable `NOT_SET` is not set"));
    let settings = Settings::parse(&sources.environment([("SUPERSTEP_MODELS__GPT_4__API_KEY", "MARKER")])).unwrap();
    assert_eq!(settings.models["gpt-4"].api_key.as_ref().unwrap().expose(), "MARKER");
}

/// One error of each kind.
const INVALID_FILE: &str = r#"
recursion_limit = 3
colour = "red"
[limits]
recursion_limt = 3
run_timeout = "soon"
[modles.fast]
provider = "openai"
[models.fast]
provider = "opnai"
model = 3
api_key = "MARKER"
[models.slow]
[models."a b"]
[storage]
durability = "synch"
url = "env:DATABASE"
[mcp_servers.both]
command = []
url = "https://host"
[mcp_servers.none]
[graphs]
chat = "rust:chat"
[graphs.odd]
path = "graph.yaml"
"#;

/// R-FWK-54: all problems of all sources are listed at once, with location and the nearest known key.
#[test]
fn all_problems_are_listed_at_once_with_place_and_advice() {
    let environment = [
        ("SUPERSTEP_LIMITS_RECURSION_LIMIT", "3"),
        ("SUPERSTEP_SERVER__PORT", "MARKER"),
        ("SUPERSTEP_MODELS__FAST__API_KYE", "MARKER"),
        ("SUPERSTEP_MODELS__A.B__MODEL", "MARKER"),
        ("SUPERSTEP_WHATEVER", "MARKER"),
        ("DATABASE", "MARKER"),
    ];
    let flags =
        [("server.prot", "MARKER"), ("limits", "MARKER"), ("models.fast.api_key", "MARKER"), ("server.port", "-1")];
    let sources = SettingsSources::new().toml("superstep.toml", INVALID_FILE).environment(environment).flags(flags);
    let error = parse_error(&sources);
    assert!(!error.contains("MARKER"), "{error}");
    insta::assert_snapshot!(error, @r#"
    error[SS-027]: the configuration is invalid
      - /recursion_limit: superstep.toml:2:1: unknown setting `recursion_limit` (did you mean `limits.recursion_limit`?)
      - /colour: superstep.toml:3:1: unknown setting `colour` (known: `secrets_file`, `graphs`, `models`, `storage`, `mcp_servers`, `server`, `limits`)
      - /limits/recursion_limt: superstep.toml:5:1: unknown setting `limits.recursion_limt` (did you mean `limits.recursion_limit`?)
      - /limits/run_timeout: superstep.toml:6:15: expected a duration (use an integer with `ms`, `s`, `m` or `h`, for example `30s`)
      - /modles: superstep.toml:7:2: unknown setting `modles` (did you mean `models`?)
      - /models/fast/provider: superstep.toml:10:12: unknown value (did you mean `openai`? known: `openai`, `anthropic`, `azure`, `google`, `local/rules`, `local/weights`, `replay`, `scripted`)
      - /models/fast/model: superstep.toml:11:9: expected a string, found a number
      - /models/fast/api_key: superstep.toml:12:11: a secret must not be written here (use a reference: `env:NAME`, `file:PATH`, or `secret:NAME` for a line of the secrets file)
      - /models/a b: superstep.toml:14:9: invalid name `a b` (use letters, digits, `-` and single `_`, so that an environment variable can express it)
      - /storage/durability: superstep.toml:16:14: unknown value (did you mean `sync`? known: `sync`, `async`, `exit`)
      - /mcp_servers/both/command: superstep.toml:19:11: expected a program, found an empty list (write the program and each argument as separate strings: `["npx", "-y", "server"]`)
      - /graphs/chat: superstep.toml:23:8: expected a table, found text (write `[graphs.chat]`)
      - environment variable `SUPERSTEP_LIMITS_RECURSION_LIMIT`: no setting uses this variable (did you mean `SUPERSTEP_LIMITS__RECURSION_LIMIT`?)
      - environment variable `SUPERSTEP_MODELS__A.B__MODEL`: invalid name `a.b` (use letters, digits, `-` and single `_`, so that an environment variable can express it)
      - environment variable `SUPERSTEP_MODELS__FAST__API_KYE`: no setting uses this variable (did you mean `SUPERSTEP_MODELS__FAST__API_KEY`?)
      - /server/port: environment variable `SUPERSTEP_SERVER__PORT`: expected an integer from 0 to 65535, found text
      - environment variable `SUPERSTEP_WHATEVER`: no setting uses this variable (separate the parts of a key with two underscores, as in `SUPERSTEP_SERVER__PORT`)
      - flag `server.prot`: unknown setting `server.prot` (did you mean `server.port`?)
      - flag `limits`: `limits` is a section, not a setting (known: `recursion_limit`, `max_concurrency`, `run_timeout`, `node_timeout`)
      - /models/fast/api_key: flag `models.fast.api_key`: a secret must not be written here (use a reference: `env:NAME`, `file:PATH`, or `secret:NAME` for a line of the secrets file)
      - /server/port: flag `server.port`: expected an integer from 0 to 65535, found -1
      - /graphs/odd/path: superstep.toml:25:1: the file extension does not determine the format of the graph file (set `kind` to `toml` or `json`)
      - /models/slow/provider: superstep.toml:13:9: `models.slow.provider` is missing
      - /mcp_servers/both/url: superstep.toml:20:1: an MCP server has either `command` or `url`, not both (remove one of them)
      - /mcp_servers/none: superstep.toml:21:14: `mcp_servers.none` has neither `command` nor `url` (set one of them)
      - /storage/url: superstep.toml:17:1: `storage.url` requires the checkpointer `postgres` (set `storage.checkpointer` to `postgres`, or remove `storage.url`)
    help: flags override environment variables, environment variables override the file
    "#);
}

#[test]
fn text_that_is_not_toml_is_reported_by_line_and_column_only() {
    let error =
        parse_error(&SettingsSources::new().toml("superstep.toml", "[models.fast]\napi_key = MARKER\n[limits\n"));
    assert!(!error.contains("MARKER"), "{error}");
    insta::assert_snapshot!(error, @r#"
    error[SS-027]: the configuration is invalid
      - superstep.toml:2:11: string values must be quoted, expected literal string
      - superstep.toml:3:8: unclosed table, expected `]`
    help: flags override environment variables, environment variables override the file
    "#);
}

#[test]
fn columns_count_characters_and_lines_count_from_one() {
    assert_eq!(
        diagnostics("[server]\nhost = 'ü'\n'ünknown' = 1"),
        ["/server/ünknown: superstep.toml:3:1: unknown setting `server.ünknown`"]
    );
    assert_eq!(
        diagnostics("server = { host = 'ü', prt = 1 }")[0],
        "/server/prt: superstep.toml:1:24: unknown setting `server.prt`"
    );
}

#[test]
fn two_names_that_one_variable_could_mean_are_rejected() {
    let file = "[models.a-b]\nprovider = 'scripted'\n[models.a_b]\nprovider = 'scripted'";
    let sources =
        SettingsSources::new().toml("superstep.toml", file).environment([("SUPERSTEP_MODELS__A_B__MODEL", "x")]);
    assert!(parse_error(&sources).contains("`A_B` is ambiguous: `a-b` or `a_b` (rename one of the two)"));
}

#[test]
fn named_entries_can_be_defined_by_environment_or_flags_only() {
    let environment = [
        ("SUPERSTEP_MODELS__FAST__PROVIDER", "openai"),
        ("SUPERSTEP_MCP_SERVERS__GIT__COMMAND", r#"["git-server"]"#),
        ("SUPERSTEP_MCP_SERVERS__GIT__ENV__MY__OWN", "x"),
        ("SUPERSTEP_GRAPHS__MY_CHAT__KIND", "json"),
    ];
    let flags = [("models.fast.model", "small"), ("graphs.my-chat.path", "chat")];
    let settings = Settings::parse(&SettingsSources::new().environment(environment).flags(flags)).unwrap();
    assert_eq!(settings.models["fast"].model.as_deref(), Some("small"));
    assert!(
        matches!(&settings.mcp_servers["git"], McpServerSettings::Command { env, .. } if env.contains_key("MY__OWN"))
    );
    assert!(matches!(&settings.graphs["my-chat"], GraphSource::File { kind: GraphFileFormat::Json, .. }));
}

/// R-FWK-54: secrets are never printed: not by `Debug`, not in JSON, not by `explain`.
#[test]
fn no_secret_appears_in_anything_that_can_be_printed() {
    let settings = Settings::parse(&sources()).unwrap();
    let rows: Vec<String> =
        settings.explain().iter().map(|row| format!("{} = {} ({})", row.key, row.value, row.origin)).collect();
    let json = serde_json::to_string(&(&settings, settings.explain())).unwrap();
    for text in [format!("{settings:?}"), format!("{settings:#?}"), json, rows.join("\n")] {
        assert!(!text.contains("MARKER"), "{text}");
        assert!(text.contains("***"), "{text}");
    }
    insta::assert_snapshot!(rows.join("\n"), @r#"
    graphs.chat.path = rust:chat (superstep.toml:5:1)
    graphs.triage.path = graphs/triage.toml (superstep.toml:8:1)
    limits.max_concurrency = none (default)
    limits.node_timeout = none (default)
    limits.recursion_limit = 40 (superstep.toml:32:1)
    limits.run_timeout = 5m (superstep.toml:33:1)
    mcp_servers.git.command = ["npx", "-y", "git-server"] (superstep.toml:25:1)
    mcp_servers.git.env.DEBUG = *** (environment variable `SUPERSTEP_MCP_SERVERS__GIT__ENV__DEBUG`)
    mcp_servers.git.env.GIT_TOKEN = *** (superstep.toml:26:21)
    mcp_servers.git.env.LANG = C (superstep.toml:26:9)
    mcp_servers.search.url = *** (superstep.toml:29:1)
    models.fast.api_key = *** (superstep.toml:14:1)
    models.fast.base_url = https://api.groq.com/openai/v1/ (superstep.toml:13:1)
    models.fast.model = llama-3.1-8b-instant (superstep.toml:12:1)
    models.fast.provider = openai (superstep.toml:11:1)
    models.rules.api_key = *** (environment variable `SUPERSTEP_MODELS__RULES__API_KEY`)
    models.rules.provider = local/rules (superstep.toml:17:1)
    secrets_file = secrets.toml (superstep.toml:2:1)
    server.allowed_hosts = [] (default)
    server.allowed_origins = [] (default)
    server.body_limit = 65536 (default)
    server.drain_timeout = 8s (default)
    server.host = 127.0.0.1 (default)
    server.max_concurrent_runs = 256 (default)
    server.port = 8123 (default)
    server.port_in_use = error (default)
    server.recovery = auto (default)
    storage.checkpointer = postgres (superstep.toml:20:1)
    storage.durability = async (superstep.toml:22:1)
    storage.url = *** (superstep.toml:21:1)
    "#);
}

/// R-FWK-54: errors of the secrets file contain the location, but no text of the file.
#[test]
fn a_secrets_file_is_never_echoed() {
    let file = "storage.checkpointer = 'postgres'\nstorage.url = 'secret:database'";
    let rows = [
        ("database = MARKER", "secrets file:1:12: invalid TOML"),
        ("database = 'MARKER", "secrets file:1:"),
        ("ok = 'MARKER'\ndatabase = ['MARKER']", "secrets file:2:12: expected a quoted string"),
        ("databse = 'MARKER'", "the secrets file has no `database` (did you mean `databse`?)"),
        ("database = ''", "`database` in the secrets file is empty"),
    ];
    for (secrets, expected) in rows {
        let error = parse_error(&SettingsSources::new().toml("superstep.toml", file).secrets(secrets));
        assert!(error.contains(expected) && !error.contains("MARKER"), "{error}");
        assert_eq!(error.matches("\n  - ").count(), 1, "{error}");
    }
    let settings =
        Settings::parse(&SettingsSources::new().toml("superstep.toml", file).secrets("database = 'MARKER'")).unwrap();
    assert!(matches!(&settings.storage.checkpointer, CheckpointerSettings::Postgres(url) if url.expose() == "MARKER"));
}

/// A literal secret is rejected in the file and in a flag, which is visible in the list of processes.
#[test]
fn a_literal_secret_is_rejected_outside_the_environment() {
    let file = "[models.m]\nprovider = 'scripted'\napi_key = 'MARKER'\n[mcp_servers.s]\ncommand = ['x']\nenv.A_TOKEN = 'MARKER'";
    let flags = [("models.m.api_key", "MARKER"), ("mcp_servers.s.env.A_TOKEN", "MARKER")];
    let error = parse_error(&SettingsSources::new().toml("superstep.toml", file).flags(flags));
    assert_eq!(error.matches("a secret must not be written here (use a reference: `env:NAME`").count(), 4, "{error}");
    assert!(!error.contains("MARKER"), "{error}");
}

#[test]
fn a_setting_that_is_not_utf_8_is_rejected_by_its_name() {
    let mut sources = SettingsSources::new();
    sources.unreadable.push("SUPERSTEP_SERVER__HOST".into());
    assert!(parse_error(&sources).contains("environment variable `SUPERSTEP_SERVER__HOST`: the value is not UTF-8"));
}
