//! What is summed up, trimmed and remembered.

use serde_json::{Value, json};
use superstep::core::message::Role;
use superstep::model::{Reply, Scripted, Trouble};
use superstep::store::SharedStore;
use superstep_assistant::memory::{facts, forget};
use superstep_assistant::profile::Profiles;
use superstep_assistant::prompt::Task;
use superstep_assistant::{Assistant, AssistantUpdate, Desk, Limits};

use crate::support::{Fake, Provider, Room, asks, desk, last, no_tools, plan, policy, rows};

/// R-PLN-47: facts are kept with consent only, with source and day; the user lists and deletes them, and models hear them.
#[tokio::test]
async fn facts_are_kept_with_consent() {
    let text = "My name is Ana. Remember that I work with tents!";
    let script = || Scripted::new([no_tools(), Reply::text("Noted."), no_tools(), Reply::text("Hello Ana.")]);
    let (room, script) = (Room::new(), script());
    let silent = desk(script.clone(), []).today("2026-11-02");
    let store = SharedStore::from(room.store.clone());
    room.ask(&silent, text).await.unwrap();
    assert!(facts(&store, "ana").await.unwrap().is_empty(), "nobody agreed");

    let room = Room::new();
    let store = SharedStore::from(room.store.clone());
    let script = Scripted::new([no_tools(), Reply::text("Noted."), no_tools(), Reply::text("Hello Ana.")]);
    let desk = desk(script.clone(), []).keeping_facts().today("2026-11-02");
    let state = room.ask(&desk, text).await.unwrap().state;
    let kept = facts(&store, "ana").await.unwrap();
    let mut texts: Vec<&str> = kept.iter().map(|kept| kept.fact.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["I work with tents", "My name is Ana"]);
    let source = state.messages.iter().next().unwrap().id.as_ref().unwrap().to_string();
    assert!(kept.iter().all(|kept| kept.fact.source == source && kept.fact.date == "2026-11-02"));
    assert!(facts(&store, "sam").await.unwrap().is_empty());

    room.ask(&desk, "Who am I?").await.unwrap();
    let heard = &asks(&script, Task::Answer)[1].facts;
    assert!(heard.contains(&"My name is Ana".to_owned()), "{heard:?}");
    assert!(forget(&store, "ana", &kept[0].key).await.unwrap() && !forget(&store, "ana", &kept[0].key).await.unwrap());
    assert_eq!(facts(&store, "ana").await.unwrap().len(), 1);
}

/// R-PLN-47, R-PLN-58: a model writes summary and facts; one that cannot be reached leaves it to the rules.
#[tokio::test]
async fn a_model_sums_up() {
    let room = Room::new();
    let script = Scripted::new([
        no_tools(),
        Reply::text("Noted."),
        Reply::text(json!({ "summary": "They met.", "facts": ["The user is an analyst"] }).to_string()),
        no_tools(),
        Reply::text("Fine."),
        Reply::trouble(Trouble::Overloaded, "busy"),
    ]);
    let desk = desk(Provider(script.clone()), []).keeping_facts();
    let state = room.ask(&desk, "Hello").await.unwrap().state;
    assert_eq!(state.summary, "Began with: Hello\nThey met.");
    let store = SharedStore::from(room.store.clone());
    assert_eq!(facts(&store, "ana").await.unwrap()[0].fact.text, "The user is an analyst");
    let state = room.ask(&desk, "How are you?").await.unwrap().state;
    assert_eq!(state.summary, "Began with: Hello\nThey met.\n- How are you? -> Fine.");
    let first = &script.requests()[3].messages[0];
    assert!(first.role == Role::System && first.text().contains("They met."), "the next call begins with the summary");
}

/// R-PLN-48, R-PLN-17: over the bound the oldest go, the last ten stay, and no answer of a tool is without its call.
#[tokio::test]
async fn old_messages_go_with_their_answers() {
    for limits in
        [Limits { max_messages: 12, ..Limits::default() }, Limits { max_context_tokens: 120, ..Limits::default() }]
    {
        let room = Room::new();
        let script = (0..12).fold(Scripted::default(), |script, turn| {
            let sql = |part: u32| json!({ "sql": format!("select {turn} {part}") });
            script.then(plan(&[("a", "bq_query", sql(1), &[]), ("b", "bq_query", sql(2), &[])])).then("One [1].")
        });
        let desk = desk(script, [Fake::giving("bq_query", rows(&["n"], json!([[1]])))]).limits(limits);
        let mut removed = false;
        for turn in 0..12 {
            let state = room.ask(&desk, &format!("How many in {turn}?")).await.unwrap().state;
            superstep::tool::ensure_answered(&state.messages).unwrap();
            assert_eq!(state.messages.iter().next().unwrap().role, Role::User);
            let calls: Vec<&str> =
                state.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str()).collect();
            let answers = state.messages.iter().filter_map(|message| message.tool_call_id.as_deref());
            assert!(answers.into_iter().all(|id| calls.contains(&id)));
            removed |= state.messages.len() < 5 * (turn + 1);
            assert!(
                state.messages.len() >= 10.min(5 * (turn + 1)) && state.messages.len() <= 15,
                "{}",
                state.messages.len()
            );
            assert!(state.summary.contains("How many in 0?"));
        }
        assert!(removed);
    }
}

/// R-PLN-49, R-PLN-26, R-PLN-6: the last checkpoint of a turn has an empty scratchpad, and the next turn begins anew.
#[tokio::test]
async fn a_turn_ends_tidy_and_the_next_begins_anew() {
    let room = Room::new();
    let nothing = Fake::new("bq_query", |args| {
        Ok(rows(&["n"], if args["sql"] == "select 2" { json!([[1]]) } else { json!([]) }))
    });
    let of = |sql: &str| plan(&[("c1", "bq_query", json!({ "sql": sql }), &[])]);
    let script =
        Scripted::new([of("select 1"), of("select 2"), Reply::text("One [1]."), no_tools(), Reply::text("Bye.")]);
    let desk = desk(script, [nothing]);
    let first = room.ask(&desk, "How many?").await.unwrap().state;
    assert!(first.retry_count == 1 && first.verdict.is_some() && !first.tool_outputs.is_empty());
    let saved = room.graph.threads().state("t").await.unwrap();
    assert!(saved.state.scratchpad.is_empty() && saved.next.is_empty());
    let second = room.ask(&desk, "Bye").await.unwrap().state;
    assert_eq!((second.retry_count, second.verdict.clone(), last(&second).as_str()), (0, None, "Bye."));
    assert!(second.tool_calls.is_empty() && second.tool_outputs.is_empty() && second.start_time >= first.start_time);
    assert!(second.tokens_used > first.tokens_used);
}

/// Something that the session knows of its user, put there by whoever keeps it: an input cannot bring it.
fn known_desk() -> AssistantUpdate {
    Assistant::update().user_id("ana").user_context(("desk".to_owned(), json!(4)))
}

/// R-PLN-4, R-PLN-24: permissions and preferences are those of the profile at each turn, and what they allow holds; what
/// the session knows beside them stays.
#[tokio::test]
async fn a_changed_profile_counts_from_the_next_turn() {
    let profile = |role: &str, length: &str| {
        let text = json!({ "ana": { "name": "Ana", "role": role, "permissions": [role], "preferences": { "length": length } } });
        Profiles::parse(&text.to_string()).unwrap()
    };
    let ask = || plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]);
    let script = Scripted::new([ask(), Reply::text("1 [1]."), ask(), no_tools(), Reply::text("No.")]);
    let query = Fake::giving("bq_query", rows(&["n"], json!([[1]])));
    let room = Room::new();
    let at = |profiles: Profiles| {
        let tools: Vec<superstep::tool::SharedTool> = vec![query.clone().into()];
        Desk::new(script.clone(), tools, policy(), profiles)
    };
    room.graph.threads().update("t", known_desk()).await.unwrap();
    let first = room.ask(&at(profile("analyst", "long")), "Hi").await.unwrap().state;
    assert_eq!(first.user_context["preferences"]["length"], "long");
    let second = room.ask(&at(profile("guest", "short")), "And now?").await.unwrap().state;
    let known = &second.user_context;
    assert_eq!((&known["role"], &known["permissions"]), (&json!("guest"), &json!(["guest"])));
    assert_eq!((&known["preferences"]["length"], &known["desk"]), (&json!("short"), &json!(4)));
    assert_eq!(query.calls().len(), 1, "a guest may not");
    assert_eq!(asks(&script, Task::Plan).iter().map(|ask| ask.tools.len()).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(asks(&script, Task::Answer)[1].preferences["length"], "short");
}

/// R-PLN-4: what the session knows of the user stays beside what the profile says.
#[tokio::test]
async fn the_profile_is_in_the_state() {
    let room = Room::new();
    room.graph.threads().update("t", known_desk()).await.unwrap();
    let desk = desk(Scripted::new([no_tools(), Reply::text("Hi.")]), []);
    let state = room.ask(&desk, "Hi").await.unwrap().state;
    let known: Vec<&str> = state.user_context.keys().map(String::as_str).collect();
    assert_eq!(known, ["desk", "name", "permissions", "preferences", "rights", "role"]);
    assert_eq!(state.user_context["preferences"]["zone"], Value::from("Europe/Berlin"));
}
