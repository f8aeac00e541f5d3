//! What an application brings to the server: graphs, routes, a page.

use std::sync::Arc;

use superstep::core::port::BoxFuture;
use utoipa_axum::router::OpenApiRouter;

use crate::desk::Desk;
use crate::registry::Served;

/// An application.
#[non_exhaustive]
pub struct App {
    /// Its name: the path of its page.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its graphs.
    pub graphs: Vec<Arc<dyn Served>>,
    /// Its routes, under `/api`.
    pub routes: OpenApiRouter<Desk>,
    /// The file of its page among those that are built into the server.
    pub page: Option<String>,
    /// What its page says below its own path where there is no script.
    pub(crate) plain: Option<Plain>,
}

/// Gives what a place of a page says, as HTML.
pub(crate) type Plain = Arc<dyn Fn(Desk, String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

impl App {
    /// An application without anything yet.
    pub fn new(name: impl Into<String>, title: impl Into<String>) -> Self {
        let (graphs, routes) = (Vec::new(), OpenApiRouter::new());
        Self { name: name.into(), title: title.into(), graphs, routes, page: None, plain: None }
    }

    /// One more graph: see [`served`](crate::served).
    #[must_use]
    pub fn graph(mut self, graph: Arc<dyn Served>) -> Self {
        self.graphs.push(graph);
        self
    }

    /// More routes, whole paths such as `/api/debate`.
    #[must_use]
    pub fn routes(mut self, routes: OpenApiRouter<Desk>) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// The file of its page, such as `debate.html`.
    #[must_use]
    pub fn page(mut self, file: impl Into<String>) -> Self {
        self.page = Some(file.into());
        self
    }

    /// What a place of its page, such as `/debate/7`, says where there is no script: HTML for the part behind the name, or
    /// nothing.
    #[must_use]
    pub fn without_script<F>(mut self, plain: impl Fn(Desk, String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.plain = Some(Arc::new(move |desk, place| Box::pin(plain(desk, place))));
        self
    }
}
