//! Test of a debate with a real model. `cargo xtask model` downloads the model; `SUPERSTEP_WEIGHTS` contains its
//! path.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Folder;

const TOPIC: &str = "Should AI be regulated?";

/// R-CLI-3, R-CLI-17, R-DEB-45, R-FWK-74: a debate with local weights, offline: every turn has text of the model
/// and names the model, and so does the stored state.
#[test]
fn a_debate_uses_local_weights() {
    let (folder, weights) = (Folder::new("real"), PathBuf::from(std::env::var_os("SUPERSTEP_WEIGHTS").unwrap()));
    let args = "demo debate --model weights --rounds 1 --seed 3 --offline --json --topic".split(' ').chain([TOPIC]);
    let output = folder.run(Some(weights.clone()), &args.collect::<Vec<_>>());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let finished: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(finished["output"]["status"], "completed");
    let turns: Vec<&Value> = finished["output"]["messages"].as_array().unwrap().iter().skip(1).collect();
    let names: Vec<&Value> = turns.iter().map(|turn| &turn["name"]).collect();
    assert_eq!(names, ["optimist", "skeptic", "moderator"]);
    for turn in &turns {
        let text = turn["content"].as_str().unwrap();
        println!("{}: {text}", turn["name"]);
        assert!(text.split_whitespace().count() > 5, "{turn}");
        let model = &turn["metadata"]["model"];
        assert_eq!((&model["provider"], &model["kind"]), (&json!("local"), &json!("weights")), "{turn}");
        assert!(model["name"].as_str().is_some_and(|name| !name.is_empty()), "{turn}");
        // A turn ends by itself: two or three sentences, not a page.
        assert!(turn["usage"]["output_tokens"].as_u64().unwrap() <= 120, "{turn}");
    }
    let stored = folder.run(Some(weights), &["state", finished["thread"].as_str().unwrap(), "--json"]);
    let state: Value =
        serde_json::from_str(&stored.stdout).unwrap_or_else(|error| panic!("{error}: {}", stored.stderr));
    assert_eq!(state["values"]["messages"][1]["metadata"]["model"], turns[0]["metadata"]["model"], "{state}");
}
