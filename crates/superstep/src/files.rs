//! Graph files: graphs in TOML or JSON, editable without a compiler, and convertible to Rust code.
//!
//! A file is parsed and validated ([`GraphFile`]), combined with the components that it references by name
//! ([`Components`]), and runs like any other graph. [`ReloadingGraph`] applies changes of the file while runs continue.
//! All keys of a file are declared in one table (`keys`), which validates files and generates the JSON Schema for
//! editors.
//!
//! This module uses the public API only, so a graph file can do nothing that a graph in Rust cannot do.
//!
//! ```
//! use serde_json::json;
//! use superstep::files::{FileFormat, GraphFile, Components};
//! use superstep::models::RuleBasedModel;
//!
//! let text = r#"
//!     name = "titles"
//!     [state]
//!     text = { type = "string", required = true }
//!     title = { type = "string" }
//!     [nodes.title]
//!     kind = "model"
//!     model = "small"
//!     prompt = "Write a title for: {{text}}"
//!     output = "title"
//!     [[edges]]
//!     from = "START"
//!     to = "title"
//!     [[edges]]
//!     from = "title"
//!     to = "END"
//! "#;
//! let parts = Components::new().model("small", RuleBasedModel::new("small").default_reply("Foxes"));
//! let titles = GraphFile::parse(text, FileFormat::Toml)?.build(&parts)?;
//! let done = titles.invoke(json!({ "text": "The quick brown fox …" })).wait_blocking()?;
//! assert_eq!(*done.state.get("title"), "Foxes");
//! # Ok::<(), superstep::Error>(())
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use superstep_core::canonical::sort_keys;
use superstep_core::error::Result;
use superstep_core::schema::Schema;

mod build;
mod check;
mod codegen;
mod components;
mod condition;
mod diagnostics;
mod keys;
mod load;
mod model;
mod nodes;
mod reload;
mod spanned;
mod value_type;

pub use components::{ComponentNode, Components};
pub use condition::Condition;
pub use nodes::{ConditionNode, InterruptNode, MapNode, ModelNode, SetNode};
pub use reload::{ReloadResult, ReloadingGraph};
pub use spanned::FileFormat;

use diagnostics::SourceText;
use load::FileLoader;
use model::GraphFileModel;
use spanned::SpannedValue;

/// Names of the start and the end of a graph in files.
const START: &str = "START";
const END: &str = "END";

/// A parsed and valid graph file.
#[derive(Debug, Clone)]
pub struct GraphFile {
    source: Arc<SourceText>,
    tree: Arc<SpannedValue>,
    description: GraphFileModel,
    schema: Arc<Schema>,
    files: Vec<PathBuf>,
}

/// Two files are equal if their content is equal, regardless of the format.
impl PartialEq for GraphFile {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl GraphFile {
    /// Parses a graph from text. The text cannot reference other files; see [`GraphFile::open`].
    ///
    /// # Errors
    /// Returns an error that lists every problem, with line, column and a suggestion.
    pub fn parse(text: &str, format: FileFormat) -> Result<Self> {
        let name = if format == FileFormat::Toml { "<toml>" } else { "<json>" };
        FileLoader::default().parse(SourceText { name: name.to_owned(), text: text.to_owned() }, format, None)
    }

    /// Reads a graph from a file, with the prompts and graphs that it references in its folder or below.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or an error that lists every problem, with file, line, column and
    /// a suggestion.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let mut loader = FileLoader::default();
        let mut file = loader.open(path.as_ref())?;
        file.files = loader.looked_up();
        Ok(file)
    }

    /// Returns the name of the graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.top.name
    }

    /// Returns the version of the state.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.description.top.version
    }

    /// Returns the description of the graph, if the file has one.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.top.description.as_deref()
    }

    /// Returns the files that were read: the graph file first, then prompts and graphs.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the JSON Schema of graph files, for editors.
    #[must_use]
    pub fn json_schema() -> Value {
        let mut schema = value_type::table_schema(keys::TOP_LEVEL_KEYS.iter());
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "superstep graph file".into();
        schema["$defs"] = json!({ "test": value_type::table_schema(keys::TEST_KEYS.iter()) });
        sort_keys(schema)
    }

    /// Returns the reference of all keys of a graph file, as Markdown tables for the book.
    #[must_use]
    pub fn reference() -> String {
        let table = |(name, description, keys): (&str, &str, &[value_type::FileKey])| {
            let title = if description.is_empty() {
                format!("### {name}\n\n")
            } else {
                format!("### {name}\n\n{description}\n\n")
            };
            let row = |key: &value_type::FileKey| {
                let required = if key.required { "required" } else { "" };
                format!("| `{}` | {required} | {} |\n", key.name, key.description.replace('|', "\\|"))
            };
            format!("{title}| key | | description |\n|---|---|---|\n{}", keys.iter().map(row).collect::<String>())
        };
        keys::tables().into_iter().map(table).collect::<Vec<_>>().join("\n")
    }
}
