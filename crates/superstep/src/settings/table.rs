//! Every setting there is: one row each, and the page of the book that is made from the rows.
//!
//! A setting exists because it has a row here; reading, refusing, suggesting and documenting all ask this table. Never
//! reads a value (see `value`) and never knows where one came from (see `origin`).

use superstep_core::suggest::nearest;

/// One setting.
pub(crate) struct Key {
    /// Dotted path; a part in angle brackets stands for any name.
    pub(crate) path: &'static str,
    /// What may be written there.
    pub(crate) shape: Shape,
    /// What holds when nothing is written.
    pub(crate) default: Option<&'static str>,
    /// One sentence for the book.
    pub(crate) meaning: &'static str,
}

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Any text that is not empty.
    Text,
    /// A file.
    Path,
    /// A whole number between the two, both included.
    Count(u32, u32),
    /// A time span.
    Duration,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A program and its arguments.
    Words,
    /// Any number of texts.
    List,
    /// A reference to a secret.
    Secret,
    /// Text that may be a secret: a literal or a reference.
    Open,
    /// An HTTP address: a literal without secrets in it, or a reference.
    Address,
    /// A file of a graph, or `rust:NAME`.
    GraphPath,
    /// `memory`, `postgres` or `sqlite:PATH`.
    Store,
    /// A provider we know, or `rust:NAME`.
    Provider,
}

/// What follows `SUPERSTEP_` in variables that are no settings: flags of the command line, a token that is no flag, and the
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

/// Where a model may come from.
pub(crate) const PROVIDERS: &[&str] =
    &["anthropic", "azure", "google", "local/rules", "local/weights", "openai", "replay", "scripted"];

/// The words that `stores.durability` knows.
pub(crate) const DURABILITIES: &[&str] = &["sync", "async", "exit"];

/// What `server.port_in_use` knows.
pub(crate) const PORTS_IN_USE: &[&str] = &["error", "next"];

/// What `server.resume` knows.
pub(crate) const RESUMES: &[&str] = &["auto", "manual"];

/// The formats of graph files.
pub(crate) const GRAPH_KINDS: &[&str] = &["toml", "json"];

/// Keeps a slipped digit from becoming a run without an end.
const MOST_STEPS: u32 = 1_000_000;

const fn key(path: &'static str, shape: Shape, default: Option<&'static str>, meaning: &'static str) -> Key {
    Key { path, shape, default, meaning }
}

/// Every setting, in the order of the book.
pub(crate) const KEYS: &[Key] = &[
    key("secrets_file", Shape::Path, None, "TOML file of `name = \"value\"` lines that `secret:NAME` refers to"),
    key("graphs.<name>.path", Shape::GraphPath, None, "file of the graph, or `rust:NAME` for a graph built in Rust"),
    key("graphs.<name>.kind", Shape::Choice(GRAPH_KINDS), None, "format of the file; by default what its name ends in"),
    key("models.<name>.provider", Shape::Provider, None, "who answers; required"),
    key("models.<name>.model", Shape::Text, None, "name of the model at the provider; required for remote ones"),
    key("models.<name>.base_url", Shape::Address, None, "address of the provider, where it is not the usual one"),
    key("models.<name>.api_key", Shape::Secret, None, "key for the provider"),
    key("stores.checkpoints", Shape::Store, Some("memory"), "where threads are kept"),
    key("stores.url", Shape::Secret, None, "address of the database; required for `postgres`"),
    key(
        "stores.durability",
        Shape::Choice(DURABILITIES),
        Some("sync"),
        "when a superstep is on disk: before the next starts, soon after, or only at the end of the run",
    ),
    key("servers.<name>.command", Shape::Words, None, "program and arguments of an MCP server started over stdio"),
    key("servers.<name>.env.<variable>", Shape::Open, None, "variable given to that program"),
    key("servers.<name>.url", Shape::Address, None, "address of an MCP server reached over HTTP"),
    key("server.host", Shape::Text, Some("127.0.0.1"), "address the server listens on"),
    key("server.port", Shape::Count(0, 65_535), Some("8123"), "port the server listens on; 0 takes a free one"),
    key(
        "server.port_in_use",
        Shape::Choice(PORTS_IN_USE),
        Some("error"),
        "what happens when the port is taken: an error, or the next free one",
    ),
    key("server.allowed_hosts", Shape::List, Some("[]"), "names the server may be asked by, besides those of loopback"),
    key("server.allowed_origins", Shape::List, Some("[]"), "origins whose pages may ask the server, besides its own"),
    key("server.body_limit", Shape::Count(1, 1 << 30), Some("65536"), "most bytes of the body of a request"),
    key("server.max_runs", Shape::Count(1, 65_536), Some("256"), "most runs the server drives at once"),
    key("server.drain", Shape::Duration, Some("8s"), "how long supersteps may still take when the server stops"),
    key(
        "server.resume",
        Shape::Choice(RESUMES),
        Some("auto"),
        "runs that died with the server: taken up when it starts, or when somebody asks",
    ),
    key("limits.recursion_limit", Shape::Count(1, MOST_STEPS), Some("25"), "most supersteps of one run"),
    key("limits.max_concurrency", Shape::Count(1, 65_536), None, "most tasks of one superstep that run at once"),
    key("limits.run_timeout", Shape::Duration, None, "longest time of one run"),
    key("limits.node_timeout", Shape::Duration, None, "longest time of one node, where the node sets none"),
];

impl Key {
    /// The parts of the path.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }

    /// The variable that sets it, with names as `<NAME>`.
    pub(crate) fn variable(&self) -> String {
        variable(self.parts())
    }
}

/// Whether a part of a path stands for any name.
pub(crate) fn is_placeholder(part: &str) -> bool {
    part.starts_with('<')
}

/// The environment variable of a dotted path.
pub(crate) fn variable<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_uppercase().replace('-', "_")).collect();
    format!("SUPERSTEP_{}", parts.join("__"))
}

/// The row of a path, if all of its parts are known.
pub(crate) fn find(path: &[&str]) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.parts().count() == path.len() && fits(key, path))
}

/// Whether a path is the beginning of known keys, without being one.
pub(crate) fn is_section(path: &[&str]) -> bool {
    KEYS.iter().any(|key| key.parts().count() > path.len() && fits(key, path))
}

/// The parts that may follow a path, each once.
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

fn fits(key: &Key, path: &[&str]) -> bool {
    key.parts().zip(path).all(|(known, given)| is_placeholder(known) || known == *given)
}

/// The known path that somebody probably meant by an unknown one.
pub(crate) fn suggest(path: &[&str]) -> Option<Vec<String>> {
    let fixed = |is_meant: &dyn Fn(&Key) -> bool| KEYS.iter().find(|key| !key.path.contains('<') && is_meant(key));
    // One underscore where the environment wants two.
    let flat = path.join("_");
    let undivided = fixed(&|key| key.path != path.join(".") && key.path.replace('.', "_") == flat);
    // A key without its section.
    let elsewhere = || fixed(&|key| key.path.rsplit('.').next() == path.last().copied());
    let whole = |key: &Key| key.parts().map(str::to_owned).collect();
    let wrong = (0..path.len()).find(|at| find(&path[..=*at]).is_none() && !is_section(&path[..=*at]))?;
    undivided.map(whole).or_else(|| sibling(path, wrong)).or_else(|| elsewhere().map(whole))
}

/// The path with its first wrong part corrected; what follows is kept as far as it makes sense there.
fn sibling(path: &[&str], wrong: usize) -> Option<Vec<String>> {
    let siblings = children(&path[..wrong]).into_iter().filter(|child| !is_placeholder(child));
    let meant = nearest(path[wrong], siblings)?;
    let corrected = [&path[..wrong], &[meant]].concat();
    let whole = [&corrected[..], &path[wrong + 1..]].concat();
    let makes_sense = find(&whole).is_some() || is_section(&whole);
    Some((if makes_sense { whole } else { corrected }).into_iter().map(str::to_owned).collect())
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
        for (given, expected) in rows {
            let path: Vec<&str> = given.split('.').collect();
            assert_eq!(suggest(&path).map(|parts| parts.join(".")).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn every_default_is_a_value_its_shape_accepts() {
        for key in KEYS {
            let Some(default) = key.default else { continue };
            let read =
                super::super::value::read(key.shape, &super::super::value::Raw::Text(default), &Default::default());
            assert!(read.is_ok(), "{}", key.path);
        }
    }
}
