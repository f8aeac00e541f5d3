//! Graphs as files: TOML or JSON, changed without a compiler, written as Rust when one wants to go on there.
//!
//! A file is read and checked ([`GraphFile`]), put together with what it calls by name ([`Parts`]), and runs like any
//! other graph. [`LiveGraph`] takes changes over while runs go on. Every key of a file is in one table (`keys`), from which
//! files are checked and the JSON Schema for editors is made.
//!
//! Never does anything that a graph in Rust could not: it is written with the public API only.
//!
//! ```
//! use serde_json::json;
//! use superstep::file::{Format, GraphFile, Parts};
//! use superstep::model::Rules;
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
//! let parts = Parts::new().model("small", Rules::new("small").otherwise("Foxes"));
//! let titles = GraphFile::parse(text, Format::Toml)?.build(&parts)?;
//! let done = titles.run(json!({ "text": "The quick brown fox …" })).wait()?;
//! assert_eq!(*done.state.get("title"), "Foxes");
//! # Ok::<(), superstep::Error>(())
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use superstep_core::canonical::sorted;
use superstep_core::error::Result;
use superstep_core::schema::Schema;

mod build;
mod check;
mod description;
mod form;
mod keys;
mod live;
mod load;
mod nodes;
mod parts;
mod problems;
mod rust;
mod test;
mod tree;

pub use live::{LiveGraph, Reload};
pub use nodes::{AskNode, ConditionNode, MapNode, ModelNode, SetNode};
pub use parts::{PartNode, Parts};
pub use test::Test;
pub use tree::Format;

use description::Description;
use load::Loader;
use problems::Source;
use tree::Tree;

/// How files write where runs start and where they end.
const START: &str = "START";
const END: &str = "END";

/// A graph file that was read and found right.
#[derive(Debug, Clone)]
pub struct GraphFile {
    source: Arc<Source>,
    tree: Arc<Tree>,
    description: Description,
    schema: Arc<Schema>,
    files: Vec<PathBuf>,
}

/// Two files are equal when they say the same, in whatever form.
impl PartialEq for GraphFile {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl GraphFile {
    /// Reads a graph from a text. It cannot lead to other files; see [`GraphFile::open`].
    ///
    /// # Errors
    /// Lists everything that is wrong, each with line and column and what would be right.
    pub fn parse(text: &str, format: Format) -> Result<Self> {
        let name = if format == Format::Toml { "<toml>" } else { "<json>" };
        Loader::default().parse(Source { name: name.to_owned(), text: text.to_owned() }, format, None)
    }

    /// Reads a graph from a file, with the prompts and graphs that stand beside it or below.
    ///
    /// # Errors
    /// When the file cannot be read, or lists everything that is wrong, each with file, line and column and what would
    /// be right.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let mut loader = Loader::default();
        let mut file = loader.open(path.as_ref())?;
        file.files = loader.seen();
        Ok(file)
    }

    /// The name of the graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.top.name
    }

    /// The version of the state.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.description.top.version
    }

    /// What the graph is for, where the file says so.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.top.description.as_deref()
    }

    /// The files it was read from: its own first, then prompts and graphs.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The JSON Schema of graph files, for editors.
    #[must_use]
    pub fn json_schema() -> Value {
        let mut schema = form::table_schema(keys::TOP.iter());
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        schema["title"] = "superstep graph file".into();
        schema["$defs"] = json!({ "test": form::table_schema(keys::TEST_KEYS.iter()) });
        sorted(schema)
    }

    /// Every key of a graph file, as the tables of the book.
    #[must_use]
    pub fn reference() -> String {
        let table = |(name, says, keys): (&str, &str, &[form::Key])| {
            let title = if says.is_empty() { format!("### {name}\n\n") } else { format!("### {name}\n\n{says}\n\n") };
            let row = |key: &form::Key| {
                let needed = if key.required { "required" } else { "" };
                format!("| `{}` | {needed} | {} |\n", key.name, key.says.replace('|', "\\|"))
            };
            format!("{title}| key | | what it is |\n|---|---|---|\n{}", keys.iter().map(row).collect::<String>())
        };
        keys::tables().into_iter().map(table).collect::<Vec<_>>().join("\n")
    }
}
