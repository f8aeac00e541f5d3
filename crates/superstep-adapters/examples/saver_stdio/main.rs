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
    word: &'static str,
    argument: Option<&'static str>,
    open: fn(String) -> BoxFuture<'static, Result<SharedCheckpointer>>,
}

/// Supported checkpointers.
const KINDS: &[Kind] = &[
    Kind { word: "memory", argument: None, open: |_| Box::pin(async { Ok(MemoryCheckpointer::new().into()) }) },
    #[cfg(feature = "sqlite")]
    Kind {
        word: "sqlite",
        argument: Some("PATH"),
        open: |path| Box::pin(async { Ok(SqliteCheckpointer::open(path)?.into()) }),
    },
    #[cfg(feature = "postgres")]
    Kind {
        word: "postgres",
        argument: Some("URL"),
        open: |url| Box::pin(async move { Ok(PostgresCheckpointer::connect(&url).await?.into()) }),
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match kind(&words).map(|kind| serve(kind, words.get(1).cloned().unwrap_or_default())) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(problem)) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("{problem}\n{}", usage());
            ExitCode::from(2)
        }
    }
}

fn kind(words: &[String]) -> std::result::Result<&'static Kind, String> {
    let word = words.first().ok_or("which store?")?;
    let kind = KINDS.iter().find(|kind| kind.word == word).ok_or_else(|| format!("there is no store `{word}`"))?;
    match (kind.argument, words.len()) {
        (None, 1) | (Some(_), 2) => Ok(kind),
        (None, _) => Err(format!("nothing comes after `{word}`")),
        (Some(argument), _) => Err(format!("after `{word}` comes one word: {argument}")),
    }
}

fn usage() -> String {
    let forms =
        KINDS.iter().map(|kind| format!("{} {}", kind.word, kind.argument.unwrap_or_default()).trim().to_owned());
    format!(
        "usage: saver_stdio {} (other stores need the feature of their name)",
        forms.collect::<Vec<_>>().join(" | ")
    )
}

/// Handles one request per line until end of input.
fn serve(kind: &Kind, location: String) -> std::result::Result<(), String> {
    let runtime = Runtime::new().map_err(|error| format!("no runtime: {error}"))?;
    let store = runtime.block_on((kind.open)(location)).map_err(|error| error.to_string())?;
    let checkpointer = LangGraphCheckpointer::new(store);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).map_err(|error| format!("cannot read: {error}"))? > 0 {
        let reply = reply(&runtime, &checkpointer, &line);
        writeln!(output, "{reply}").and_then(|()| output.flush()).map_err(|error| format!("cannot write: {error}"))?;
        line.clear();
    }
    Ok(())
}

fn reply(runtime: &Runtime, checkpointer: &LangGraphCheckpointer, line: &[u8]) -> Value {
    let request = serde_json::from_slice(line).map_err(|error| format!("not understood: {error}"));
    match request.and_then(|request| runtime.block_on(checkpointer.answer(request)).map_err(|error| error.to_string()))
    {
        Ok(result) => json!({ "ok": result }),
        Err(problem) => json!({ "err": problem }),
    }
}
