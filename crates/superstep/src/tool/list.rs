//! The tools that a node can run: given ones, and those a source lists anew at each execution.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{BoxFuture, SharedTool};
use superstep_core::tool::{ToolError, ToolSpec};
use superstep_core::types::Schema;

use super::argument;

/// Where tools come from that may change while a graph runs, such as a server.
pub trait ToolSource: Send + Sync + 'static {
    /// The tools there are now.
    ///
    /// # Errors
    /// When the source cannot be asked.
    fn list(&self) -> impl Future<Output = Result<Vec<SharedTool>>> + Send;
}

trait ErasedSource: Send + Sync {
    fn list(&self) -> BoxFuture<'_, Result<Vec<SharedTool>>>;
}

impl<T: ToolSource> ErasedSource for T {
    fn list(&self) -> BoxFuture<'_, Result<Vec<SharedTool>>> {
        Box::pin(ToolSource::list(self))
    }
}

/// A source whose tools are changed on the way.
struct Changed<F> {
    source: Arc<dyn ErasedSource>,
    change: Arc<F>,
}

impl<F: Fn(SharedTool) -> SharedTool + Send + Sync + 'static> ToolSource for Changed<F> {
    async fn list(&self) -> Result<Vec<SharedTool>> {
        Ok(self.source.list().await?.into_iter().map(&*self.change).collect())
    }
}

/// A tool with the check of its arguments, which is made when it is first needed.
pub(super) struct Known {
    pub(super) tool: SharedTool,
    schema: OnceLock<Option<Schema>>,
}

impl Known {
    fn new(tool: SharedTool) -> Arc<Self> {
        Arc::new(Self { tool, schema: OnceLock::new() })
    }

    /// Holds arguments, which are an object, against the schema.
    pub(super) fn check(&self, args: &Value) -> Result<(), ToolError> {
        let spec = self.tool.spec();
        let schema = self.schema.get_or_init(|| argument::validator(spec));
        argument::check(spec, schema.as_ref(), args)
    }
}

pub(super) type KnownTools = BTreeMap<String, Arc<Known>>;

/// Tools, each under a name of its own. Cheap to clone.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::tool::Tools;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 { a + b }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let tools = Tools::new([add()])?;
/// assert_eq!(tools.specs().await?[0].name, "add");
/// assert!(Tools::new([add(), add()]).is_err());
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Tools {
    given: Vec<Arc<Known>>,
    sources: Vec<Arc<dyn ErasedSource>>,
}

impl Tools {
    /// These tools.
    ///
    /// # Errors
    /// When two have the same name.
    pub fn new(tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Result<Self> {
        let given = tools.into_iter().map(|tool| Known::new(tool.into())).collect();
        let tools = Self { given, sources: Vec::new() };
        by_name(tools.given.clone())?;
        Ok(tools)
    }

    /// Also this tool. A name that is taken is an error when the tools are first used.
    #[must_use]
    pub fn and(mut self, tool: impl Into<SharedTool>) -> Self {
        self.given.push(Known::new(tool.into()));
        self
    }

    /// Also what this source lists, asked anew whenever the tools are needed.
    #[must_use]
    pub fn source(mut self, source: impl ToolSource) -> Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// What is told of the tools that were given; those of sources are not known before they are asked.
    pub fn given(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.given.iter().map(|known| known.tool.spec())
    }

    /// Whether there are tools that only a source knows.
    #[must_use]
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The same tools, each as `change` makes it; those of sources whenever they are listed.
    #[must_use]
    pub fn map(self, change: impl Fn(SharedTool) -> SharedTool + Send + Sync + 'static) -> Self {
        let change = Arc::new(change);
        let given = self.given.iter().map(|known| Known::new(change(known.tool.clone()))).collect();
        let changed = |source: &Arc<dyn ErasedSource>| -> Arc<dyn ErasedSource> {
            Arc::new(Changed { source: source.clone(), change: change.clone() })
        };
        let sources = self.sources.iter().map(changed).collect();
        Self { given, sources }
    }

    /// What a model is told of the tools there are now, in order.
    ///
    /// # Errors
    /// When a source cannot be asked, or two tools have the same name.
    pub async fn specs(&self) -> Result<Vec<Arc<ToolSpec>>> {
        let all = self.all().await?;
        let specs = all.iter().map(|known| known.tool.spec().clone()).collect();
        by_name(all)?;
        Ok(specs)
    }

    pub(super) async fn known(&self) -> Result<KnownTools> {
        by_name(self.all().await?)
    }

    async fn all(&self) -> Result<Vec<Arc<Known>>> {
        let mut all = self.given.clone();
        for source in &self.sources {
            all.extend(source.list().await?.into_iter().map(Known::new));
        }
        Ok(all)
    }
}

fn by_name(all: Vec<Arc<Known>>) -> Result<KnownTools> {
    let mut known = KnownTools::new();
    for tool in all {
        let name = tool.tool.spec().name.clone();
        if known.insert(name.clone(), tool).is_some() {
            return Err(Error::new(Code::InvalidGraph, format!("two tools are called `{name}`"))
                .help("give one another name: a model calls them by it"));
        }
    }
    Ok(known)
}

/// Without a look at their names, which is taken when they are first used.
impl<T: Into<SharedTool>, const N: usize> From<[T; N]> for Tools {
    fn from(tools: [T; N]) -> Self {
        tools.into_iter().map(Into::into).collect::<Vec<_>>().into()
    }
}

/// Without a look at their names, which is taken when they are first used.
impl From<Vec<SharedTool>> for Tools {
    fn from(tools: Vec<SharedTool>) -> Self {
        Self { given: tools.into_iter().map(Known::new).collect(), sources: Vec::new() }
    }
}
