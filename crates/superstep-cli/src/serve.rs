//! `superstep serve`: the graphs over HTTP, until somebody stops it.

use std::io::IsTerminal;
use std::process::{Command, Stdio};

use serde_json::json;
use superstep::Code;
use superstep_server::{App, Server};

use crate::apps::models;
use crate::args::{Global, Serve};
use crate::drive::STOPPED;
use crate::failure::Failure;
use crate::graphs;
use crate::interrupts::Interrupts;
use crate::log;
use crate::out::Out;
use crate::setup::Setup;
use crate::words::count;

/// Serves until Ctrl-C.
pub(crate) async fn serve(asked: &Serve, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, true);
    let mut setup = Setup::load(global)?;
    setup.debates = asked.debates.settings();
    setup.suggestions = asked.looking.settings(setup.is_offline)?;
    if let Some(assistant) = asked.own.settings(setup.is_offline).await? {
        setup.assistant = assistant;
    }
    setup.household = asked.household.clone();
    let apps = graphs::all(&setup)?;
    let pages: Vec<String> = apps.iter().filter(|app| app.page.is_some()).map(|app| format!("/{}", app.name)).collect();
    let graphs: Vec<String> = apps.iter().flat_map(|app: &App| &app.graphs).map(|it| it.name().to_owned()).collect();
    let mut config = setup.open(out).await?;
    config.host = asked.host.clone().unwrap_or(config.host);
    config.port = asked.port.unwrap_or(config.port);
    config.is_insecure |= asked.insecure;
    if config.is_insecure && setup.suggestions.token.is_some() {
        let message =
            "with `SUPERSTEP_GRAPH_TOKEN`, whoever reaches this server would search Microsoft 365 in its name";
        return Err(Failure::new(Code::PolicyRefused, message).help("leave `--insecure` out, or the token"));
    }
    config.models = models(&setup).notes();
    config.start_page = Some("index.html".to_owned());
    // Before anybody knows the address: from then on it ends in order.
    let mut interrupts = Interrupts::new()?;
    let server = superstep_server::serve(apps, config).await?;
    say(&server, &pages, &graphs, (&setup, out));
    if asked.open && !open(&server.url()) {
        out.note("no browser could be opened");
    }
    interrupts.next().await;
    out.note("stopping: what runs is saved and goes on when the server is back");
    tokio::select! {
        () = server.shutdown() => Ok(0),
        () = interrupts.next() => Ok(STOPPED),
    }
}

fn say(server: &Server, pages: &[String], graphs: &[String], (setup, out): (&Setup, &Out)) {
    let url = server.url();
    match out.is_text() {
        true => out.result(&url),
        false => out.json(&json!({ "url": url, "pages": pages, "graphs": graphs, "store": setup.store() })),
    }
    for page in pages {
        out.note(format_args!("page    {url}{page}"));
    }
    let graphs = if graphs.is_empty() { "none; name one in superstep.toml".to_owned() } else { graphs.join(", ") };
    out.note(format_args!("graphs  {graphs}"));
    out.note(format_args!("store   {}", setup.store()));
    if server.taken_up() > 0 {
        let number = u64::try_from(server.taken_up()).unwrap_or(u64::MAX);
        out.note(format_args!("{} of an earlier server had not ended", count(number, "run")));
    }
    if std::io::stderr().is_terminal() {
        out.note("Ctrl-C stops it");
    }
}

/// Opens an address in the browser of whoever sits here.
fn open(url: &str) -> bool {
    let (program, words): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(words).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
