//! HTTP layer shared by all routes: extractors, problems, the OpenAPI document, static files, system routes.

pub(crate) mod extract;
pub(crate) mod openapi;
pub(crate) mod problem;
pub(crate) mod router;
pub(crate) mod static_files;
pub(crate) mod system;
