//! Rules for external crates: bans and allowed licences of `deny.toml`, registry sources only, a maximum number.
//!
//! Needs no advisory database and no network, so the rules apply on every machine. Reads the same `deny.toml` as
//! cargo-deny, and rejects entries with unknown keys instead of ignoring them.

use std::collections::BTreeSet;

use semver::{Prerelease, Version, VersionReq};
use serde_json::Value;
use toml::Table;

use super::dependencies::packages;
use crate::workspace::File;

/// Maximum number of crates in the tree, including those of the workspace.
const MAX_CRATES: usize = 380;

/// The lock files, each with the banned crates that it may contain.
const LOCKS: [(&str, &[&str]); 2] = [
    ("Cargo.lock", &[]),
    // The kernels of candle use the unmaintained macro `paste`, which runs only at compile time.
    ("crates/superstep-weights/Cargo.lock", &["paste"]),
];

/// Reports locked crates that `deny.toml` bans.
pub(super) fn banned_versions(files: &[File]) -> Vec<String> {
    find_banned_versions(files).unwrap_or_else(|problem| vec![problem])
}

fn find_banned_versions(files: &[File]) -> Result<Vec<String>, String> {
    let deny = table(files, "deny.toml")?;
    let bans = deny.get("bans").and_then(|bans| bans.get("deny")).and_then(toml::Value::as_array);
    let bans = bans.ok_or("deny.toml has no list `bans.deny`")?;
    let bans: Vec<Ban> = bans.iter().map(Ban::read).collect::<Result<_, _>>()?;
    let mut problems = Vec::new();
    for (path, exceptions) in LOCKS {
        let lock = table(files, path)?;
        for (name, version) in locked(&lock).filter(|(name, _)| !exceptions.contains(name)) {
            let version = Version::parse(version).map_err(|error| format!("{path}: `{name}` {version}: {error}"))?;
            let broken = bans.iter().filter(|ban| ban.name == name && ban.matches(&version));
            problems.extend(broken.map(|ban| format!("`{name}` {version} is banned: {}", ban.reason)));
        }
    }
    Ok(problems)
}

/// One entry of `bans.deny`.
struct Ban {
    name: String,
    versions: VersionReq,
    reason: String,
}

impl Ban {
    fn read(entry: &toml::Value) -> Result<Self, String> {
        let text = |key: &str| entry.get(key).and_then(toml::Value::as_str);
        let keys = entry.as_table().into_iter().flat_map(Table::keys);
        if let Some(key) = keys.into_iter().find(|key| !["name", "version", "reason"].contains(&key.as_str())) {
            return Err(format!("deny.toml: `{key}` in `{entry}`: write `name`, `version` and `reason`"));
        }
        let name = text("name").ok_or_else(|| format!("deny.toml: `{entry}` has no `name`"))?;
        let versions = VersionReq::parse(text("version").unwrap_or("*"));
        let versions = versions.map_err(|error| format!("deny.toml: `{name}`: {error}"))?;
        let reason = text("reason").ok_or_else(|| format!("deny.toml: the ban of `{name}` has no reason"))?;
        Ok(Self { name: name.into(), versions, reason: reason.into() })
    }

    fn matches(&self, version: &Version) -> bool {
        // A requirement without a pre-release never matches pre-releases, so they are also compared as releases.
        let release = Version { pre: Prerelease::EMPTY, ..version.clone() };
        self.versions.matches(version) || (!version.pre.is_empty() && self.versions.matches(&release))
    }
}

/// Reports dependencies whose licence is not on the list of `deny.toml`.
pub(super) fn licences(files: &[File], metadata: &Value) -> Vec<String> {
    let deny = match table(files, "deny.toml") {
        Ok(deny) => deny,
        Err(problem) => return vec![problem],
    };
    let list = deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let allowed: Vec<&str> = list.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let external = packages(metadata).filter(|package| !package["source"].is_null());
    let rejected =
        external.filter(|package| !package["license"].as_str().is_some_and(|licence| is_allowed(licence, &allowed)));
    rejected.map(|package| format!("{} has the licence {}", package["name"], package["license"])).collect()
}

/// Returns true if allowed licences satisfy an SPDX expression: one side of `OR` (or the old `/`), both sides of `AND`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ").replace(" or ", " OR ").replace(" and ", " AND ");
    let expression = expression.trim();
    let either = split_outside_brackets(expression, " OR ");
    if either.len() > 1 {
        return either.into_iter().any(|side| is_allowed(side, allowed));
    }
    let both = split_outside_brackets(expression, " AND ");
    if both.len() > 1 {
        return both.into_iter().all(|side| is_allowed(side, allowed));
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_allowed(inner, allowed),
        // `X+` means "X or later", which X itself satisfies.
        None => allowed.contains(&expression) || allowed.contains(&expression.trim_end_matches('+')),
    }
}

fn split_outside_brackets<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (offset, _) in text.match_indices(word) {
        let before = &text[..offset];
        if before.matches('(').count() == before.matches(')').count() {
            parts.push(&text[start..offset]);
            start = offset + word.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Reports dependencies from git repositories, and a tree with too many crates.
pub(super) fn sources(files: &[File], tree: &BTreeSet<String>) -> Vec<String> {
    let from_git = |package: &&toml::Value| {
        package.get("source").and_then(toml::Value::as_str).is_some_and(|source| source.starts_with("git+"))
    };
    let mut problems = Vec::new();
    for (path, _) in LOCKS {
        match table(files, path) {
            Ok(lock) => {
                let external = entries(&lock).filter(from_git);
                problems.extend(external.map(|package| format!("{} comes from a git repository", package["name"])));
            }
            Err(problem) => problems.push(problem),
        }
    }
    if tree.len() > MAX_CRATES {
        problems.push(format!("the tree has {} crates; {MAX_CRATES} is the limit", tree.len()));
    }
    problems
}

fn table(files: &[File], path: &str) -> Result<Table, String> {
    let file = files.iter().find(|file| file.path == path).ok_or_else(|| format!("{path} is missing"))?;
    file.text.parse().map_err(|error| format!("{path}: {error}"))
}

fn entries(lock: &Table) -> impl Iterator<Item = &toml::Value> {
    lock.get("package").and_then(toml::Value::as_array).into_iter().flatten()
}

fn locked(lock: &Table) -> impl Iterator<Item = (&str, &str)> {
    entries(lock).filter_map(|package| Some((package.get("name")?.as_str()?, package.get("version")?.as_str()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(deny: &str, name: &str, version: &str) -> [File; 3] {
        let lock = format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        [File::fake("deny.toml", deny), File::fake("Cargo.lock", &lock), File::fake(LOCKS[1].0, "")]
    }

    #[test]
    fn banned_versions_are_rejected() {
        let deny = include_str!("../../../deny.toml");
        let check = |name: &str, version: &str, count: usize| {
            assert_eq!(banned_versions(&files(deny, name, version)).len(), count, "{name} {version}");
        };
        check("rmcp", "1.3.0", 1);
        check("rmcp", "1.3.0-beta.1", 1);
        check("rmcp", "1.4.0", 0);
        check("rustls", "0.23.44", 1);
        check("rustls", "0.24.0-dev.2", 1);
        check("rustls", "0.23.45", 0);
        check("rustls-webpki", "0.103.12", 1);
        check("tracing-subscriber", "0.3.19", 1);
        check("quick-xml", "0.40.1", 1);
        check("bincode", "2.0.1", 1);
        check("paste", "1.0.15", 1);
        check("number_prefix", "0.4.0", 1);
        check("serde", "1.0.0", 0);
    }

    #[test]
    fn every_lock_file_is_checked_with_its_own_exceptions() {
        let deny = include_str!("../../../deny.toml");
        let check = |name: &str, count: usize| {
            let mut files = files(deny, name, "1.0.15");
            assert_eq!(banned_versions(&files).len(), 1, "{name}");
            files[2].text = std::mem::take(&mut files[1].text);
            assert_eq!(banned_versions(&files).len(), count, "{name}");
        };
        check("paste", 0);
        check("bincode", 1);
    }

    #[test]
    fn an_entry_that_would_ban_nothing_is_rejected() {
        let deny = "[bans]\ndeny = [{ crate = \"rmcp@<1.4.0\", reason = \"x\" }]\n";
        let problems = banned_versions(&files(deny, "rmcp", "1.3.0"));
        assert!(problems[0].starts_with("deny.toml: `crate` in"), "{problems:?}");
        assert_eq!(banned_versions(&files("", "rmcp", "1.3.0")), ["deny.toml has no list `bans.deny`"]);
    }

    #[test]
    fn a_licence_must_be_allowed_in_one_reading() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        let check = |licence: &str, expected: bool| assert_eq!(is_allowed(licence, &allowed), expected, "{licence}");
        check("MIT", true);
        check("MIT/GPL-3.0", true);
        check("GPL-3.0 OR Apache-2.0", true);
        check("GPL-3.0 or MIT", true);
        check("(MIT OR GPL-3.0) AND Unicode-3.0", true);
        check("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true);
        check("Apache-2.0+", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR Apache-2.0) AND (GPL-3.0 OR LGPL-3.0)", false);
    }

    #[test]
    fn a_dependency_under_another_licence_is_named() {
        let deny = [File::fake("deny.toml", "[licenses]\nallow = [\"MIT\"]\n")];
        let metadata = json!({ "packages": [
            { "name": "a", "source": "registry", "license": "GPL-3.0" },
            { "name": "b", "source": "registry", "license": null },
            { "name": "c", "source": "registry", "license": "MIT" },
            { "name": "ours", "source": null, "license": null },
        ] });
        assert_eq!(licences(&deny, &metadata), ["\"a\" has the licence \"GPL-3.0\"", "\"b\" has the licence null"]);
    }

    #[test]
    fn git_sources_and_too_many_crates_are_rejected() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://example.org/a\"\n";
        let tree: BTreeSet<String> = (0..=MAX_CRATES).map(|number| format!("crate-{number} 1.0.0")).collect();
        let problems = sources(&[File::fake("Cargo.lock", lock), File::fake(LOCKS[1].0, "")], &tree);
        let too_many = format!("the tree has {} crates; {MAX_CRATES} is the limit", MAX_CRATES + 1);
        assert_eq!(problems, ["\"a\" comes from a git repository".to_owned(), too_many]);
    }
}
