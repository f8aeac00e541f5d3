//! A debate of a model that really talks. `cargo xtask model` gets it; `SUPERSTEP_WEIGHTS` says where it is.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Folder;

const TOPIC: &str = "Should AI be regulated?";

/// R-CLI-3, R-CLI-17, R-DEB-45, R-FWK-74: a debate spoken by weights, without a network: every turn has words of the model and
/// says who spoke, and so does what is kept.
#[test]
fn a_debate_is_spoken_by_weights() {
    let (folder, weights) = (Folder::new("real"), PathBuf::from(std::env::var_os("SUPERSTEP_WEIGHTS").unwrap()));
    let words = "demo debate --model weights --rounds 1 --seed 3 --offline --json --topic".split(' ').chain([TOPIC]);
    let said = folder.run(Some(weights.clone()), &words.collect::<Vec<_>>());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let done: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(done["output"]["status"], "completed");
    let turns: Vec<&Value> = done["output"]["messages"].as_array().unwrap().iter().skip(1).collect();
    let names: Vec<&Value> = turns.iter().map(|turn| &turn["name"]).collect();
    assert_eq!(names, ["optimist", "skeptic", "moderator"]);
    for turn in &turns {
        let text = turn["content"].as_str().unwrap();
        println!("{}: {text}", turn["name"]);
        assert!(text.split_whitespace().count() > 5, "{turn}");
        let model = &turn["metadata"]["model"];
        assert_eq!((&model["provider"], &model["kind"]), (&json!("local"), &json!("weights")), "{turn}");
        assert!(model["name"].as_str().is_some_and(|name| !name.is_empty()), "{turn}");
        // A turn has an end: two or three sentences, not a page.
        assert!(turn["usage"]["output_tokens"].as_u64().unwrap() <= 120, "{turn}");
    }
    let kept = folder.run(Some(weights), &["state", done["thread"].as_str().unwrap(), "--json"]);
    let kept: Value = serde_json::from_str(&kept.stdout).unwrap_or_else(|error| panic!("{error}: {}", kept.stderr));
    assert_eq!(kept["values"]["messages"][1]["metadata"]["model"], turns[0]["metadata"]["model"], "{kept}");
}
