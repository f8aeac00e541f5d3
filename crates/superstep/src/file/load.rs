//! Files on the disk: a graph file, and the prompts and graphs that stand beside it.
//!
//! Nothing is read outside the folder of the file that names it, also not through links, and nothing without a limit.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::schema::Schema;

use super::check::Checks;
use super::description::{Description, KindData, PromptData};
use super::form::{Form, check};
use super::keys::TOP;
use super::problems::{Problems, Source};
use super::tree::{Format, Kind, Tree, below};
use super::{GraphFile, build};
use crate::model::Prompt;

/// The longest graph file, and the longest prompt, in bytes.
const FILE: u64 = 1024 * 1024;
const PROMPT: u64 = 256 * 1024;

/// How deep graph files may lead to graph files.
const DEPTH: usize = 8;

/// How many files a graph file may lead to, each counted as often as it is named.
const FILES: usize = 1000;

/// Reads a graph file with all it leads to, and remembers which files that were.
#[derive(Default)]
pub(super) struct Loader {
    /// Every file that was looked for, also those that are missing.
    files: Vec<PathBuf>,
    /// The files that are being read, from the outermost in.
    open: Vec<PathBuf>,
    /// The graphs beside the first that were read, by their real paths.
    kept: BTreeMap<PathBuf, Kept>,
}

/// A graph that was read, for the next that names it.
struct Kept {
    graph: Arc<GraphFile>,
    /// What it led to, among the files that were looked for.
    files: Range<usize>,
    /// How deep graph files led from it, itself counted.
    depth: usize,
}

impl Loader {
    /// The files that were looked for, each once, the outermost first.
    pub(super) fn seen(&self) -> Vec<PathBuf> {
        let mut seen: Vec<PathBuf> = Vec::new();
        for file in &self.files {
            if !seen.contains(file) {
                seen.push(file.clone());
            }
        }
        seen
    }

    pub(super) fn open(&mut self, path: &Path) -> Result<GraphFile> {
        self.files.push(path.to_owned());
        let format = format(path)?;
        let unreadable = |why: String| {
            Error::new(Code::InvalidGraph, format!("the graph file `{}` cannot be read: {why}", path.display()))
        };
        let real = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        let text = read(&real, FILE).map_err(unreadable)?;
        let folder = real.parent().map(Path::to_owned);
        self.open.push(real);
        let read = self.parse(Source { name: path.display().to_string(), text }, format, folder.as_deref());
        self.open.pop();
        read
    }

    pub(super) fn parse(&mut self, source: Source, format: Format, folder: Option<&Path>) -> Result<GraphFile> {
        let mut problems = Problems::default();
        if source.text.len() as u64 > FILE {
            problems.at_offset(0, format!("the file is longer than {FILE} bytes"), None);
            return Err(problems.into_error(&source, None));
        }
        let Some(tree) = Tree::parse(&source.text, format, &mut problems) else {
            return Err(problems.into_error(&source, None));
        };
        match self.read(&source, &tree, folder, &mut problems) {
            Some((description, schema)) if problems.is_empty() => {
                Ok(GraphFile { source: Arc::new(source), tree: Arc::new(tree), description, schema, files: Vec::new() })
            }
            _ => Err(problems.into_error(&source, Some(&tree))),
        }
    }

    fn read(
        &mut self,
        source: &Source,
        tree: &Tree,
        folder: Option<&Path>,
        problems: &mut Problems,
    ) -> Option<(Description, Arc<Schema>)> {
        check(&Form::Table(&TOP), tree, "", problems);
        let schema = schema(tree, problems);
        if !problems.is_empty() {
            return None;
        }
        let mut description = match Description::read(tree) {
            Ok(description) => description,
            Err(error) => {
                problems.at("", format!("it cannot be read: {error}"), None);
                return None;
            }
        };
        let version = description.top.version;
        for (name, node) in &mut description.nodes {
            let at = below("/nodes", name);
            let mut prompt = |prompt: &mut PromptData| {
                if let Err(error) = self.prompt((name, version), prompt, folder) {
                    let key = if prompt.file.is_some() { "prompt_file" } else { "prompt" };
                    problems.at(&below(&at, key), error.message(), error.advice().map(str::to_owned));
                }
            };
            match &mut node.kind {
                KindData::Model(model) => prompt(&mut model.prompt),
                KindData::Interrupt(ask) => prompt(&mut ask.prompt),
                KindData::Subgraph(subgraph) => {
                    let Some(file) = &subgraph.file else { continue };
                    let at = below(&at, "file");
                    match self.inside(folder, file).and_then(|path| self.graph(source, file, &path)) {
                        Ok(graph) => subgraph.read = Some(graph),
                        Err(error) => problems.of_file(&at, &error),
                    }
                }
                _ => {}
            }
        }
        let schema = schema?;
        Checks { description: &description, schema: &schema, problems }.run();
        if problems.is_empty() {
            build::check(&description, &schema, problems);
        }
        Some((description, schema))
    }

    /// A graph in a file beside this one.
    fn graph(&mut self, source: &Source, name: &str, path: &Path) -> Result<Arc<GraphFile>> {
        let wrong = |fact: String| Error::new(Code::InvalidGraph, fact);
        if self.open.iter().any(|open| open == path) {
            return Err(wrong(format!("`{name}` leads back to itself")).help("a graph cannot contain itself"));
        }
        let kept = self.kept.get(path);
        if self.open.len() + kept.map_or(1, |kept| kept.depth) > DEPTH {
            return Err(wrong(format!("graph files lead to graph files more than {DEPTH} deep")));
        }
        if let Some(Kept { graph, files, .. }) = kept {
            self.files.extend_from_within(files.clone());
            return if self.files.len() > FILES + 1 { Err(too_many()) } else { Ok(Arc::clone(graph)) };
        }
        let format = format(path)?;
        let text = read(path, FILE).map_err(|why| wrong(format!("`{name}` cannot be read: {why}")))?;
        let shown = Path::new(&source.name).parent().unwrap_or(Path::new("")).join(name);
        let before = self.files.len();
        self.open.push(path.to_owned());
        let graph = self.parse(Source { name: shown.display().to_string(), text }, format, path.parent());
        self.open.pop();
        let graph = Arc::new(graph?);
        let kept = Kept { graph: Arc::clone(&graph), files: before..self.files.len(), depth: depth(&graph) };
        self.kept.insert(path.to_owned(), kept);
        Ok(graph)
    }

    /// Reads the prompt of a node, where it has one.
    fn prompt(&mut self, (node, version): (&str, u32), prompt: &mut PromptData, folder: Option<&Path>) -> Result<()> {
        let read = match (&prompt.text, &prompt.file) {
            (Some(text), None) => inline(node, version, text),
            (None, Some(file)) => self.prompt_file(folder, file),
            _ => return Ok(()),
        };
        prompt.read = Some(read?);
        Ok(())
    }

    fn prompt_file(&mut self, folder: Option<&Path>, file: &str) -> Result<Prompt> {
        let path = self.inside(folder, file)?;
        let wrong = |fact: String| Error::new(Code::InvalidGraph, fact);
        let text = read(&path, PROMPT).map_err(|why| wrong(format!("`{file}` cannot be read: {why}")))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Prompt::named(&text, stem).map_err(|error| {
            let fact = wrong(format!("`{file}`: {}", error.message()));
            error.advice().into_iter().fold(fact, Error::help)
        })
    }

    /// The real path of a file in the folder, or below it.
    fn inside(&mut self, folder: Option<&Path>, file: &str) -> Result<PathBuf> {
        let wrong = |fact: String| Error::new(Code::InvalidGraph, fact);
        let Some(folder) = folder else {
            let help = "open the graph as a file: `GraphFile::open(path)`";
            return Err(wrong(format!("`{file}` stands beside nothing: the graph is not in a file")).help(help));
        };
        let leaves = || {
            wrong(format!("`{file}` leads out of the folder of the graph file"))
                .help("keep it beside the file or below")
        };
        if Path::new(file).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(leaves());
        }
        if self.files.len() > FILES {
            return Err(too_many());
        }
        let path = folder.join(file);
        self.files.push(path.clone());
        let real = path.canonicalize().map_err(|error| wrong(format!("`{file}` cannot be read: {error}")))?;
        if real.starts_with(folder) { Ok(real) } else { Err(leaves()) }
    }
}

fn too_many() -> Error {
    Error::new(Code::InvalidGraph, format!("graph files lead to more than {FILES} files"))
        .help("a file counts as often as it is named")
}

/// How deep graph files lead from this one, itself counted.
fn depth(graph: &GraphFile) -> usize {
    let inner = graph.description.nodes.iter().filter_map(|(_, node)| match &node.kind {
        KindData::Subgraph(data) => data.read.as_deref().map(depth),
        _ => None,
    });
    1 + inner.max().unwrap_or_default()
}

/// The fields of the state; what is wrong with them has a place in the file.
fn schema(tree: &Tree, problems: &mut Problems) -> Option<Arc<Schema>> {
    let state = tree.get("state").filter(|state| matches!(state.kind, Kind::Map(_)))?;
    let name = tree.get("name").map(Tree::to_json);
    let version =
        tree.get("version").and_then(|tree| tree.to_json().as_u64()).and_then(|version| version.try_into().ok());
    for entry in state.entries().iter().filter(|entry| !matches!(entry.value.kind, Kind::Map(_))) {
        let help = Some("write the options in a table, such as `{ type = \"string\" }`".to_owned());
        problems.at(&below("/state", &entry.key), format!("field `{}` is not a table", entry.key), help);
    }
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
    let built = Schema::builder(name).version(version.unwrap_or(1)).fields_from_json(&state.to_json()).build();
    match built {
        Ok(schema) => Some(schema),
        Err(error) => {
            for problem in error.problems() {
                let at = format!("/state{}", problem.pointer);
                match problem.message.starts_with("unknown option") {
                    true => problems.at_key(&at, problem.message.clone(), problem.help.clone()),
                    false => problems.at(&at, problem.message.clone(), problem.help.clone()),
                }
            }
            None
        }
    }
}

/// A prompt that stands in the file: its name is the node's, its version that of the state.
pub(super) fn inline(node: &str, version: u32, text: &str) -> Result<Prompt> {
    if text.len() as u64 > PROMPT {
        return Err(Error::new(Code::InvalidGraph, format!("the prompt is longer than {PROMPT} bytes")));
    }
    let name: String =
        node.chars().map(|letter| if letter.is_whitespace() || letter == '@' { '_' } else { letter }).collect();
    Prompt::new(if name.is_empty() { "prompt".to_owned() } else { name }, version.to_string(), text)
}

fn format(path: &Path) -> Result<Format> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Ok(Format::Toml),
        Some("json") => Ok(Format::Json),
        _ => {
            let fact = format!("`{}` is no graph file by its name", path.display());
            Err(Error::new(Code::InvalidGraph, fact).help("its name ends in `.toml` or `.json`"))
        }
    }
}

fn read(path: &Path, most: u64) -> Result<String, String> {
    let is_file = |looked: std::io::Result<Metadata>| match looked {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err("it is not a file".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    // Before, because to open a pipe waits for a writer; after, because then it is the same file.
    is_file(std::fs::metadata(path))?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    is_file(file.metadata())?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is longer than {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}
