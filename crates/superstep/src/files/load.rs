//! Loading of graph files from disk, with the prompts and graphs that they reference.
//!
//! Only files in the folder of the referencing file are read, also through symbolic links, and every size is limited.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::schema::Schema;

use super::check::FileChecker;
use super::diagnostics::{Diagnostics, SourceText};
use super::keys::TOP_LEVEL_KEYS;
use super::model::{GraphFileModel, NodeKindConfig, PromptConfig};
use super::spanned::{FileFormat, SpannedKind, SpannedValue, below};
use super::value_type::{ValueType, check};
use super::{GraphFile, build};
use crate::models::Prompt;

/// Maximum size of a graph file and of a prompt, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_PROMPT_BYTES: u64 = 256 * 1024;

/// Maximum nesting of graph files.
const MAX_DEPTH: usize = 8;

/// Maximum number of referenced files, each counted as often as it is named.
const MAX_FILES: usize = 1000;

/// Reads a graph file with all files that it references, and records their paths.
#[derive(Default)]
pub(super) struct FileLoader {
    /// All files that were looked up, including missing ones.
    files: Vec<PathBuf>,
    /// Files that are being read, the outermost first.
    load_stack: Vec<PathBuf>,
    /// Referenced graphs that were read, by their resolved paths.
    loaded_graphs: BTreeMap<PathBuf, LoadedGraph>,
}

/// A loaded graph, reused for further references.
struct LoadedGraph {
    graph: Arc<GraphFile>,
    /// Files that the graph references, as a range of the looked-up files.
    files: Range<usize>,
    /// Nesting depth of the graph, including itself.
    depth: usize,
}

impl FileLoader {
    /// Returns the looked-up files without duplicates, the outermost first.
    pub(super) fn looked_up(&self) -> Vec<PathBuf> {
        let mut unique: Vec<PathBuf> = Vec::new();
        for file in &self.files {
            if !unique.contains(file) {
                unique.push(file.clone());
            }
        }
        unique
    }

    pub(super) fn open(&mut self, path: &Path) -> Result<GraphFile> {
        self.files.push(path.to_owned());
        let format = format(path)?;
        let unreadable = |reason: String| {
            Error::new(ErrorCode::InvalidGraph, format!("failed to read graph file `{}`: {reason}", path.display()))
        };
        let resolved = path.canonicalize().map_err(|error| unreadable(error.to_string()))?;
        let text = read(&resolved, MAX_FILE_BYTES).map_err(unreadable)?;
        let folder = resolved.parent().map(Path::to_owned);
        self.load_stack.push(resolved);
        let read = self.parse(SourceText { name: path.display().to_string(), text }, format, folder.as_deref());
        self.load_stack.pop();
        read
    }

    pub(super) fn parse(&mut self, source: SourceText, format: FileFormat, folder: Option<&Path>) -> Result<GraphFile> {
        let mut diagnostics = Diagnostics::default();
        if source.text.len() as u64 > MAX_FILE_BYTES {
            diagnostics.at_offset(0, format!("the file is longer than {MAX_FILE_BYTES} bytes"), None);
            return Err(diagnostics.into_error(&source, None));
        }
        let Some(tree) = SpannedValue::parse(&source.text, format, &mut diagnostics) else {
            return Err(diagnostics.into_error(&source, None));
        };
        match self.read(&source, &tree, folder, &mut diagnostics) {
            Some((description, schema)) if diagnostics.is_empty() => {
                Ok(GraphFile { source: Arc::new(source), tree: Arc::new(tree), description, schema, files: Vec::new() })
            }
            _ => Err(diagnostics.into_error(&source, Some(&tree))),
        }
    }

    fn read(
        &mut self,
        source: &SourceText,
        tree: &SpannedValue,
        folder: Option<&Path>,
        diagnostics: &mut Diagnostics,
    ) -> Option<(GraphFileModel, Arc<Schema>)> {
        check(&ValueType::Table(&TOP_LEVEL_KEYS), tree, "", diagnostics);
        let schema = schema(tree, diagnostics);
        if !diagnostics.is_empty() {
            return None;
        }
        let mut description = match GraphFileModel::read(tree) {
            Ok(description) => description,
            Err(error) => {
                diagnostics.at("", format!("unreadable: {error}"), None);
                return None;
            }
        };
        let version = description.top.version;
        for (name, node) in &mut description.nodes {
            let at = below("/nodes", name);
            let mut prompt = |prompt: &mut PromptConfig| {
                if let Err(error) = self.prompt((name, version), prompt, folder) {
                    let key = if prompt.file.is_some() { "prompt_file" } else { "prompt" };
                    diagnostics.at(&below(&at, key), error.message(), error.help().map(str::to_owned));
                }
            };
            match &mut node.kind {
                NodeKindConfig::Model(model) => prompt(&mut model.prompt),
                NodeKindConfig::Interrupt(interrupt) => prompt(&mut interrupt.prompt),
                NodeKindConfig::Subgraph(subgraph) => {
                    let Some(file) = &subgraph.file else { continue };
                    let at = below(&at, "file");
                    match self.resolve_in_folder(folder, file).and_then(|path| self.graph(source, file, &path)) {
                        Ok(graph) => subgraph.read = Some(graph),
                        Err(error) => diagnostics.add_file_error(&at, &error),
                    }
                }
                _ => {}
            }
        }
        let schema = schema?;
        FileChecker { description: &description, schema: &schema, diagnostics }.run();
        if diagnostics.is_empty() {
            build::check(&description, &schema, diagnostics);
        }
        Some((description, schema))
    }

    /// Loads a graph from a referenced file.
    fn graph(&mut self, source: &SourceText, name: &str, path: &Path) -> Result<Arc<GraphFile>> {
        let invalid = |fact: String| Error::new(ErrorCode::InvalidGraph, fact);
        if self.load_stack.iter().any(|open| open == path) {
            return Err(invalid(format!("`{name}` includes itself")).with_help("a graph cannot contain itself"));
        }
        let loaded = self.loaded_graphs.get(path);
        if self.load_stack.len() + loaded.map_or(1, |loaded| loaded.depth) > MAX_DEPTH {
            return Err(invalid(format!("graph files are nested more than {MAX_DEPTH} levels deep")));
        }
        if let Some(LoadedGraph { graph, files, .. }) = loaded {
            self.files.extend_from_within(files.clone());
            return if self.files.len() > MAX_FILES + 1 { Err(too_many_files()) } else { Ok(Arc::clone(graph)) };
        }
        let format = format(path)?;
        let text =
            read(path, MAX_FILE_BYTES).map_err(|reason| invalid(format!("failed to read `{name}`: {reason}")))?;
        let display_path = Path::new(&source.name).parent().unwrap_or(Path::new("")).join(name);
        let before = self.files.len();
        self.load_stack.push(path.to_owned());
        let graph = self.parse(SourceText { name: display_path.display().to_string(), text }, format, path.parent());
        self.load_stack.pop();
        let graph = Arc::new(graph?);
        let loaded = LoadedGraph { graph: Arc::clone(&graph), files: before..self.files.len(), depth: depth(&graph) };
        self.loaded_graphs.insert(path.to_owned(), loaded);
        Ok(graph)
    }

    /// Loads the prompt of a node, if the node has one.
    fn prompt(&mut self, (node, version): (&str, u32), prompt: &mut PromptConfig, folder: Option<&Path>) -> Result<()> {
        let read = match (&prompt.text, &prompt.file) {
            (Some(text), None) => inline(node, version, text),
            (None, Some(file)) => self.prompt_file(folder, file),
            _ => return Ok(()),
        };
        prompt.read = Some(read?);
        Ok(())
    }

    fn prompt_file(&mut self, folder: Option<&Path>, file: &str) -> Result<Prompt> {
        let path = self.resolve_in_folder(folder, file)?;
        let invalid = |fact: String| Error::new(ErrorCode::InvalidGraph, fact);
        let text =
            read(&path, MAX_PROMPT_BYTES).map_err(|reason| invalid(format!("failed to read `{file}`: {reason}")))?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Prompt::named(&text, stem).map_err(|error| {
            let fact = invalid(format!("`{file}`: {}", error.message()));
            error.help().into_iter().fold(fact, Error::with_help)
        })
    }

    /// Returns the resolved path of a file in the folder or below.
    fn resolve_in_folder(&mut self, folder: Option<&Path>, file: &str) -> Result<PathBuf> {
        let invalid = |fact: String| Error::new(ErrorCode::InvalidGraph, fact);
        let Some(folder) = folder else {
            let help = "load the graph from a file: `GraphFile::open(path)`";
            return Err(invalid(format!("`{file}` has no folder, because the graph was not loaded from a file"))
                .with_help(help));
        };
        let outside_error = || {
            invalid(format!("`{file}` is outside the folder of the graph file"))
                .with_help("move it into the folder of the graph file or below")
        };
        if Path::new(file).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(outside_error());
        }
        if self.files.len() > MAX_FILES {
            return Err(too_many_files());
        }
        let path = folder.join(file);
        self.files.push(path.clone());
        let resolved = path.canonicalize().map_err(|error| invalid(format!("failed to read `{file}`: {error}")))?;
        if resolved.starts_with(folder) { Ok(resolved) } else { Err(outside_error()) }
    }
}

fn too_many_files() -> Error {
    Error::new(ErrorCode::InvalidGraph, format!("graph files refer to more than {MAX_FILES} files"))
        .with_help("each reference to a file counts")
}

/// Returns the nesting depth of graph files, including this one.
fn depth(graph: &GraphFile) -> usize {
    let inner = graph.description.nodes.iter().filter_map(|(_, node)| match &node.kind {
        NodeKindConfig::Subgraph(data) => data.read.as_deref().map(depth),
        _ => None,
    });
    1 + inner.max().unwrap_or_default()
}

/// Builds the schema of the state. Errors are reported with their location in the file.
fn schema(tree: &SpannedValue, diagnostics: &mut Diagnostics) -> Option<Arc<Schema>> {
    let state = tree.get("state").filter(|state| matches!(state.kind, SpannedKind::Map(_)))?;
    let name = tree.get("name").map(SpannedValue::to_json);
    let version =
        tree.get("version").and_then(|tree| tree.to_json().as_u64()).and_then(|version| version.try_into().ok());
    for entry in state.entries().iter().filter(|entry| !matches!(entry.value.kind, SpannedKind::Map(_))) {
        let help = Some("use a table of options, such as `{ type = \"string\" }`".to_owned());
        diagnostics.at(&below("/state", &entry.key), format!("field `{}` must be a table", entry.key), help);
    }
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
    let built = Schema::builder(name).version(version.unwrap_or(1)).fields_from_json(&state.to_json()).build();
    match built {
        Ok(schema) => Some(schema),
        Err(error) => {
            for diagnostic in error.diagnostics() {
                let at = format!("/state{}", diagnostic.pointer);
                match diagnostic.message.starts_with("unknown option") {
                    true => diagnostics.at_key(&at, diagnostic.message.clone(), diagnostic.help.clone()),
                    false => diagnostics.at(&at, diagnostic.message.clone(), diagnostic.help.clone()),
                }
            }
            None
        }
    }
}

/// Builds a prompt from inline text, with the name of the node and the version of the state.
pub(super) fn inline(node: &str, version: u32, text: &str) -> Result<Prompt> {
    if text.len() as u64 > MAX_PROMPT_BYTES {
        return Err(Error::new(ErrorCode::InvalidGraph, format!("the prompt is longer than {MAX_PROMPT_BYTES} bytes")));
    }
    let name: String = node
        .chars()
        .map(|character| if character.is_whitespace() || character == '@' { '_' } else { character })
        .collect();
    Prompt::new(if name.is_empty() { "prompt".to_owned() } else { name }, version.to_string(), text)
}

fn format(path: &Path) -> Result<FileFormat> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Ok(FileFormat::Toml),
        Some("json") => Ok(FileFormat::Json),
        _ => {
            let fact = format!("`{}` has no file extension of a graph file", path.display());
            Err(Error::new(ErrorCode::InvalidGraph, fact).with_help("use the extension `.toml` or `.json`"))
        }
    }
}

fn read(path: &Path, max: u64) -> Result<String, String> {
    let is_file = |result: std::io::Result<Metadata>| match result {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err("not a file".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    // Before the file is opened, because opening a pipe waits for a writer; and after, because only then it is
    // certainly the same file.
    is_file(std::fs::metadata(path))?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    is_file(file.metadata())?;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > max {
        return Err(format!("longer than {max} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())
}
