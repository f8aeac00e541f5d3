//! `superstep serve`: the graphs over HTTP, until a shutdown signal arrives.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use serde_json::json;
use superstep::ErrorCode;
use superstep_server::{App, Server};

use crate::apps::models;
use crate::args::{GlobalArgs, ServeArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs;
use crate::log;
use crate::output::Output;
use crate::run_driver::STOPPED;
use crate::signals::ShutdownSignals;
use crate::text::pluralize;

/// Serves until Ctrl-C.
pub(crate) async fn serve(args: &ServeArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, true);
    let mut config = CliConfig::load(global)?;
    config.debate = args.debates.settings();
    config.suggestions = args.suggestions.settings(config.is_offline)?;
    if let Some(assistant) = args.assistant.load_settings(config.is_offline).await? {
        config.assistant = assistant;
    }
    config.family = args.family.clone();
    let apps = graphs::served_apps(&config)?;
    let pages: Vec<String> = apps.iter().filter(|app| app.page.is_some()).map(|app| format!("/{}", app.name)).collect();
    let graphs: Vec<String> =
        apps.iter().flat_map(|app: &App| &app.graphs).map(|graph| graph.name().to_owned()).collect();
    let mut server_config = config.open_storage(out).await?;
    server_config.host = args.host.clone().unwrap_or(server_config.host);
    server_config.port = args.port.unwrap_or(server_config.port);
    server_config.allow_insecure |= args.insecure;
    if server_config.allow_insecure && config.suggestions.token.is_some() {
        let message = "anyone who can reach this server would search Microsoft 365 with `SUPERSTEP_GRAPH_TOKEN`";
        return Err(CliError::new(ErrorCode::PolicyRefused, message)
            .help("omit `--insecure`, or unset `SUPERSTEP_GRAPH_TOKEN`"));
    }
    server_config.models = models(&config).summaries();
    server_config.start_page = Some("index.html".to_owned());
    // Installed before the address is printed, so that a signal sent from then on shuts down in order.
    let mut signals = ShutdownSignals::new()?;
    let server = superstep_server::serve(apps, server_config).await?;
    print_startup(&server, &pages, &graphs, (&config, out));
    if args.open && !open_browser(&server.url()) {
        out.print_note("cannot open a browser");
    }
    signals.next().await;
    out.print_note("stopping; unfinished runs are saved and resume when the server starts again");
    tokio::select! {
        () = server.shutdown() => Ok(0),
        () = signals.next() => Ok(STOPPED),
    }
}

fn print_startup(server: &Server, pages: &[String], graphs: &[String], (config, out): (&CliConfig, &Output)) {
    let url = server.url();
    match out.is_text() {
        true => out.print_result(&url),
        false => {
            out.json(&json!({ "url": url, "pages": pages, "graphs": graphs, "store": config.checkpointer_name() }))
        }
    }
    for page in pages {
        out.print_note(format_args!("page    {url}{page}"));
    }
    let graphs = if graphs.is_empty() { "none; add one to superstep.toml".to_owned() } else { graphs.join(", ") };
    out.print_note(format_args!("graphs  {graphs}"));
    out.print_note(format_args!("store   {}", config.checkpointer_name()));
    if server.recovered_runs() > 0 {
        let count = u64::try_from(server.recovered_runs()).unwrap_or(u64::MAX);
        out.print_note(format_args!("found {} left unfinished by an earlier server", pluralize(count, "run")));
    }
    if std::io::stderr().is_terminal() {
        out.print_note("press Ctrl-C to stop");
    }
}

/// Opens a URL in the browser of the local user.
fn open_browser(url: &str) -> bool {
    let (program, args): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(args).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
