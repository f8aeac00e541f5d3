//! `superstep run GRAPH`, and the parts common to all runs: node tree, prompts, summary.

use std::io::Read;

use serde_json::{Map, Value, json};
use superstep::ErrorCode;
use superstep::core::id::ThreadId;
use superstep_server::{RunInput, RunRequest, RunService, RunStatus, ServedGraph, new_thread_id};

mod tree;
mod view;

use crate::args::{GlobalArgs, RunArgs, StreamModeArg};
use crate::cli_config::CliConfig;
use crate::error::{CliError, resume_command};
use crate::graphs;
use crate::interrupt_prompt;
use crate::log;
use crate::output::{Output, OutputFormat};
use crate::run_driver::{RunDisplay, RunSummary, STOPPED, run_to_end};
use crate::text::{format_duration, pluralize, pretty, shell_quote};
pub(crate) use view::RunView;

/// Exit code of a process whose run waits for a resume value.
pub(crate) const WAITING: u8 = 10;

/// Runs a graph.
pub(crate) async fn run(args: &RunArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let mut config = CliConfig::load(global)?;
    config.configure_assistant(&args.assistant, &args.graph).await?;
    config.configure_family(&args.family, &args.graph);
    let graph = graphs::find(&config, &args.graph)?;
    let input = read_input(args.input.as_deref())?;
    let (example, diagram) = (example(&*graph), graph.diagram());
    let runs = RunService::open([graph.clone()], config.open_storage(out).await?)?;
    let thread = match args.thread.as_deref() {
        Some(thread) => ThreadId::from(thread),
        None => new_thread(&runs, &args.graph).await?,
    };
    let mut request = RunRequest::new(&args.graph, &thread, RunInput::Input(input));
    // A thread that already exists keeps its annotations.
    if runs.find_thread(&thread).await?.is_none() {
        request = graph.annotate(request);
    }
    let summary = run_interactive(&runs, request, &mut RunView::new(args.stream, &diagram, *out), out).await;
    // An invalid thread id does not become valid with another input.
    let needs_other_input = |failure: &CliError| failure.is_input_error() && thread.is_valid();
    let summary =
        summary.map_err(|failure| if needs_other_input(&failure) { failure.help(example) } else { failure })?;
    print_output(summary, args.stream, out)
}

/// Executes a run to its end, and prompts for the resume values of its interrupts if a user is present.
pub(crate) async fn run_interactive(
    runs: &RunService,
    request: RunRequest,
    view: &mut dyn RunDisplay,
    out: &Output,
) -> Result<RunSummary, CliError> {
    let context = request.context.clone();
    let mut summary = run_to_end(runs, request, view).await?;
    while summary.status == RunStatus::AwaitingInput && !summary.interrupts.is_empty() && out.is_interactive() {
        let Some(resume_values) = interrupt_prompt::prompt_resume_values(&summary.interrupts, out).await? else {
            break;
        };
        let request =
            RunRequest::new(&summary.graph, &summary.thread, RunInput::Resume(resume_values)).context(context.clone());
        let (tokens, duration) = (summary.tokens, summary.duration);
        summary = run_to_end(runs, request, view).await?;
        (summary.tokens, summary.duration) = (summary.tokens + tokens, summary.duration + duration);
    }
    Ok(summary)
}

/// Prints the result of a run; returns the exit code.
pub(crate) fn print_output(summary: RunSummary, stream: Option<StreamModeArg>, out: &Output) -> Result<u8, CliError> {
    match out.format {
        OutputFormat::Text if summary.status == RunStatus::Succeeded && stream.is_none() => {
            out.print_result(pretty(&summary.output));
        }
        OutputFormat::Text => {}
        OutputFormat::Json => out.json(&document(&summary)),
        OutputFormat::JsonLines => {
            let mut line = Map::from_iter([("event".to_owned(), json!("end"))]);
            line.extend(document(&summary));
            out.json(&line);
        }
    }
    print_summary(summary, out)
}

/// Prints the summary for users; returns the exit code.
pub(crate) fn print_summary(summary: RunSummary, out: &Output) -> Result<u8, CliError> {
    let mut details = vec![format_duration(summary.duration)];
    if summary.tokens > 0 {
        details.push(pluralize(summary.tokens, "token"));
    }
    details.push(format!("thread {}", summary.thread));
    let details = details.join(" · ");
    match summary.status {
        RunStatus::Succeeded => {
            out.print_note(format_args!("done · {details}"));
            Ok(0)
        }
        RunStatus::AwaitingInput => {
            summary.interrupts.iter().for_each(|interrupt| interrupt_prompt::print_interrupt(interrupt, out));
            out.print_note(format_args!("interrupted, waiting for input · {details}"));
            let answer_flag = if summary.interrupts.is_empty() { "" } else { " --answer JSON" };
            out.print_note(format_args!("resume with: {}{answer_flag}", resume_command(&summary.thread)));
            Ok(WAITING)
        }
        RunStatus::Failed => {
            let failure = summary.failure.map(CliError::from);
            Err(failure
                .unwrap_or_else(|| CliError::new(ErrorCode::NodeFailed, "the run failed"))
                .with_resume_hint(&summary.thread))
        }
        _ => {
            out.print_note(format_args!("stopped and saved · {details}"));
            out.print_note(format_args!("resume with: {}", resume_command(&summary.thread)));
            Ok(STOPPED)
        }
    }
}

fn document(summary: &RunSummary) -> Map<String, Value> {
    let document = json!({
        "thread": summary.thread, "run": summary.run, "graph": summary.graph, "status": summary.status,
        "output": summary.output, "questions": summary.interrupts, "failure": summary.failure,
        "tokens": summary.tokens,
        "duration_ms": u64::try_from(summary.duration.as_millis()).unwrap_or(u64::MAX),
    });
    match document {
        Value::Object(document) => document,
        _ => Map::new(),
    }
}

/// Returns an unused thread id that is easy to type: the name of the graph, and a few random characters.
pub(crate) async fn new_thread(runs: &RunService, graph: &str) -> Result<ThreadId, CliError> {
    let name: String = graph.chars().map(|symbol| if symbol.is_ascii_alphanumeric() { symbol } else { '-' }).collect();
    unused_thread(runs, |length| {
        let id = new_thread_id().to_string();
        ThreadId::from(format!("{}-{}", &name[..name.len().min(40)], &id[id.len().saturating_sub(length)..]))
    })
    .await
}

/// Returns the first id that no thread has; each attempt is one character longer.
async fn unused_thread(runs: &RunService, mut new_id: impl FnMut(usize) -> ThreadId) -> Result<ThreadId, CliError> {
    for length in 6..=12 {
        let thread = new_id(length);
        if runs.find_thread(&thread).await?.is_none() {
            return Ok(thread);
        }
    }
    Ok(new_thread_id())
}

/// Reads the input of a run: JSON, `@FILE`, `-` for stdin. Default: an empty object.
fn read_input(argument: Option<&str>) -> Result<Value, CliError> {
    let (source, text) = match argument {
        None => return Ok(json!({})),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| input_read_error("stdin", &error))?;
            ("stdin".to_owned(), text)
        }
        Some(value) => match value.strip_prefix('@') {
            Some(path) => {
                (path.to_owned(), std::fs::read_to_string(path).map_err(|error| input_read_error(path, &error))?)
            }
            None => ("--input".to_owned(), value.to_owned()),
        },
    };
    serde_json::from_str(&text).map_err(|error| {
        let failure = CliError::new(ErrorCode::InputInvalid, format!("`{source}` is not JSON: {error}"));
        match source == "--input" {
            true => {
                failure.help("pass a JSON object: --input '{\"field\": \"value\"}'; @FILE reads a file, - reads stdin")
            }
            false => failure,
        }
    })
}

fn input_read_error(source: &str, error: &std::io::Error) -> CliError {
    CliError::new(ErrorCode::InputInvalid, format!("`{source}` cannot be read: {}", error.kind()))
}

/// Returns an example of a valid command; if no field is required, the names of all fields.
fn example(graph: &dyn ServedGraph) -> String {
    let schema = graph.input_schema();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = || schema["properties"].as_object().into_iter().flatten();
    // Optional fields are left out.
    let is_needed = |name: &str, field: &Value| match required.is_empty() {
        true => field.get("default").is_none() && !is_nullable(field) && field["type"].is_string(),
        false => required.contains(&name),
    };
    let needed = fields().filter(|(name, field)| is_needed(name, field));
    let input: Map<String, Value> = needed.map(|(name, field)| (name.clone(), sample(field))).collect();
    if input.is_empty() {
        let names: Vec<String> = fields().map(|(name, _)| format!("`{name}`")).collect();
        return format!("input fields: {}", names.join(", "));
    }
    format!(
        "for example: superstep run {} --input {}",
        shell_quote(graph.name()),
        shell_quote(&Value::Object(input).to_string())
    )
}

fn is_nullable(field: &Value) -> bool {
    field["type"].as_array().is_some_and(|types| types.iter().any(|name| name == "null"))
}

fn sample(field: &Value) -> Value {
    let field_type = field["type"].as_array().and_then(|types| types.first()).unwrap_or(&field["type"]);
    match (field["enum"].get(0), field_type.as_str()) {
        (Some(first), _) => first.clone(),
        (_, Some("string")) => json!("…"),
        (_, Some("integer" | "number")) => json!(1),
        (_, Some("boolean")) => json!(true),
        (_, Some("array")) => json!([]),
        (_, Some("object")) => json!({}),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use superstep_server::{ServerConfig, Storage};

    use super::*;

    /// R-CLI-4a: a new thread never gets the id of an existing one, which the run would continue.
    #[test]
    fn a_new_thread_gets_an_unused_id() {
        let threads = crate::runtime::block_on(async {
            let config = ServerConfig::new(Storage::memory());
            let existing = json!({
                "version": 1, "thread": "t-6", "graph": "g", "run": superstep_server::new_run_id(),
                "status": "finished", "created_at": "", "updated_at": "",
            });
            config.storage.store.put(["server", "threads"], "t-6", existing).await?;
            let runs = RunService::open([], config)?;
            let first = unused_thread(&runs, |length| ThreadId::from(format!("t-{length}"))).await?;
            Ok((first, new_thread(&runs, "a b").await?))
        });
        let (first, second) = threads.expect("names");
        assert_eq!(first.as_str(), "t-7");
        assert!(second.as_str().starts_with("a-b-") && second.as_str().len() == 10, "{second}");
    }
}
