//! A team: a supervisor calls two agents at once, sums up what they say, and the run says what it cost. Offline: the models
//! are scripts, and the prices are made up.

use serde_json::json;
use superstep::agent::{member, react_agent, supervisor};
use superstep::core::message::ToolCall;
use superstep::model::{Prices, Reply, Scripted};
use superstep::prelude::*;
use superstep::tool::Tools;

/// How warm it is in a city.
#[tool(read_only)]
async fn weather(city: String) -> String {
    format!("18 degrees in {city}; ask the station at station@example.org")
}

/// A message that calls several agents.
fn calls(agents: &[&str]) -> Reply {
    let call = |agent: &&str| ToolCall::new(*agent, format!("transfer_to_{agent}"), json!({}));
    Reply::from(Message::assistant("").with_tool_calls(agents.iter().map(call)))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let looks = Scripted::new([Reply::call("weather", json!({ "city": "Rome" })), Reply::from("18 degrees.")]);
    let plans = Scripted::new(["The forum in the morning, gelato at noon."]);
    let leads = Scripted::new([calls(&["meteo", "guide"]), Reply::from("Go: 18 degrees, forum, gelato.")]);
    let team = supervisor(
        leads.named("chief"),
        [
            member("meteo", "Knows the weather.", react_agent(looks.named("small"), [weather()])),
            member("guide", "Plans days.", react_agent(plans.named("small"), Tools::default())),
        ],
    )
    .compile()?;

    let prices = Prices::from_toml("['scripted/chief']\ninput = 3\noutput = 15")?;
    let done = team.run("A day in Rome?").prices(prices).await?;
    for message in done.state.messages.iter().filter(|message| !message.text().is_empty()) {
        println!("{:?} {}: {}", message.role, message.name.as_deref().unwrap_or("-"), message.text());
    }
    for line in done.usage().by_model() {
        println!("{}: {} calls, cents: {:.2?}", line.model, line.calls, line.cents);
    }
    Ok(())
}
