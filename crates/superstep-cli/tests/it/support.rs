//! Test fixture: a temporary folder for one test, and the binary in it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use regex::Regex;

/// Settings of most tests: three graphs, two models.
const SETTINGS: &str = r#"
graphs.titles.path = "titles.toml"
graphs.review.path = "review.toml"
graphs.talk.path = "talk.toml"
models.small = { provider = "scripted", model = "replies.txt" }
models.echo = { provider = "local/rules" }
models.far = { provider = "openai", model = "gpt" }
"#;

const TITLES: &str = r#"
name = "titles"
state.text = { type = "string", required = true }
state.title = { type = "string" }
nodes.title = { kind = "model", model = "small", prompt = "Write a title for: {{text}}", output = "title" }
nodes.shout = { kind = "set", templates = { text = "{{title}}!" } }
edges = [{ from = "START", to = "title" }, { from = "title", to = "shout" }, { from = "shout", to = "END" }]
"#;

/// Graph whose file has another name than the settings.
const REVIEW: &str = r#"
name = "review of drafts"
state.draft = { type = "string" }
state.approved = { type = "boolean" }
nodes.review = { kind = "interrupt", prompt = "Send this answer?", payload_fields = ["draft"], resume_type = "boolean", output = "approved" }
edges = [{ from = "START", to = "review" }, { from = "review", to = "END" }]
"#;

/// Graph that calls a network model.
const TALK: &str = r#"
name = "talk"
state.text = { type = "string", required = true }
state.said = { type = "string" }
nodes.note = { kind = "set", templates = { text = "{{text}}, please" } }
nodes.say = { kind = "model", model = "far", prompt = "{{text}}", output = "said" }
edges = [{ from = "START", to = "note" }, { from = "note", to = "say" }, { from = "say", to = "END" }]
"#;

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder.
    pub(crate) fn empty(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-cli-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Creates a folder with the graphs `titles`, `review` and `talk`.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Self::empty(name);
        let files = [
            ("superstep.toml", SETTINGS),
            ("titles.toml", TITLES),
            ("review.toml", REVIEW),
            ("talk.toml", TALK),
            ("replies.txt", "Foxes and dogs\nAnother\n"),
        ];
        files.iter().for_each(|(file, text)| folder.write(file, text));
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    /// Replaces the model `far` of the settings.
    pub(crate) fn set_far(&self, model: &str) {
        let before = "models.far = { provider = \"openai\", model = \"gpt\" }";
        self.write("superstep.toml", &SETTINGS.replace(before, &format!("models.far = {model}")));
    }

    /// Creates a command for the binary in this folder, independent of the environment of this process.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let variables = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "OPENAI_API_KEY"];
        for variable in variables.into_iter().chain(["SUPERSTEP_WEIGHTS", "SUPERSTEP_ASSISTANT", "SUPERSTEP_FAMILY"]) {
            command.env_remove(variable);
        }
        command.env("TZ", "UTC").env("TERM", "xterm");
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).output().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Output and exit code of a process.
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl CommandOutput {
    /// Returns all output with ids and times as placeholders, for snapshots.
    pub(crate) fn snapshot_text(&self) -> String {
        let text = format!("{}---\n{}[exit {}]", self.stdout, self.stderr, self.code);
        normalize(&text)
    }

    /// Parses stdout as one JSON document.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Parses each line of stdout as JSON.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Starts a provider that accepts requests and never responds, and returns the settings of a model that uses it.
pub(crate) fn silent_provider() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, format!("{{ provider = \"openai\", model = \"x\", base_url = \"http://{address}/v1\" }}"))
}

/// Replaces everything that differs from run to run.
pub(crate) fn normalize(text: &str) -> String {
    let rules = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[when]"),
        (r"\d+\.\d s\b", "[time]"),
        (r"(titles|review|talk|debate)-[0-9a-f]{6}", "$1-[id]"),
        (r"\d+ tokens?", "[tokens]"),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, name)| {
        Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned()
    })
}
