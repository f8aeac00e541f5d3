//! Summarizer: summaries, trimming and facts.

use serde_json::{Value, json};
use superstep::core::message::{Role, count_tokens};
use superstep::models::{ModelErrorKind, ScriptedModel, ScriptedReply};
use superstep::store::SharedStore;
use superstep_assistant::memory::{delete_fact, list_facts};
use superstep_assistant::profile::Profiles;
use superstep_assistant::prompt::ModelTask;
use superstep_assistant::{AgentState, AgentStateUpdate, AssistantContext, TurnLimits};

use crate::support::{Fake, Provider, TestHarness, last, no_tools, plan, policy, prompts_for, rows, test_context};

/// R-PLN-47: facts are saved only with consent, with source and date; the user lists and deletes them, and models
/// receive them.
#[tokio::test]
async fn facts_are_saved_with_consent() {
    let text = "My name is Ana. Remember that I work with tents!";
    let script = || {
        ScriptedModel::new([no_tools(), ScriptedReply::text("Noted."), no_tools(), ScriptedReply::text("Hello Ana.")])
    };
    let (harness, script) = (TestHarness::new(), script());
    let without_consent = test_context(script.clone(), []).today("2026-11-02");
    let store = SharedStore::from(harness.store.clone());
    harness.send(&without_consent, text).await.unwrap();
    assert!(list_facts(&store, "ana").await.unwrap().is_empty(), "the user has not consented");

    let harness = TestHarness::new();
    let store = SharedStore::from(harness.store.clone());
    let script =
        ScriptedModel::new([no_tools(), ScriptedReply::text("Noted."), no_tools(), ScriptedReply::text("Hello Ana.")]);
    let context = test_context(script.clone(), []).remember_facts().today("2026-11-02");
    let state = harness.send(&context, text).await.unwrap().state;
    let saved = list_facts(&store, "ana").await.unwrap();
    let mut texts: Vec<&str> = saved.iter().map(|stored| stored.fact.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["I work with tents", "My name is Ana"]);
    let source = state.messages.iter().next().unwrap().id.as_ref().unwrap().to_string();
    assert!(saved.iter().all(|stored| stored.fact.source == source && stored.fact.date == "2026-11-02"));
    assert!(list_facts(&store, "sam").await.unwrap().is_empty());

    harness.send(&context, "Who am I?").await.unwrap();
    let facts = &prompts_for(&script, ModelTask::Answer)[1].facts;
    assert!(facts.contains(&"My name is Ana".to_owned()), "{facts:?}");
    assert!(
        delete_fact(&store, "ana", &saved[0].key).await.unwrap()
            && !delete_fact(&store, "ana", &saved[0].key).await.unwrap()
    );
    assert_eq!(list_facts(&store, "ana").await.unwrap().len(), 1);
}

/// R-PLN-47, R-PLN-58: a model writes summary and facts; if the model is unavailable, rules do.
#[tokio::test]
async fn a_model_writes_summary_and_facts() {
    let harness = TestHarness::new();
    let script = ScriptedModel::new([
        no_tools(),
        ScriptedReply::text("Noted."),
        ScriptedReply::text(json!({ "summary": "They met.", "facts": ["The user is an analyst"] }).to_string()),
        no_tools(),
        ScriptedReply::text("Fine."),
        ScriptedReply::error(ModelErrorKind::Overloaded, "busy"),
    ]);
    let context = test_context(Provider(script.clone()), []).remember_facts();
    let state = harness.send(&context, "Hello").await.unwrap().state;
    assert_eq!(state.summary, "Began with: Hello\nThey met.");
    let store = SharedStore::from(harness.store.clone());
    assert_eq!(list_facts(&store, "ana").await.unwrap()[0].fact.text, "The user is an analyst");
    let state = harness.send(&context, "How are you?").await.unwrap().state;
    assert_eq!(state.summary, "Began with: Hello\nThey met.\n- How are you? -> Fine.");
    let first = &script.requests()[3].messages[0];
    assert!(first.role == Role::System && first.text().contains("They met."), "the next call begins with the summary");
}

/// R-PLN-48, R-PLN-17: over the limit the oldest messages are removed, the last ten stay, and no tool result is
/// left without its call.
#[tokio::test]
async fn old_messages_are_removed_with_their_tool_results() {
    let defaults = TurnLimits::default();
    assert_eq!((defaults.max_context_tokens, defaults.max_messages), (8_000, 40));
    for limits in [
        TurnLimits { max_messages: 12, ..TurnLimits::default() },
        TurnLimits { max_context_tokens: 120, ..TurnLimits::default() },
    ] {
        let harness = TestHarness::new();
        let script = (0..12).fold(ScriptedModel::default(), |script, turn| {
            let sql = |part: u32| json!({ "sql": format!("select {turn} {part}") });
            script.then(plan(&[("a", "bq_query", sql(1), &[]), ("b", "bq_query", sql(2), &[])])).then("One [1].")
        });
        let context = test_context(script, [Fake::returning("bq_query", rows(&["n"], json!([[1]])))]).limits(limits);
        let (mut removed, mut all) = (false, Vec::new());
        for turn in 0..12 {
            let state = harness.send(&context, &format!("How many in {turn}?")).await.unwrap().state;
            superstep::tools::ensure_tool_results(&state.messages).unwrap();
            assert_eq!(state.messages.iter().next().unwrap().role, Role::User);
            let calls: Vec<&str> =
                state.messages.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.as_str()).collect();
            let answers = state.messages.iter().filter_map(|message| message.tool_call_id.as_deref());
            assert!(answers.into_iter().all(|id| calls.contains(&id)));
            removed |= state.messages.len() < 5 * (turn + 1);
            let ids: Vec<_> = state.messages.iter().map(|message| message.id.clone()).collect();
            all.extend(ids.iter().filter(|id| !all.contains(*id)).cloned().collect::<Vec<_>>());
            assert!(all.ends_with(&ids), "the last stay: {ids:?} of {all:?}");
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

/// Runs turns of two messages each, and returns the number of messages and of their tokens after each turn.
async fn sizes_after_turns(limits: TurnLimits, turns: usize) -> Vec<(usize, u64)> {
    let script = (0..turns).fold(ScriptedModel::default(), |script, _| script.then(no_tools()).then("Noted."));
    let (harness, context) = (TestHarness::new(), test_context(script, []).limits(limits));
    let mut sizes = Vec::new();
    for _ in 0..turns {
        let state = harness.send(&context, "Hello").await.unwrap().state;
        let tokens: u64 = state.messages.iter().map(|message| count_tokens(message).tokens).sum();
        sizes.push((state.messages.len(), tokens));
    }
    sizes
}

/// R-PLN-48: at exactly the limit of messages or of tokens nothing is removed; after one more turn the last ten
/// messages are left.
#[tokio::test]
async fn nothing_is_summarized_at_the_limit() {
    let by_messages = sizes_after_turns(TurnLimits::default(), 21).await;
    assert_eq!((by_messages[19].0, by_messages[20].0), (40, 10));
    let eight_turns = by_messages[7];
    let limits = TurnLimits { max_context_tokens: eight_turns.1, ..TurnLimits::default() };
    let by_tokens = sizes_after_turns(limits, 9).await;
    assert_eq!((by_tokens[7], by_tokens[8].0), (eight_turns, 10));
    assert_eq!(eight_turns.0, 16);
}

/// R-PLN-49, R-PLN-26, R-PLN-6, R-PLN-9, R-PLN-15: the last checkpoint of a turn has an empty scratchpad, and the next
/// turn starts fresh.
#[tokio::test]
async fn a_turn_clears_its_scratchpad_at_the_end() {
    let harness = TestHarness::new();
    let query = Fake::new("bq_query", |args| {
        Ok(rows(&["n"], if args["sql"] == "select 2" { json!([[1]]) } else { json!([]) }))
    });
    let query_plan = |sql: &str| plan(&[("c1", "bq_query", json!({ "sql": sql }), &[])]);
    let script = ScriptedModel::new([
        query_plan("select 1"),
        query_plan("select 2"),
        ScriptedReply::text("One [1]."),
        no_tools(),
        ScriptedReply::text("Bye."),
    ]);
    let context = test_context(script, [query]);
    let first = harness.send(&context, "How many?").await.unwrap().state;
    assert!(first.retry_count == 1 && first.verdict.is_some() && !first.tool_outputs.is_empty());
    assert_eq!(json!(first.verdict), json!({ "status": "verified", "missing": [] }));
    let saved = harness.graph.threads().get_state("t").await.unwrap();
    assert!(saved.state.scratchpad.is_empty() && saved.next.is_empty());
    let second = harness.send(&context, "Bye").await.unwrap().state;
    assert_eq!((second.retry_count, second.verdict.clone(), last(&second).as_str()), (0, None, "Bye."));
    assert!(second.tool_calls.is_empty() && second.tool_outputs.is_empty() && second.start_time > first.start_time);
    assert!(second.tokens_used > first.tokens_used);
}

/// Returns session data about the user, written as an update from outside: an input cannot set it.
fn custom_user_data() -> AgentStateUpdate {
    AgentState::update().user_id("ana").user_context(("desk".to_owned(), json!(4)))
}

/// R-PLN-4, R-PLN-24: permissions and preferences come from the profile at each turn and take effect; other session
/// data stays.
#[tokio::test]
async fn a_changed_profile_applies_from_the_next_turn() {
    let profile = |role: &str, length: &str| {
        let text = json!({ "ana": { "name": "Ana", "role": role, "permissions": [role], "preferences": { "length": length } } });
        Profiles::parse(&text.to_string()).unwrap()
    };
    let query_plan = || plan(&[("c1", "bq_query", json!({ "sql": "select 1" }), &[])]);
    let script = ScriptedModel::new([
        query_plan(),
        ScriptedReply::text("1 [1]."),
        query_plan(),
        no_tools(),
        ScriptedReply::text("No."),
    ]);
    let query = Fake::returning("bq_query", rows(&["n"], json!([[1]])));
    let harness = TestHarness::new();
    let context_with = |profiles: Profiles| {
        let tools: Vec<superstep::tools::SharedTool> = vec![query.clone().into()];
        AssistantContext::new(script.clone(), tools, policy(), profiles)
    };
    harness.graph.threads().update_state("t", custom_user_data()).await.unwrap();
    let first = harness.send(&context_with(profile("analyst", "long")), "Hi").await.unwrap().state;
    assert_eq!(first.user_context["preferences"]["length"], "long");
    let second = harness.send(&context_with(profile("guest", "short")), "And now?").await.unwrap().state;
    let user_data = &second.user_context;
    assert_eq!((&user_data["role"], &user_data["permissions"]), (&json!("guest"), &json!(["guest"])));
    assert_eq!((&user_data["preferences"]["length"], &user_data["desk"]), (&json!("short"), &json!(4)));
    assert_eq!(query.calls().len(), 1, "a guest may not");
    assert_eq!(
        prompts_for(&script, ModelTask::Plan).iter().map(|prompt| prompt.tools.len()).collect::<Vec<_>>(),
        [1, 0, 0]
    );
    assert_eq!(prompts_for(&script, ModelTask::Answer)[1].preferences["length"], "short");
}

/// R-PLN-4: session data about the user stays next to the data of the profile.
#[tokio::test]
async fn the_profile_is_in_the_state() {
    let harness = TestHarness::new();
    harness.graph.threads().update_state("t", custom_user_data()).await.unwrap();
    let context = test_context(ScriptedModel::new([no_tools(), ScriptedReply::text("Hi.")]), []);
    let state = harness.send(&context, "Hi").await.unwrap().state;
    let keys: Vec<&str> = state.user_context.keys().map(String::as_str).collect();
    assert_eq!(keys, ["desk", "name", "permissions", "preferences", "rights", "role"]);
    assert_eq!(state.user_context["preferences"]["zone"], Value::from("Europe/Berlin"));
}
