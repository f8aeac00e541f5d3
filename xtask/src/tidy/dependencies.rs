//! Rules for the direction of dependencies, checked with Cargo's output instead of the manifests.
//!
//! Development dependencies are not checked: tests may use crates that the crate itself may not.

use std::collections::BTreeSet;

use serde_json::Value;

/// Reports forbidden crates in a dependency tree of `name version` pairs.
pub(super) fn forbidden_crates(package: &str, tree: &BTreeSet<String>, forbidden: &[&str]) -> Vec<String> {
    let names = tree.iter().filter_map(|pair| pair.split(' ').next());
    names.filter(|name| forbidden.contains(name)).map(|name| format!("`{package}` has `{name}` in its tree")).collect()
}

/// Reports workspace crates that a package depends on and that are not allowed.
pub(super) fn uses_only(metadata: &Value, package: &str, allowed: &[&str]) -> Vec<String> {
    let ours: Vec<&str> = packages(metadata)
        .filter(|entry| entry["source"].is_null())
        .filter_map(|entry| entry["name"].as_str())
        .collect();
    let Some(subject) = packages(metadata).find(|entry| entry["name"] == package) else { return Vec::new() };
    let used =
        list(&subject["dependencies"]).filter(|used| used["kind"] != "dev").filter_map(|used| used["name"].as_str());
    used.filter(|name| ours.contains(name) && !allowed.contains(name))
        .map(|name| format!("`{package}` uses `{name}`"))
        .collect()
}

/// Returns the packages of `cargo metadata`.
pub(super) fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(&metadata["packages"])
}

/// Returns the items of a JSON array; none for other values.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_forbidden_crate_in_the_tree_is_named() {
        let tree =
            BTreeSet::from(["serde 1.0.0".to_owned(), "tokio 1.48.0".to_owned(), "tokio-macros 2.0.0".to_owned()]);
        assert_eq!(
            forbidden_crates("superstep-core", &tree, &["tokio", "rand"]),
            ["`superstep-core` has `tokio` in its tree"]
        );
        assert!(forbidden_crates("superstep-core", &tree, &["rand"]).is_empty());
    }

    #[test]
    fn a_dependency_that_points_the_wrong_way_is_named() {
        let metadata = json!({ "packages": [
            { "name": "superstep", "source": null, "dependencies": [] },
            { "name": "superstep-core", "source": null, "dependencies": [{ "name": "serde", "kind": null }] },
            { "name": "superstep-adapters", "source": null, "dependencies": [
                { "name": "superstep-core", "kind": null },
                { "name": "superstep", "kind": null },
                { "name": "superstep", "kind": "dev" },
            ] },
        ] });
        let adapters = uses_only(&metadata, "superstep-adapters", &["superstep-core"]);
        assert_eq!(adapters, ["`superstep-adapters` uses `superstep`"]);
        assert!(uses_only(&metadata, "superstep-core", &[]).is_empty());
    }
}
