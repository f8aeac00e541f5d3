//! Runs superstep checkpointers under LangGraph's conformance suite: JSON requests on stdin, JSON responses on stdout.

mod encoding;
mod langgraph_checkpointer;
mod request;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde_json::{Value, json};
use superstep::MemoryCheckpointer;
#[cfg(feature = "postgres")]
use superstep_adapters::postgres::PostgresCheckpointer;
#[cfg(feature = "sqlite")]
use superstep_adapters::sqlite::SqliteCheckpointer;
use superstep_core::error::Result;
use superstep_core::port::{BoxFuture, SharedCheckpointer};
use tokio::runtime::Runtime;

use langgraph_checkpointer::LangGraphCheckpointer;

/// A checkpointer this program can open: name, argument, constructor.
struct Kind {
    name: &'static str,
    argument: Option<&'static str>,
    open: fn(String) -> BoxFuture<'static, Result<SharedCheckpointer>>,
}

/// Supported checkpointers.
const KINDS: &[Kind] = &[
    Kind { name: "memory", argument: None, open: |_| Box::pin(async { Ok(MemoryCheckpointer::new().into()) }) },
    #[cfg(feature = "sqlite")]
    Kind {
        name: "sqlite",
        argument: Some("PATH"),
        open: |path| Box::pin(async { Ok(SqliteCheckpointer::open(path)?.into()) }),
    },
    #[cfg(feature = "postgres")]
    Kind {
        name: "postgres",
        argument: Some("URL"),
        open: |url| Box::pin(async move { Ok(PostgresCheckpointer::connect(&url).await?.into()) }),
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match kind(&args).map(|kind| serve(kind, args.get(1).cloned().unwrap_or_default())) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn kind(args: &[String]) -> std::result::Result<&'static Kind, String> {
    let name = args.first().ok_or("missing argument: the store")?;
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| format!("unknown store `{name}`"))?;
    match (kind.argument, args.len()) {
        (None, 1) | (Some(_), 2) => Ok(kind),
        (None, _) => Err(format!("the store `{name}` takes no argument")),
        (Some(argument), _) => Err(format!("the store `{name}` takes one argument: {argument}")),
    }
}

fn usage() -> String {
    let forms =
        KINDS.iter().map(|kind| format!("{} {}", kind.name, kind.argument.unwrap_or_default()).trim().to_owned());
    format!(
        "usage: saver_stdio {} (other stores need the feature of their name)",
        forms.collect::<Vec<_>>().join(" | ")
    )
}

/// Handles one request per line until end of input.
fn serve(kind: &Kind, location: String) -> std::result::Result<(), String> {
    let runtime = Runtime::new().map_err(|error| format!("cannot start the runtime: {error}"))?;
    let store = runtime.block_on((kind.open)(location)).map_err(|error| error.to_string())?;
    let checkpointer = LangGraphCheckpointer::new(store);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).map_err(|error| format!("cannot read: {error}"))? > 0 {
        let response = response(&runtime, &checkpointer, &line);
        writeln!(output, "{response}")
            .and_then(|()| output.flush())
            .map_err(|error| format!("cannot write: {error}"))?;
        line.clear();
    }
    Ok(())
}

fn response(runtime: &Runtime, checkpointer: &LangGraphCheckpointer, line: &[u8]) -> Value {
    let request = serde_json::from_slice(line).map_err(|error| format!("invalid request: {error}"));
    match request.and_then(|request| runtime.block_on(checkpointer.handle(request)).map_err(|error| error.to_string()))
    {
        Ok(result) => json!({ "ok": result }),
        Err(message) => json!({ "err": message }),
    }
}
