//! Tools of a node: static ones, and those that a source lists for each execution.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{BoxFuture, SharedTool};
use superstep_core::tool::{ToolError, ToolSpec};
use superstep_core::types::JsonSchemaValidator;

use super::arguments;

/// A source of tools that may change while a graph runs, such as a server.
pub trait ToolSource: Send + Sync + 'static {
    /// Returns the currently available tools.
    ///
    /// # Errors
    /// Returns an error if the source cannot be reached.
    fn list(&self) -> impl Future<Output = Result<Vec<SharedTool>>> + Send;
}

trait DynToolSource: Send + Sync {
    fn list(&self) -> BoxFuture<'_, Result<Vec<SharedTool>>>;
}

impl<T: ToolSource> DynToolSource for T {
    fn list(&self) -> BoxFuture<'_, Result<Vec<SharedTool>>> {
        Box::pin(ToolSource::list(self))
    }
}

/// A source whose tools are mapped by a function.
struct MappedToolSource<F> {
    source: Arc<dyn DynToolSource>,
    change: Arc<F>,
}

impl<F: Fn(SharedTool) -> SharedTool + Send + Sync + 'static> ToolSource for MappedToolSource<F> {
    async fn list(&self) -> Result<Vec<SharedTool>> {
        Ok(self.source.list().await?.into_iter().map(&*self.change).collect())
    }
}

/// A tool with the validator of its arguments, which is created at first use.
pub(super) struct RegisteredTool {
    pub(super) tool: SharedTool,
    schema: OnceLock<Option<JsonSchemaValidator>>,
}

impl RegisteredTool {
    fn new(tool: SharedTool) -> Arc<Self> {
        Arc::new(Self { tool, schema: OnceLock::new() })
    }

    /// Validates arguments, which are an object, with the schema.
    pub(super) fn check(&self, args: &Value) -> Result<(), ToolError> {
        let spec = self.tool.spec();
        let schema = self.schema.get_or_init(|| arguments::validator(spec));
        arguments::check(spec, schema.as_ref(), args)
    }
}

pub(super) type ToolMap = BTreeMap<String, Arc<RegisteredTool>>;

/// A set of tools with unique names. Cheap to clone.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::tools::ToolSet;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 { a + b }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let tools = ToolSet::new([add()])?;
/// assert_eq!(tools.specs().await?[0].name, "add");
/// assert!(ToolSet::new([add(), add()]).is_err());
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct ToolSet {
    static_tools: Vec<Arc<RegisteredTool>>,
    sources: Vec<Arc<dyn DynToolSource>>,
}

impl ToolSet {
    /// Creates a set of tools.
    ///
    /// # Errors
    /// Returns an error if two tools have the same name.
    pub fn new(tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Result<Self> {
        let registered = tools.into_iter().map(|tool| RegisteredTool::new(tool.into())).collect();
        let tools = Self { static_tools: registered, sources: Vec::new() };
        by_name(tools.static_tools.clone())?;
        Ok(tools)
    }

    /// Adds a tool. A duplicate name is an error when the tools are first used.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<SharedTool>) -> Self {
        self.static_tools.push(RegisteredTool::new(tool.into()));
        self
    }

    /// Adds a source, which is queried whenever the tools are needed.
    #[must_use]
    pub fn source(mut self, source: impl ToolSource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Returns the specifications of the static tools; tools of sources are unknown before they are queried.
    pub fn static_specs(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.static_tools.iter().map(|registered| registered.tool.spec())
    }

    /// Returns true if there are tool sources.
    #[must_use]
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Maps every tool with a function; tools of sources are mapped whenever they are listed.
    #[must_use]
    pub fn map(self, change: impl Fn(SharedTool) -> SharedTool + Send + Sync + 'static) -> Self {
        let change = Arc::new(change);
        let mapped =
            self.static_tools.iter().map(|registered| RegisteredTool::new(change(registered.tool.clone()))).collect();
        let changed = |source: &Arc<dyn DynToolSource>| -> Arc<dyn DynToolSource> {
            Arc::new(MappedToolSource { source: source.clone(), change: change.clone() })
        };
        let sources = self.sources.iter().map(changed).collect();
        Self { static_tools: mapped, sources }
    }

    /// Returns the specifications of the currently available tools, in order.
    ///
    /// # Errors
    /// Returns an error if a source cannot be reached, or if two tools have the same name.
    pub async fn specs(&self) -> Result<Vec<Arc<ToolSpec>>> {
        let all = self.all().await?;
        let specs = all.iter().map(|registered| registered.tool.spec().clone()).collect();
        by_name(all)?;
        Ok(specs)
    }

    pub(super) async fn resolve(&self) -> Result<ToolMap> {
        by_name(self.all().await?)
    }

    async fn all(&self) -> Result<Vec<Arc<RegisteredTool>>> {
        let mut all = self.static_tools.clone();
        for source in &self.sources {
            all.extend(source.list().await?.into_iter().map(RegisteredTool::new));
        }
        Ok(all)
    }
}

fn by_name(all: Vec<Arc<RegisteredTool>>) -> Result<ToolMap> {
    let mut tools_by_name = ToolMap::new();
    for tool in all {
        let name = tool.tool.spec().name.clone();
        if tools_by_name.insert(name.clone(), tool).is_some() {
            return Err(Error::new(ErrorCode::InvalidGraph, format!("duplicate tool name `{name}`"))
                .with_help("give each tool a unique name"));
        }
    }
    Ok(tools_by_name)
}

/// Duplicate names are detected when the tools are first used.
impl<T: Into<SharedTool>, const N: usize> From<[T; N]> for ToolSet {
    fn from(tools: [T; N]) -> Self {
        tools.into_iter().map(Into::into).collect::<Vec<_>>().into()
    }
}

/// Duplicate names are detected when the tools are first used.
impl From<Vec<SharedTool>> for ToolSet {
    fn from(tools: Vec<SharedTool>) -> Self {
        Self { static_tools: tools.into_iter().map(RegisteredTool::new).collect(), sources: Vec::new() }
    }
}
