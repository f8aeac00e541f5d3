//! `superstep mcp serve`: the tools of an application over MCP.

use std::net::SocketAddr;

use axum::Router;
use superstep::ErrorCode;
use superstep::mcp::McpServer;
use superstep_suggestions::mcp::{Caller, server_for};
use tokio::net::TcpListener;

use crate::args::{GlobalArgs, McpArgs, McpCommand, McpServeArgs, McpTools};
use crate::demo::print_skipped_files;
use crate::error::CliError;
use crate::log;
use crate::output::Output;
use crate::signals::ShutdownSignals;

/// Serves until stdin ends or a shutdown signal arrives.
pub(crate) async fn mcp(args: &McpArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, true);
    let McpCommand::Serve(serve_args) = &args.command;
    let server = build_server(serve_args, global, out).await?;
    match serve_args.http {
        // From here on stdout belongs to the protocol.
        None => server.serve_stdio().await?,
        Some(address) => serve_http(&server, address, out).await?,
    }
    Ok(0)
}

async fn build_server(args: &McpServeArgs, global: &GlobalArgs, out: &Output) -> Result<McpServer, CliError> {
    let McpTools::Suggestions = args.tools;
    let settings = args.sources.settings(global.offline)?;
    let sources = settings.open().await?;
    print_skipped_files(&sources, out);
    Ok(server_for(sources, None, Caller { token: settings.token, locale: None }))
}

async fn serve_http(server: &McpServer, address: SocketAddr, out: &Output) -> Result<(), CliError> {
    if !address.ip().is_loopback() {
        let message = format!("other machines can reach `{address}`, and the server has no authentication");
        return Err(CliError::new(ErrorCode::PolicyRefused, message).help("listen on 127.0.0.1"));
    }
    let bind_error = |error: std::io::Error| {
        CliError::new(ErrorCode::ConfigInvalid, format!("cannot listen on `{address}`: {}", error.kind()))
    };
    // Installed before the address is printed, so that a signal sent from then on shuts down in order.
    let mut signals = ShutdownSignals::new()?;
    let router = Router::new().nest_service("/mcp", server.http_service()?);
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    out.print_result(format!("http://{}/mcp", listener.local_addr().map_err(bind_error)?));
    tokio::select! {
        result = axum::serve(listener, router) => result.map_err(bind_error),
        () = signals.next() => Ok(()),
    }
}
