//! `superstep demo suggestions`: search queries while they run, then the suggestions.

use serde_json::{Value, json};
use superstep::ErrorCode;
use superstep::models::{ModelKind, SharedModel};
use superstep_suggestions::planner::{self, planner};
use superstep_suggestions::sources::{NewPost, Sources};
use superstep_suggestions::types::{McpSuggestion, PostSummary};
use superstep_suggestions::{
    SuggestionResult, SuggestionRun, SuggestionsContext, create_suggestions_graph, direct_search, suggestions_json,
};

use crate::apps::models;
use crate::args::{DemoSuggestions, GlobalArgs};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::log;
use crate::output::{Output, OutputFormat, TextStyle, styled};
use crate::text::{padded, strip_control_characters, truncate, width, wrap};

/// Width of the column with search names.
const NAME_COLUMN_WIDTH: usize = 8;
/// Maximum number of results printed per source.
const MAX_RESULTS: usize = 3;

/// Runs the suggestions agent for a post.
pub(crate) async fn suggestions(args: &DemoSuggestions, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    log::init(global, false);
    let config = CliConfig::load(global)?;
    let mut settings = args.sources.settings(global.offline)?;
    // The demo stores no posts, so the sample is the same every time.
    settings.posts = None;
    let sources = settings.open().await?;
    print_skipped_files(&sources, out);
    let post = post(args, &sources).await?;
    let (model, label) = resolve_planner(&config, &sources, &args.model)?;
    if out.is_text() {
        out.print_result(format!("{} · {label}", styled(TextStyle::Strong, "suggestions")));
        wrap(&post.text, text_width()).iter().for_each(|line| out.print_result(format!("  {line}")));
        out.print_result("");
    }
    let hint_model = model.clone().filter(|model| model.info().kind != ModelKind::Rules);
    let context = model.into_iter().fold(SuggestionsContext::new(&post.id), SuggestionsContext::model);
    let context = settings.token.clone().into_iter().fold(context, SuggestionsContext::access_token);
    let context = context.connect_mcp(sources, hint_model).await?;
    let result =
        run_search(&SuggestionRun::new(&context, &post.text, &post.tags)?, settings.max_tool_rounds, out).await?;
    print_result(&result, out);
    Ok(0)
}

/// Prints the files of a folder that are not searched.
pub(crate) fn print_skipped_files(sources: &Sources, out: &Output) {
    let skipped = sources.skipped();
    skipped
        .iter()
        .take(MAX_RESULTS)
        .for_each(|skipped| out.print_note(format_args!("not searched: {}", strip_control_characters(skipped))));
    if skipped.len() > MAX_RESULTS {
        out.print_note(format_args!("not searched: {} more", skipped.len() - MAX_RESULTS));
    }
}

async fn post(args: &DemoSuggestions, sources: &Sources) -> Result<PostSummary, CliError> {
    let posts = sources.posts();
    if let Some(text) = &args.post {
        return Ok(posts.create(NewPost::new(text)).await?);
    }
    let not_found = || {
        let failure = CliError::new(ErrorCode::NotFound, format!("the sample has no post `{}`", args.id));
        failure.help("superstep demo suggestions --post \"How do I …?\"")
    };
    posts.get(&args.id).await?.ok_or_else(not_found)
}

/// Resolves a model name to the planning model and a label for users.
fn resolve_planner(
    config: &CliConfig,
    sources: &Sources,
    name: &str,
) -> Result<(Option<SharedModel>, String), CliError> {
    match name {
        "local" | "rules" | "local/rules" => {
            return Ok((Some(planner(sources.clone()).into()), planner::LABEL.to_owned()));
        }
        "direct" | "local/direct" => return Ok((None, direct_search::LABEL.to_owned())),
        _ => {}
    }
    if config.is_offline && !config.settings.models.contains_key(name) && name.contains('/') {
        let message = format!("model `{name}` needs the network, which `--offline` forbids");
        return Err(CliError::new(ErrorCode::PolicyRefused, message).help("superstep demo suggestions --model local"));
    }
    Ok((Some(models(config).get(name, &["local", "direct"])?), format!("{name}, a language model")))
}

/// Runs the search, and prints the queries.
async fn run_search(search: &SuggestionRun, rounds: u32, out: &Output) -> Result<SuggestionResult, CliError> {
    let Some(run) = search.run(&create_suggestions_graph(rounds)?) else {
        return Ok(search.search_without_model(None).await);
    };
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = serde_json::to_value(&event).unwrap_or_default();
        match out.format {
            OutputFormat::Text => print_query(&event, out),
            OutputFormat::JsonLines => out.json(&event),
            OutputFormat::Json => {}
        }
    }
    Ok(search.finish(events.finish().await).await?)
}

fn print_query(event: &Value, out: &Output) {
    let name = event["name"].as_str().unwrap_or_default();
    if let (Some("on_tool_start"), Some(source)) = (event["event"].as_str(), name.strip_prefix("search_")) {
        let query = event["data"]["input"]["query"].as_str().unwrap_or_default();
        out.print_result(format!("  search {}{}", padded(source, NAME_COLUMN_WIDTH), truncate(query, text_width())));
    }
}

fn print_result(result: &SuggestionResult, out: &Output) {
    match out.format {
        OutputFormat::Text => print_suggestions(result, out),
        OutputFormat::Json => out.json(&suggestions_json(result)),
        OutputFormat::JsonLines => out.json(&json!({ "event": "suggestions", "data": suggestions_json(result) })),
    }
}

fn print_suggestions(result: &SuggestionResult, out: &Output) {
    let response = &result.response;
    let hint = response.action_hint.as_deref().unwrap_or("no helpful results found");
    wrap(hint, text_width()).iter().enumerate().for_each(|(index, line)| {
        let name = if index == 0 { "next" } else { "" };
        out.print_result(format!("{}{}{line}", if index == 0 { "\n" } else { "" }, padded(name, NAME_COLUMN_WIDTH)));
    });
    print_section("Microsoft 365", &response.m365, out);
    print_section("documents", &response.docs, out);
    print_section("issues", &response.issues, out);
    if !response.posts.is_empty() {
        out.print_result("\nposts");
        for post in &response.posts {
            out.print_result(format!("  {}", truncate(&post.text, text_width())));
            out.print_result(styled(
                TextStyle::Faint,
                &format!(
                    "    {} · {}",
                    strip_control_characters(&post.author_name),
                    strip_control_characters(&post.id)
                ),
            ));
        }
    }
    for source in &response.unavailable_sources {
        let reason = result.unavailable_reasons.get(source).map_or("no reason given", String::as_str);
        out.print_note(format_args!("{source} was not searched: {}", strip_control_characters(reason)));
    }
    result
        .warnings
        .iter()
        .for_each(|warning| out.print_note(format_args!("warning: {}", strip_control_characters(warning))));
}

fn print_section(name: &str, results: &[McpSuggestion], out: &Output) {
    if results.is_empty() {
        return;
    }
    out.print_result(format!("\n{name}"));
    for suggestion in results.iter().take(MAX_RESULTS) {
        out.print_result(format!("  {}", truncate(&suggestion.title, text_width())));
        wrap(&suggestion.description, text_width())
            .iter()
            .take(2)
            .for_each(|line| out.print_result(format!("    {line}")));
        out.print_result(styled(TextStyle::Faint, &format!("    {}", truncate(&suggestion.url, text_width()))));
    }
    if results.len() > MAX_RESULTS {
        out.print_result(styled(TextStyle::Faint, &format!("  and {} more", results.len() - MAX_RESULTS)));
    }
}

fn text_width() -> usize {
    width().saturating_sub(16).clamp(20, 96)
}
