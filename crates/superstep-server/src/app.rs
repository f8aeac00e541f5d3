//! Parts of an application that the server mounts: graphs, routes, a page.

use std::sync::Arc;

use superstep::core::port::BoxFuture;
use utoipa_axum::router::OpenApiRouter;

use crate::graphs::registry::ServedGraph;
use crate::runs::service::RunService;

/// An application of the server: graphs, routes and a page.
#[non_exhaustive]
pub struct App {
    /// Name of the application, and path of its page.
    pub name: String,
    /// Title that users see.
    pub title: String,
    /// Graphs of the application.
    pub graphs: Vec<Arc<dyn ServedGraph>>,
    /// Routes of the application, under `/api`.
    pub routes: OpenApiRouter<RunService>,
    /// File name of the page, among the files built into the server.
    pub page: Option<String>,
    /// Renders the content of a page as HTML for clients without JavaScript.
    pub(crate) html_fallback: Option<HtmlFallback>,
}

/// A function from the path behind the name of a page to HTML, for clients without JavaScript.
pub(crate) type HtmlFallback = Arc<dyn Fn(RunService, String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

impl App {
    /// Creates an application without graphs, routes and page.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        let (graphs, routes) = (Vec::new(), OpenApiRouter::new());
        Self { name: name.into(), title: title.into(), graphs, routes, page: None, html_fallback: None }
    }

    /// Adds a graph, which [`serve_graph`](crate::serve_graph) creates.
    #[must_use]
    pub fn graph(mut self, graph: Arc<dyn ServedGraph>) -> Self {
        self.graphs.push(graph);
        self
    }

    /// Adds routes with full paths such as `/api/debate`.
    #[must_use]
    pub fn routes(mut self, routes: OpenApiRouter<RunService>) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Sets the file of the page, such as `debate.html`.
    #[must_use]
    pub fn page(mut self, file: impl Into<String>) -> Self {
        self.page = Some(file.into());
        self
    }

    /// Sets the HTML fallback of the page for clients without JavaScript. The function receives the part of the path
    /// behind the name (`7` for `/debate/7`) and returns HTML, or `None` if the path has no content.
    #[must_use]
    pub fn html_fallback<F>(mut self, render: impl Fn(RunService, String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.html_fallback = Some(Arc::new(move |runs, path| Box::pin(render(runs, path))));
        self
    }
}
