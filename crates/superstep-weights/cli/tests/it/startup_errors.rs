//! Tests of the errors without a usable model: they name the missing file and how to get one. Nothing is
//! downloaded.

use crate::support::Folder;

const DEBATE: [&str; 6] = ["demo", "debate", "--rounds", "1", "--model", "weights"];

fn assert_rejected(folder: &Folder, weights: Option<&str>, args: &[&str], message: &str, help: &str) {
    let output = folder.run(weights.map(Into::into), args);
    assert_eq!((output.code, output.stdout.as_str()), (Some(78), ""), "{}", output.stderr);
    assert!(output.stderr.starts_with(&format!("error[SS-027]: {message}")), "{}", output.stderr);
    assert!(output.stderr.contains(help), "{}", output.stderr);
}

/// R-CLI-3, R-FWK-74: without a file, or with an invalid one, a debate does not start, and the error says how to
/// get a model.
#[test]
fn a_debate_without_weights_explains_how_to_get_a_model() {
    let folder = Folder::new("missing");
    folder.write("text.gguf", "not a model");
    let files = folder.files();
    assert_rejected(&folder, None, &DEBATE, "`SUPERSTEP_WEIGHTS` is not set", "cargo xtask model");
    assert_rejected(
        &folder,
        Some("nowhere.gguf"),
        &DEBATE,
        "weights file `nowhere.gguf` not found",
        "cargo xtask model",
    );
    assert_rejected(
        &folder,
        Some("text.gguf"),
        &DEBATE,
        "`text.gguf` is not a usable weights file",
        "cargo xtask model",
    );
    assert_eq!(folder.files(), files, "a file was created or downloaded");
}

/// R-CLI-3: a model of the settings is loaded from its own file, whatever the environment contains.
#[test]
fn a_model_of_the_settings_names_its_own_file() {
    let folder = Folder::new("settings");
    folder.write("superstep.toml", "models.own = { provider = 'local/weights', model = 'own.gguf' }");
    let output = folder.run(Some("other.gguf".into()), &["demo", "debate", "--model", "own"]);
    assert_eq!(output.code, Some(78), "{}", output.stderr);
    assert!(output.stderr.contains("weights file `own.gguf` not found"), "{}", output.stderr);
}

/// R-CLI-3: other models need no weights.
#[test]
fn other_models_need_no_weights() {
    let output = Folder::new("rules").run(None, &["demo", "debate", "--rounds", "1", "--seed", "3", "--offline"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.starts_with("debate · rule-based voices, no language model · "), "{}", output.stdout);
}
