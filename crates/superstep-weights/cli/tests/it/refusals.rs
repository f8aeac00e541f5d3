//! Tests of the errors without a usable model: they name the missing file and how to get one. Nothing is
//! downloaded.

use crate::support::Folder;

const DEBATE: [&str; 6] = ["demo", "debate", "--rounds", "1", "--model", "weights"];

fn refused(folder: &Folder, weights: Option<&str>, words: &[&str], fact: &str, help: &str) {
    let said = folder.run(weights.map(Into::into), words);
    assert_eq!((said.code, said.stdout.as_str()), (Some(78), ""), "{}", said.stderr);
    assert!(said.stderr.starts_with(&format!("error[SS-027]: {fact}")), "{}", said.stderr);
    assert!(said.stderr.contains(help), "{}", said.stderr);
}

/// R-CLI-3, R-FWK-74: without a file, or with an invalid one, a debate does not start, and the error says how to
/// get a model.
#[test]
fn a_debate_without_weights_says_how_to_get_them() {
    let folder = Folder::new("missing");
    folder.write("text.gguf", "not a model");
    let files = folder.files();
    refused(&folder, None, &DEBATE, "`SUPERSTEP_WEIGHTS` is not set", "cargo xtask model");
    refused(&folder, Some("nowhere.gguf"), &DEBATE, "there are no weights at `nowhere.gguf`", "cargo xtask model");
    refused(&folder, Some("text.gguf"), &DEBATE, "`text.gguf` cannot be used as weights", "cargo xtask model");
    assert_eq!(folder.files(), files, "nothing was made, and nothing fetched");
}

/// R-CLI-3: a model of the settings is loaded from its own file, whatever the environment contains.
#[test]
fn a_model_of_the_settings_names_its_own_file() {
    let folder = Folder::new("settings");
    folder.write("superstep.toml", "models.own = { provider = 'local/weights', model = 'own.gguf' }");
    let said = folder.run(Some("other.gguf".into()), &["demo", "debate", "--model", "own"]);
    assert_eq!(said.code, Some(78), "{}", said.stderr);
    assert!(said.stderr.contains("there are no weights at `own.gguf`"), "{}", said.stderr);
}

/// R-CLI-3: other models need no weights.
#[test]
fn other_voices_need_no_weights() {
    let said = Folder::new("rules").run(None, &["demo", "debate", "--rounds", "1", "--seed", "3", "--offline"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.starts_with("debate · rule-based voices, no language model · "), "{}", said.stdout);
}
