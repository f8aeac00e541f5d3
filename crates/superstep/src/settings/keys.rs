//! Declarations of all settings, one row each, from which the page of the book is generated.
//!
//! Parsing, validation, suggestions and documentation all use this table. Values are not parsed here (see `value`), and
//! origins are not known here (see `source`).

use superstep_core::suggest::nearest;

/// Declaration of a setting.
pub(crate) struct SettingKey {
    /// Dotted path; a part in angle brackets stands for any name.
    pub(crate) path: &'static str,
    /// Expected type.
    pub(crate) shape: SettingType,
    /// Default value.
    pub(crate) default: Option<&'static str>,
    /// Description for the book, in one sentence.
    pub(crate) description: &'static str,
}

/// Type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingType {
    /// Non-empty text.
    Text,
    /// A file path.
    Path,
    /// An integer in this range, inclusive.
    Count(u32, u32),
    /// A duration.
    Duration,
    /// One of these values.
    Choice(&'static [&'static str]),
    /// A program and its arguments.
    Words,
    /// A list of texts.
    List,
    /// A reference to a secret.
    Secret,
    /// Text that may be a secret: a literal or a reference.
    Open,
    /// An HTTP URL: a literal without secrets in it, or a reference.
    Address,
    /// Path of a graph file, or `rust:NAME`.
    GraphPath,
    /// `memory`, `postgres` or `sqlite:PATH`.
    Store,
    /// A known provider, or `rust:NAME`.
    Provider,
}

/// Suffixes of `SUPERSTEP_` variables that are not settings: command-line flags, a token that is not a flag, and the
/// file of `superstep-weights`.
pub(crate) const NO_SETTINGS: &[&str] = &[
    "ASSISTANT",
    "DEBATES_AT_ONCE",
    "DEBATES_PER_HOUR",
    "EVIDENCE",
    "FAMILY",
    "GRAPH_TOKEN",
    "GRAPH_URL",
    "PACE",
    "SUGGESTIONS",
    "WEIGHTS",
];

/// Known providers of models.
pub(crate) const PROVIDERS: &[&str] =
    &["anthropic", "azure", "google", "local/rules", "local/weights", "openai", "replay", "scripted"];

/// Values of `storage.durability`.
pub(crate) const DURABILITIES: &[&str] = &["sync", "async", "exit"];

/// Values of `server.port_in_use`.
pub(crate) const PORT_CONFLICT_POLICIES: &[&str] = &["error", "next"];

/// Values of `server.recovery`.
pub(crate) const RECOVERY_MODES: &[&str] = &["auto", "manual"];

/// Formats of graph files.
pub(crate) const GRAPH_KINDS: &[&str] = &["toml", "json"];

/// Upper bound of the recursion limit, so that a typing error does not create an endless run.
const MAX_RECURSION_LIMIT: u32 = 1_000_000;

const fn key(
    path: &'static str,
    shape: SettingType,
    default: Option<&'static str>,
    description: &'static str,
) -> SettingKey {
    SettingKey { path, shape, default, description }
}

/// All settings, in the order of the book.
pub(crate) const KEYS: &[SettingKey] = &[
    key(
        "secrets_file",
        SettingType::Path,
        None,
        "TOML file with lines `name = \"value\"`, to which \
         `secret:NAME` refers",
    ),
    key(
        "graphs.<name>.path",
        SettingType::GraphPath,
        None,
        "path of the graph file, or `rust:NAME` for a graph built in Rust",
    ),
    key(
        "graphs.<name>.kind",
        SettingType::Choice(GRAPH_KINDS),
        None,
        "format of the file; default: from its \
         extension",
    ),
    key("models.<name>.provider", SettingType::Provider, None, "provider of the model; required"),
    key(
        "models.<name>.model",
        SettingType::Text,
        None,
        "name of the model at the provider; required for remote providers",
    ),
    key("models.<name>.base_url", SettingType::Address, None, "base URL of the provider; default: the public one"),
    key("models.<name>.api_key", SettingType::Secret, None, "API key of the provider"),
    key("storage.checkpointer", SettingType::Store, Some("memory"), "checkpointer of the threads"),
    key("storage.url", SettingType::Secret, None, "URL of the database; required for `postgres`"),
    key(
        "storage.durability",
        SettingType::Choice(DURABILITIES),
        Some("sync"),
        "when commits are written: before the next superstep starts, in the background, or at the end of the run",
    ),
    key(
        "mcp_servers.<name>.command",
        SettingType::Words,
        None,
        "program and arguments of an MCP server started over stdio",
    ),
    key("mcp_servers.<name>.env.<variable>", SettingType::Open, None, "environment variable of the program"),
    key("mcp_servers.<name>.url", SettingType::Address, None, "URL of an MCP server over HTTP"),
    key("server.host", SettingType::Text, Some("127.0.0.1"), "address the server listens on"),
    key(
        "server.port",
        SettingType::Count(0, 65_535),
        Some("8123"),
        "port the server listens on; 0 selects a free port",
    ),
    key(
        "server.port_in_use",
        SettingType::Choice(PORT_CONFLICT_POLICIES),
        Some("error"),
        "behavior if the port is in use: fail, or use the next free port",
    ),
    key("server.allowed_hosts", SettingType::List, Some("[]"), "permitted `Host` names, in addition to loopback names"),
    key(
        "server.allowed_origins",
        SettingType::List,
        Some("[]"),
        "permitted origins of web pages, in addition to the server's own",
    ),
    key("server.body_limit", SettingType::Count(1, 1 << 30), Some("65536"), "maximum size of a request body, in bytes"),
    key("server.max_concurrent_runs", SettingType::Count(1, 65_536), Some("256"), "maximum number of concurrent runs"),
    key(
        "server.drain_timeout",
        SettingType::Duration,
        Some("8s"),
        "maximum time for running supersteps to finish when the server stops, at most `8s`",
    ),
    key(
        "server.recovery",
        SettingType::Choice(RECOVERY_MODES),
        Some("auto"),
        "runs interrupted by a crash: recovered at startup, or only on request",
    ),
    key(
        "limits.recursion_limit",
        SettingType::Count(1, MAX_RECURSION_LIMIT),
        Some("25"),
        "maximum number of supersteps of a run",
    ),
    key(
        "limits.max_concurrency",
        SettingType::Count(1, 65_536),
        None,
        "maximum number of concurrent tasks of a superstep",
    ),
    key("limits.run_timeout", SettingType::Duration, None, "maximum duration of a run"),
    key("limits.node_timeout", SettingType::Duration, None, "maximum duration of a node that sets no timeout"),
];

impl SettingKey {
    /// Returns the parts of the path.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }

    /// Returns the environment variable of the setting, with names as `<NAME>`.
    pub(crate) fn variable(&self) -> String {
        variable(self.parts())
    }
}

/// Returns true if a part of a path stands for any name.
pub(crate) fn is_placeholder(part: &str) -> bool {
    part.starts_with('<')
}

/// Returns the environment variable of a dotted path.
pub(crate) fn variable<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_uppercase().replace('-', "_")).collect();
    format!("SUPERSTEP_{}", parts.join("__"))
}

/// Returns the declaration for a path, if all of its parts are known.
pub(crate) fn find(path: &[&str]) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.parts().count() == path.len() && fits(key, path))
}

/// Returns true if a path is a prefix of known keys, but not a key itself.
pub(crate) fn is_section(path: &[&str]) -> bool {
    KEYS.iter().any(|key| key.parts().count() > path.len() && fits(key, path))
}

/// Returns the parts that may follow a path, without duplicates.
pub(crate) fn children(path: &[&str]) -> Vec<&'static str> {
    let mut children = Vec::new();
    for key in KEYS.iter().filter(|key| fits(key, path)) {
        if let Some(child) = key.parts().nth(path.len())
            && !children.contains(&child)
        {
            children.push(child);
        }
    }
    children
}

fn fits(key: &SettingKey, path: &[&str]) -> bool {
    key.parts().zip(path).all(|(part, segment)| is_placeholder(part) || part == *segment)
}

/// Returns the known path that is nearest to an unknown one.
pub(crate) fn suggest(path: &[&str]) -> Option<Vec<String>> {
    let fixed =
        |is_match: &dyn Fn(&SettingKey) -> bool| KEYS.iter().find(|key| !key.path.contains('<') && is_match(key));
    // One underscore where the environment variable needs two.
    let flat = path.join("_");
    let single_underscore = fixed(&|key| key.path != path.join(".") && key.path.replace('.', "_") == flat);
    // A key without its section.
    let in_other_section = || fixed(&|key| key.path.rsplit('.').next() == path.last().copied());
    let full_path = |key: &SettingKey| key.parts().map(str::to_owned).collect();
    let unknown_index = (0..path.len()).find(|at| find(&path[..=*at]).is_none() && !is_section(&path[..=*at]))?;
    single_underscore
        .map(full_path)
        .or_else(|| sibling(path, unknown_index))
        .or_else(|| in_other_section().map(full_path))
}

/// Returns the path with its first unknown part corrected; the following parts are kept if the result is a known
/// path.
fn sibling(path: &[&str], unknown_index: usize) -> Option<Vec<String>> {
    let siblings = children(&path[..unknown_index]).into_iter().filter(|child| !is_placeholder(child));
    let suggestion = nearest(path[unknown_index], siblings)?;
    let corrected = [&path[..unknown_index], &[suggestion]].concat();
    let full_path = [&corrected[..], &path[unknown_index + 1..]].concat();
    let is_known_path = find(&full_path).is_some() || is_section(&full_path);
    Some((if is_known_path { full_path } else { corrected }).into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_path_is_answered_with_the_nearest_known_one() {
        let rows = [
            ("limits.recursion_limt", Some("limits.recursion_limit")),
            ("limit.recursion_limit", Some("limits.recursion_limit")),
            ("models.fast.api_kye", Some("models.fast.api_key")),
            ("recursion_limit", Some("limits.recursion_limit")),
            ("limits_recursion_limit", Some("limits.recursion_limit")),
            ("serve", Some("server")),
            ("colour", None),
        ];
        for (input, expected) in rows {
            let path: Vec<&str> = input.split('.').collect();
            assert_eq!(suggest(&path).map(|parts| parts.join(".")).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn every_default_is_a_value_its_shape_accepts() {
        for key in KEYS {
            let Some(default) = key.default else { continue };
            let read = super::super::value::read(
                key.shape,
                &super::super::value::RawValue::Text(default),
                &Default::default(),
            );
            assert!(read.is_ok(), "{}", key.path);
        }
    }
}
