//! `superstep run GRAPH`, and what every run has in common: a tree of nodes, questions, the last line.

use std::io::Read;

use serde_json::{Map, Value, json};
use superstep::Code;
use superstep::core::id::ThreadId;
use superstep_server::{Desk, Order, RunStatus, Served, What, fresh_thread};

mod tree;
mod view;

use crate::args::{Global, Run, Stream};
use crate::ask;
use crate::drive::{Done, STOPPED, Watch, drive};
use crate::failure::{Failure, resume_command};
use crate::graphs;
use crate::log;
use crate::out::{Format, Out};
use crate::setup::Setup;
use crate::words::{count, pretty, quoted, time};
pub(crate) use view::RunView;

/// How a process ends whose run waits for a person.
pub(crate) const WAITING: u8 = 10;

/// Runs a graph.
pub(crate) async fn run(asked: &Run, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let mut setup = Setup::load(global)?;
    setup.assist(&asked.own, &asked.graph).await?;
    setup.move_in(&asked.household, &asked.graph);
    let graph = graphs::find(&setup, &asked.graph)?;
    let input = input(asked.input.as_deref())?;
    let (example, drawing) = (example(&*graph), graph.drawing());
    let desk = Desk::open([graph.clone()], setup.open(out).await?)?;
    let thread = match asked.thread.as_deref() {
        Some(thread) => ThreadId::from(thread),
        None => new_thread(&desk, &asked.graph).await?,
    };
    let mut order = Order::new(&asked.graph, &thread, What::Start(input));
    // A thread that has begun keeps what was noted of it then.
    if desk.record(&thread).await?.is_none() {
        order = graph.noted(order);
    }
    let done = attend(&desk, order, &mut RunView::new(asked.stream, &drawing, *out), out).await;
    // What is wrong with the id of a thread is no better with another input.
    let is_about_input = |failure: &Failure| failure.is_about_input() && thread.is_valid();
    let done = done.map_err(|failure| if is_about_input(&failure) { failure.help(example) } else { failure })?;
    end(done, asked.stream, out)
}

/// Drives a run, and asks whoever sits at the terminal what it asks.
pub(crate) async fn attend(desk: &Desk, order: Order, view: &mut dyn Watch, out: &Out) -> Result<Done, Failure> {
    let options = order.options.clone();
    let mut done = drive(desk, order, view).await?;
    while done.status == RunStatus::Waiting && !done.questions.is_empty() && out.can_ask() {
        let Some(answers) = ask::ask(&done.questions, out).await? else { break };
        let order = Order::new(&done.graph, &done.thread, What::Answer(answers)).options(options.clone());
        let (tokens, took) = (done.tokens, done.took);
        done = drive(desk, order, view).await?;
        (done.tokens, done.took) = (done.tokens + tokens, done.took + took);
    }
    Ok(done)
}

/// Tells how a run ended; gives the exit code.
pub(crate) fn end(done: Done, stream: Option<Stream>, out: &Out) -> Result<u8, Failure> {
    match out.format {
        Format::Text if done.status == RunStatus::Finished && stream.is_none() => {
            out.result(pretty(&done.output));
        }
        Format::Text => {}
        Format::Json => out.json(&document(&done)),
        Format::JsonLines => {
            let mut line = Map::from_iter([("event".to_owned(), json!("end"))]);
            line.extend(document(&done));
            out.json(&line);
        }
    }
    closing(done, out)
}

/// The last lines, for people; gives the exit code.
pub(crate) fn closing(done: Done, out: &Out) -> Result<u8, Failure> {
    let mut facts = vec![time(done.took)];
    if done.tokens > 0 {
        facts.push(count(done.tokens, "token"));
    }
    facts.push(format!("thread {}", done.thread));
    let facts = facts.join(" · ");
    match done.status {
        RunStatus::Finished => {
            out.note(format_args!("done · {facts}"));
            Ok(0)
        }
        RunStatus::Waiting => {
            done.questions.iter().for_each(|question| ask::show(question, out));
            out.note(format_args!("waiting for you · {facts}"));
            let answer = if done.questions.is_empty() { "" } else { " --answer JSON" };
            out.note(format_args!("go on: {}{answer}", resume_command(&done.thread)));
            Ok(WAITING)
        }
        RunStatus::Failed => {
            let failure = done.failure.map(Failure::from);
            Err(failure.unwrap_or_else(|| Failure::new(Code::NodeFailed, "the run failed")).saved(&done.thread))
        }
        _ => {
            out.note(format_args!("stopped, and saved · {facts}"));
            out.note(format_args!("go on: {}", resume_command(&done.thread)));
            Ok(STOPPED)
        }
    }
}

fn document(done: &Done) -> Map<String, Value> {
    let document = json!({
        "thread": done.thread, "run": done.run, "graph": done.graph, "status": done.status, "output": done.output,
        "questions": done.questions, "failure": done.failure, "tokens": done.tokens,
        "duration_ms": u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
    });
    match document {
        Value::Object(document) => document,
        _ => Map::new(),
    }
}

/// A name that can be typed and that no thread has: the graph's, and a few letters of chance.
pub(crate) async fn new_thread(desk: &Desk, graph: &str) -> Result<ThreadId, Failure> {
    let name: String = graph.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    unused(desk, |letters| {
        let fresh = fresh_thread().to_string();
        ThreadId::from(format!("{}-{}", &name[..name.len().min(40)], &fresh[fresh.len().saturating_sub(letters)..]))
    })
    .await
}

/// The first name that no thread has; each time one is taken the next has a letter more.
async fn unused(desk: &Desk, mut draw: impl FnMut(usize) -> ThreadId) -> Result<ThreadId, Failure> {
    for letters in 6..=12 {
        let thread = draw(letters);
        if desk.record(&thread).await?.is_none() {
            return Ok(thread);
        }
    }
    Ok(fresh_thread())
}

/// What a run begins with: JSON, `@FILE`, `-` for stdin; an empty object when nothing is said.
fn input(given: Option<&str>) -> Result<Value, Failure> {
    let (place, text) = match given {
        None => return Ok(json!({})),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| unread("stdin", &error))?;
            ("stdin".to_owned(), text)
        }
        Some(given) => match given.strip_prefix('@') {
            Some(path) => (path.to_owned(), std::fs::read_to_string(path).map_err(|error| unread(path, &error))?),
            None => ("--input".to_owned(), given.to_owned()),
        },
    };
    serde_json::from_str(&text).map_err(|error| {
        let failure = Failure::new(Code::InputInvalid, format!("`{place}` is not JSON: {error}"));
        match place == "--input" {
            true => {
                failure.help("write an object: --input '{\"field\": \"value\"}'; @FILE reads a file, - reads stdin")
            }
            false => failure,
        }
    })
}

fn unread(place: &str, error: &std::io::Error) -> Failure {
    Failure::new(Code::InputInvalid, format!("`{place}` cannot be read: {}", error.kind()))
}

/// A command that would be right; where nothing is needed, what there is.
fn example(graph: &dyn Served) -> String {
    let schema = graph.input_schema();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = || schema["properties"].as_object().into_iter().flatten();
    // What may be left out is.
    let is_needed = |name: &str, field: &Value| match required.is_empty() {
        true => field.get("default").is_none() && !is_nullable(field) && field["type"].is_string(),
        false => required.contains(&name),
    };
    let needed = fields().filter(|(name, field)| is_needed(name, field));
    let input: Map<String, Value> = needed.map(|(name, field)| (name.clone(), sample(field))).collect();
    if input.is_empty() {
        let names: Vec<String> = fields().map(|(name, _)| format!("`{name}`")).collect();
        return format!("its input may have {}", names.join(", "));
    }
    format!("for example: superstep run {} --input {}", quoted(graph.name()), quoted(&Value::Object(input).to_string()))
}

fn is_nullable(field: &Value) -> bool {
    field["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
}

fn sample(field: &Value) -> Value {
    let kind = field["type"].as_array().and_then(|kinds| kinds.first()).unwrap_or(&field["type"]);
    match (field["enum"].get(0), kind.as_str()) {
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
    use superstep_server::{Config, Stores};

    use super::*;

    /// R-CLI-4: a fresh thread never has the name of another, which it would go on with.
    #[test]
    fn a_fresh_thread_has_a_name_that_none_has() {
        let drawn = crate::local::block_on(async {
            let config = Config::new(Stores::memory());
            let taken = json!({
                "version": 1, "thread": "t-6", "graph": "g", "run": superstep_server::fresh_run(),
                "status": "finished", "created_at": "", "updated_at": "",
            });
            config.stores.items.put(["server", "threads"], "t-6", taken).await?;
            let desk = Desk::open([], config)?;
            let found = unused(&desk, |letters| ThreadId::from(format!("t-{letters}"))).await?;
            Ok((found, new_thread(&desk, "a b").await?))
        });
        let (found, fresh) = drawn.expect("names");
        assert_eq!(found.as_str(), "t-7");
        assert!(fresh.as_str().starts_with("a-b-") && fresh.as_str().len() == 10, "{fresh}");
    }
}
