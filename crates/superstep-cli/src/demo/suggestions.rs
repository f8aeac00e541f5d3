//! `superstep demo suggestions`: what is searched for while it is, then what to read.

use serde_json::{Value, json};
use superstep::Code;
use superstep::model::{ModelKind, SharedModel};
use superstep_suggestions::planner::{self, planner};
use superstep_suggestions::sources::{NewPost, Sources};
use superstep_suggestions::types::{McpSuggestion, PostSummary};
use superstep_suggestions::{Asking, Context, Suggested, direct, document, graph};

use crate::apps::models;
use crate::args::{DemoSuggestions, Global};
use crate::failure::Failure;
use crate::log;
use crate::out::{Format, Out, Tone, toned};
use crate::setup::Setup;
use crate::words::{cut, harmless, padded, width, wrap};

/// How wide the names of searches are.
const NAMES: usize = 8;
/// How much of each source is shown.
const SHOWN: usize = 3;

/// Suggests something for a post.
pub(crate) async fn suggestions(asked: &DemoSuggestions, global: &Global, out: &Out) -> Result<u8, Failure> {
    log::listen(global, false);
    let setup = Setup::load(global)?;
    let mut settings = asked.looking.settings(global.offline)?;
    // What is tried out here leaves no post behind, and the sample is always fresh.
    settings.posts = None;
    let sources = settings.open().await?;
    note_left_out(&sources, out);
    let post = post(asked, &sources).await?;
    let (model, label) = decider(&setup, &sources, &asked.model)?;
    if out.is_text() {
        out.result(format!("{} · {label}", toned(Tone::Strong, "suggestions")));
        wrap(&post.text, room()).iter().for_each(|line| out.result(format!("  {line}")));
        out.result("");
    }
    let hints = model.clone().filter(|model| model.info().kind != ModelKind::Rules);
    let context = model.into_iter().fold(Context::new(&post.id), Context::model);
    let context = settings.token.clone().into_iter().fold(context, Context::access_token);
    let context = context.connected(sources, hints).await?;
    let suggested = searched(&Asking::new(&context, &post.text, &post.tags)?, settings.max_tool_rounds, out).await?;
    tell(&suggested, out);
    Ok(0)
}

/// Says what of a folder is not searched.
pub(crate) fn note_left_out(sources: &Sources, out: &Out) {
    let skipped = sources.skipped();
    skipped.iter().take(SHOWN).for_each(|skipped| out.note(format_args!("not searched: {}", harmless(skipped))));
    if skipped.len() > SHOWN {
        out.note(format_args!("not searched: {} more", skipped.len() - SHOWN));
    }
}

async fn post(asked: &DemoSuggestions, sources: &Sources) -> Result<PostSummary, Failure> {
    let posts = sources.posts();
    if let Some(text) = &asked.post {
        return Ok(posts.create(NewPost::new(text)).await?);
    }
    let missing = || {
        let failure = Failure::new(Code::NotFound, format!("the sample has no post `{}`", asked.id));
        failure.help("superstep demo suggestions --post \"How do I …?\"")
    };
    posts.get(&asked.id).await?.ok_or_else(missing)
}

/// Who decides, and what people call it.
fn decider(setup: &Setup, sources: &Sources, name: &str) -> Result<(Option<SharedModel>, String), Failure> {
    match name {
        "local" | "rules" | "local/rules" => {
            return Ok((Some(planner(sources.clone()).into()), planner::LABEL.to_owned()));
        }
        "direct" | "local/direct" => return Ok((None, direct::LABEL.to_owned())),
        _ => {}
    }
    if setup.is_offline && !setup.settings.models.contains_key(name) && name.contains('/') {
        let message = format!("model `{name}` is asked over the network, and `--offline` forbids it");
        return Err(Failure::new(Code::PolicyRefused, message).help("superstep demo suggestions --model local"));
    }
    Ok((Some(models(setup).get(name, &["local", "direct"])?), format!("{name}, a language model")))
}

/// Runs the search, and tells what is searched for.
async fn searched(asking: &Asking, rounds: u32, out: &Out) -> Result<Suggested, Failure> {
    let Some(run) = asking.run(&graph(rounds)?) else { return Ok(asking.directly(None).await) };
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = serde_json::to_value(&event).unwrap_or_default();
        match out.format {
            Format::Text => searching(&event, out),
            Format::JsonLines => out.json(&event),
            Format::Json => {}
        }
    }
    Ok(asking.conclude(events.finish().await).await?)
}

fn searching(event: &Value, out: &Out) {
    let name = event["name"].as_str().unwrap_or_default();
    if let (Some("on_tool_start"), Some(source)) = (event["event"].as_str(), name.strip_prefix("search_")) {
        let query = event["data"]["input"]["query"].as_str().unwrap_or_default();
        out.result(format!("  search {}{}", padded(source, NAMES), cut(query, room())));
    }
}

fn tell(suggested: &Suggested, out: &Out) {
    match out.format {
        Format::Text => show(suggested, out),
        Format::Json => out.json(&document(suggested)),
        Format::JsonLines => out.json(&json!({ "event": "suggestions", "data": document(suggested) })),
    }
}

fn show(suggested: &Suggested, out: &Out) {
    let response = &suggested.response;
    let hint = response.action_hint.as_deref().unwrap_or("nothing was found that would help");
    wrap(hint, room()).iter().enumerate().for_each(|(at, line)| {
        let name = if at == 0 { "next" } else { "" };
        out.result(format!("{}{}{line}", if at == 0 { "\n" } else { "" }, padded(name, NAMES)));
    });
    section("Microsoft 365", &response.m365, out);
    section("documents", &response.docs, out);
    section("issues", &response.issues, out);
    if !response.posts.is_empty() {
        out.result("\nposts");
        for post in &response.posts {
            out.result(format!("  {}", cut(&post.text, room())));
            out.result(toned(Tone::Faint, &format!("    {} · {}", harmless(&post.author_name), harmless(&post.id))));
        }
    }
    for source in &response.unavailable_sources {
        let reason = suggested.reasons.get(source).map_or("no reason given", String::as_str);
        out.note(format_args!("{source} was not searched: {}", harmless(reason)));
    }
    suggested.warnings.iter().for_each(|warning| out.note(format_args!("warning: {}", harmless(warning))));
}

fn section(name: &str, found: &[McpSuggestion], out: &Out) {
    if found.is_empty() {
        return;
    }
    out.result(format!("\n{name}"));
    for suggestion in found.iter().take(SHOWN) {
        out.result(format!("  {}", cut(&suggestion.title, room())));
        wrap(&suggestion.description, room()).iter().take(2).for_each(|line| out.result(format!("    {line}")));
        out.result(toned(Tone::Faint, &format!("    {}", cut(&suggestion.url, room()))));
    }
    if found.len() > SHOWN {
        out.result(toned(Tone::Faint, &format!("  and {} more", found.len() - SHOWN)));
    }
}

fn room() -> usize {
    width().saturating_sub(16).clamp(20, 96)
}
