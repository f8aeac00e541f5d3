//! A team: a supervisor calls two agents in parallel and summarizes their answers, and the run reports its cost. Runs
//! offline: the models are scripts, and the prices are invented.

use serde_json::json;
use superstep::agents::{react_agent, supervisor, team_member};
use superstep::core::message::ToolCall;
use superstep::models::{Prices, ScriptedModel, ScriptedReply};
use superstep::prelude::*;
use superstep::tools::ToolSet;

/// Returns the temperature in a city.
#[tool(read_only)]
async fn weather(city: String) -> String {
    format!("18 degrees in {city}; ask the station at station@example.org")
}

/// Builds a message that calls several agents.
fn calls(agents: &[&str]) -> ScriptedReply {
    let call = |agent: &&str| ToolCall::new(*agent, format!("transfer_to_{agent}"), json!({}));
    ScriptedReply::from(Message::assistant("").with_tool_calls(agents.iter().map(call)))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let weather_model = ScriptedModel::new([
        ScriptedReply::tool_call("weather", json!({ "city": "Rome" })),
        ScriptedReply::from("18 degrees."),
    ]);
    let guide_model = ScriptedModel::new(["The forum in the morning, gelato at noon."]);
    let supervisor_model =
        ScriptedModel::new([calls(&["meteo", "guide"]), ScriptedReply::from("Go: 18 degrees, forum, gelato.")]);
    let team = supervisor(
        supervisor_model.with_name("chief"),
        [
            team_member("meteo", "Knows the weather.", react_agent(weather_model.with_name("small"), [weather()])),
            team_member("guide", "Plans days.", react_agent(guide_model.with_name("small"), ToolSet::default())),
        ],
    )
    .compile()?;

    let prices = Prices::from_toml("['scripted/chief']\ninput = 3\noutput = 15")?;
    let done = team.invoke("A day in Rome?").prices(prices).await?;
    for message in done.state.messages.iter().filter(|message| !message.text().is_empty()) {
        println!("{:?} {}: {}", message.role, message.name.as_deref().unwrap_or("-"), message.text());
    }
    for row in done.usage().by_model() {
        println!("{}: {} calls, cents: {:.2?}", row.model, row.calls, row.cost_cents);
    }
    Ok(())
}
