//! `superstep mcp serve`: the tools of an application for other programs.

use std::net::SocketAddr;

use axum::Router;
use superstep::Code;
use superstep::mcp::Server;
use superstep_suggestions::mcp::{Caller, server_for};
use tokio::net::TcpListener;

use crate::args::{Global, Mcp, McpServe, McpTools, McpWhat};
use crate::demo::note_left_out;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::log;
use crate::out::Out;

/// Serves until the input ends, or somebody stops it.
pub(crate) async fn mcp(asked: &Mcp, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, true);
    let McpWhat::Serve(asked) = &asked.what;
    let server = tools(asked, global, out).await?;
    match asked.http {
        // Standard output belongs to the protocol from here on.
        None => server.serve_stdio().await?,
        Some(address) => over_http(&server, address, out).await?,
    }
    Ok(0)
}

async fn tools(asked: &McpServe, global: &Global, out: &Out) -> Result<Server, Failure> {
    let McpTools::Suggestions = asked.tools;
    let settings = asked.looking.settings(global.offline)?;
    let sources = settings.open().await?;
    note_left_out(&sources, out);
    Ok(server_for(sources, None, Caller { token: settings.token, locale: None }))
}

async fn over_http(server: &Server, address: SocketAddr, out: &Out) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        let message = format!("`{address}` can be reached by others, and nobody would have to say who they are");
        return Err(Failure::new(Code::PolicyRefused, message).help("listen on 127.0.0.1"));
    }
    let unbound = |error: std::io::Error| {
        Failure::new(Code::ConfigInvalid, format!("cannot listen on `{address}`: {}", error.kind()))
    };
    // Before anybody knows the address: from then on it ends in order.
    let mut interrupts = Interrupts::new()?;
    let router = Router::new().nest_service("/mcp", server.http_service()?);
    let listener = TcpListener::bind(address).await.map_err(unbound)?;
    out.result(format!("http://{}/mcp", listener.local_addr().map_err(unbound)?));
    tokio::select! {
        served = axum::serve(listener, router) => served.map_err(unbound),
        () = interrupts.next() => Ok(()),
    }
}
