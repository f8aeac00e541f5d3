//! Tool results are redacted by default.

use superstep::core::message::{Content, ContentPart};
use superstep::redaction::{Redaction, SecretKind};
use superstep::tools::{SharedTool, ToolContext, ToolErrorHandling, ToolProgress, ToolSpec, tool_fn};

use super::*;

/// A tool that returns secrets in every possible way.
fn leaky() -> SharedTool {
    tool_fn(ToolSpec::new("leaky", "Leaks."), async |(): (), cx: ToolContext| {
        cx.get::<ToolProgress>()?.send(SECRETS).await;
        cx.get::<StreamWriter>()?.send_named("note", SECRETS).await?;
        let parts = vec![ContentPart::text(SECRETS), ContentPart::Other(json!({ "said": SECRETS }))];
        let mut output = ToolOutput::new(Content::Parts(parts)).with_artifact(json!({ SECRETS: [SECRETS] }));
        output.metadata.insert("note".to_owned(), json!(SECRETS));
        Ok::<_, ToolError>(output)
    })
}

/// A tool that fails with secrets in its message and its cause.
fn failing() -> SharedTool {
    tool_fn(ToolSpec::new("failing", "Fails.").retries(1), async |(): (), _cx| {
        Err::<String, ToolError>(std::io::Error::other(SECRETS).into())
    })
}

/// Asks a person.
#[tool]
async fn ask_user(interrupts: Interrupts) -> Result<String, ToolError> {
    Ok(interrupts.raise::<String>("what?", Value::Null).await?)
}

/// An agent that starts with its tools, followed by a model that reads the results.
fn agent(disk: &Disk, node: ToolNode) -> CompiledGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("agent");
    let tools = graph.add_node("tools", node);
    let think = graph.add_node("think", async |chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext| {
        let answer = cx.model(&model).messages(&chat.messages).await?;
        Ok::<_, NodeError>(Chat::update().messages(answer.message))
    });
    graph.add_edge(START, tools).add_edge(tools, think).add_edge(think, END).checkpointer(disk.store.clone());
    graph.compile().unwrap()
}

/// Runs an agent whose first message calls these tools.
async fn run(node: ToolNode, tools: &[&str]) -> (Disk, Result<Outcome<Chat>, Error>) {
    let mut disk = Disk::new();
    let graph = agent(&disk, node);
    let run = graph.invoke(tool_call_input(tools)).thread("t").context(Speaker("noted").into());
    let done = disk.watch(&graph, run).await;
    (disk, done)
}

/// R-FWK-91, R-PLN-35: a tool returns a mail address, a card number, an API key, a token and a private key, in text,
/// parts, artifact, metadata, progress and events: none is found in messages, checkpoints, events, streams or on
/// disk.
#[tokio::test]
async fn secrets_of_a_tool_are_found_nowhere() {
    let (disk, done) = run(ToolNode::new([leaky()]), &["leaky"]).await;
    disk.assert_clean();
    let messages = done.unwrap().state.messages.clone();
    let answer = messages.iter().find(|message| message.tool_call_id.is_some()).unwrap();
    let counts = &answer.metadata["redacted"];
    assert_eq!(counts, &json!({ "mail": 5, "card": 5, "api_key": 5, "jwt": 5, "private_key": 5 }));
    assert!(disk.seen.contains(&format!("\"redacted\":{counts}")), "the event of its end has no counts");
    let (raw, _) = run(ToolNode::new([leaky()]).without_redaction(), &["leaky"]).await;
    assert_eq!(raw.leaks(), NEEDLES, "the search must be able to find them");
}

/// R-FWK-91, R-PLN-35: a tool fails with secrets in its error: reported to the model, or failing the run after a
/// retry, they are found nowhere.
#[tokio::test]
async fn secrets_in_errors_are_found_nowhere() {
    for errors in [ToolErrorHandling::ReturnToModel, ToolErrorHandling::Propagate] {
        let (disk, done) = run(ToolNode::new([failing()]).error_handling(errors.clone()), &["failing"]).await;
        disk.assert_clean();
        assert_eq!(done.is_err(), matches!(errors, ToolErrorHandling::Propagate));
        let (raw, _) = run(ToolNode::new([failing()]).error_handling(errors).without_redaction(), &["failing"]).await;
        assert_eq!(raw.leaks(), NEEDLES, "the search must be able to find them");
    }
}

/// R-FWK-91, R-PLN-35: a result that is saved while another call is interrupted contains no secrets.
#[tokio::test]
async fn secrets_in_saved_results_are_found_nowhere() {
    for (node, is_clean) in [
        (ToolNode::new([leaky(), ask_user()]), true),
        (ToolNode::new([leaky(), ask_user()]).without_redaction(), false),
    ] {
        let (mut disk, done) = run(node, &["leaky", "ask_user"]).await;
        assert_eq!(done.unwrap().interrupts().len(), 1);
        assert_eq!(disk.leaks().is_empty(), is_clean);
        let graph = agent(&disk, ToolNode::new([leaky(), ask_user()]));
        let answered = graph.resume("t", "well").context(Speaker("noted").into());
        disk.watch(&graph, answered).await.unwrap();
        assert_eq!(disk.leaks().is_empty(), is_clean);
    }
}

/// R-FWK-91: the redaction of a node can be configured: other rules, or none for some tools.
#[tokio::test]
async fn the_redaction_of_a_node_is_configurable() {
    let allowed = Redaction::default().allow_kind(SecretKind::Email).allow_value("4111 1111 1111 1111");
    let (disk, _) = run(ToolNode::new([leaky()]).redaction(allowed), &["leaky"]).await;
    assert_eq!(disk.leaks(), ["ada.lovelace@", "4111 1111 1111"]);
    let (disk, _) = run(ToolNode::new([leaky()]).without_redaction_for(["leaky"]), &["leaky"]).await;
    assert_eq!(disk.leaks(), NEEDLES);
}

/// R-FWK-91: events of a graph that is a tool, and values that a tool records, contain no secrets either.
#[tokio::test]
async fn secrets_published_inside_of_a_tool_are_found_nowhere() {
    #[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
    struct Inner {
        seen: String,
    }
    let mut inner = StateGraph::<Inner>::new("inner");
    let emits = node(async |cx: TaskContext| -> Result<InnerUpdate, NodeError> {
        cx.emit(json!({ "note": SECRETS })).await?;
        match cx.attempt() {
            1 => Err(NodeError::new(SECRETS).retryable()),
            _ => Ok(Inner::update().seen("done".to_owned())),
        }
    });
    let emits = inner.add_node("tells", emits.retry(RetryPolicy::default()));
    let fails =
        inner.add_node("fails", async |_cx: TaskContext| Err::<InnerUpdate, NodeError>(NodeError::new(SECRETS)));
    inner.add_edge(START, emits).add_edge(emits, fails).add_edge(fails, END);
    let inner = inner.compile().unwrap().as_tool("inner", "A graph.");
    let tools = || ToolNode::new([inner.clone(), ask_user()]).error_handling(ToolErrorHandling::ReturnToModel);
    let calls = ["inner", "ask_user"];
    let (disk, _) = run(tools(), &calls).await;
    disk.assert_clean();
    let (disk, _) = run(tools().without_redaction(), &calls).await;
    assert_eq!(disk.leaks(), NEEDLES, "the search must be able to find them");
}
