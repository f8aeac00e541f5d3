//! Results of tools are redacted unless somebody says otherwise.

use superstep::core::message::{Content, Part};
use superstep::redact::{Kind, Redaction};
use superstep::tool::{Errors, Progress, SharedTool, ToolCx, ToolSpec, tool_fn};

use super::*;

/// Gives secrets in every way a tool can.
fn leaky() -> SharedTool {
    tool_fn(ToolSpec::new("leaky", "Leaks."), async |(): (), cx: ToolCx| {
        cx.get::<Progress>()?.send(SECRETS).await;
        cx.get::<Writer>()?.event("note", SECRETS).await?;
        let parts = vec![Part::text(SECRETS), Part::Other(json!({ "said": SECRETS }))];
        let mut output = ToolOutput::new(Content::Parts(parts)).with_artifact(json!({ SECRETS: [SECRETS] }));
        output.metadata.insert("note".to_owned(), json!(SECRETS));
        Ok::<_, ToolError>(output)
    })
}

/// Fails with secrets in its words and in what caused it.
fn failing() -> SharedTool {
    tool_fn(ToolSpec::new("failing", "Fails.").retries(1), async |(): (), _cx| {
        Err::<String, ToolError>(std::io::Error::other(SECRETS).into())
    })
}

/// Asks a person.
#[tool]
async fn asking(ask: Ask) -> Result<String, ToolError> {
    Ok(ask.person::<String>("what?", Value::Null).await?)
}

/// An agent without its first word: tools, then the model that reads what they gave.
fn agent(disk: &Disk, node: ToolNode) -> Compiled<Chat, SharedModel> {
    let mut graph = Graph::<Chat, SharedModel>::new("agent");
    let tools = graph.node("tools", node);
    let think = graph.node("think", async |chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx| {
        let answer = cx.model(&model).messages(&chat.messages).await?;
        Ok::<_, NodeError>(Chat::update().messages(answer.message))
    });
    graph.edge(START, tools).edge(tools, think).edge(think, END).checkpointer(disk.store.clone());
    graph.compile().unwrap()
}

/// Runs an agent whose model asks for these tools.
async fn run(node: ToolNode, tools: &[&str]) -> (Disk, Result<Outcome<Chat>, Error>) {
    let mut disk = Disk::new();
    let graph = agent(&disk, node);
    let run = graph.run(asks(tools)).thread("t").context(Speaker("noted").into());
    let done = disk.watch(&graph, run).await;
    (disk, done)
}

/// R-FWK-91, R-PLN-35: a tool that gives a mail address, a card number, an API key, a token and a private key, in text,
/// parts, artifact, notes, progress and events: none is found in messages, checkpoints, events, streams or on disk.
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

/// R-FWK-91, R-PLN-35: a tool that fails with secrets in its error: told the model, or failing the run after a retry,
/// they are found nowhere.
#[tokio::test]
async fn secrets_in_errors_are_found_nowhere() {
    for errors in [Errors::Text, Errors::Propagate] {
        let (disk, done) = run(ToolNode::new([failing()]).errors(errors.clone()), &["failing"]).await;
        disk.assert_clean();
        assert_eq!(done.is_err(), matches!(errors, Errors::Propagate));
        let (raw, _) = run(ToolNode::new([failing()]).errors(errors).without_redaction(), &["failing"]).await;
        assert_eq!(raw.leaks(), NEEDLES, "the search must be able to find them");
    }
}

/// R-FWK-91, R-PLN-35: a result that is kept while another call waits for a person is kept without its secrets.
#[tokio::test]
async fn secrets_in_kept_results_are_found_nowhere() {
    for (node, is_clean) in
        [(ToolNode::new([leaky(), asking()]), true), (ToolNode::new([leaky(), asking()]).without_redaction(), false)]
    {
        let (mut disk, done) = run(node, &["leaky", "asking"]).await;
        assert_eq!(done.unwrap().questions().len(), 1);
        assert_eq!(disk.leaks().is_empty(), is_clean);
        let graph = agent(&disk, ToolNode::new([leaky(), asking()]));
        let answered = graph.resume("t", "well").context(Speaker("noted").into());
        disk.watch(&graph, answered).await.unwrap();
        assert_eq!(disk.leaks().is_empty(), is_clean);
    }
}

/// R-FWK-91: what a node or one tool may give is said with the node: other rules, or none for some tools.
#[tokio::test]
async fn a_node_says_what_is_redacted() {
    let allowed = Redaction::default().allow_kind(Kind::Mail).allow_value("4111 1111 1111 1111");
    let (disk, _) = run(ToolNode::new([leaky()]).redaction(allowed), &["leaky"]).await;
    assert_eq!(disk.leaks(), ["ada.lovelace@", "4111 1111 1111"]);
    let (disk, _) = run(ToolNode::new([leaky()]).without_redaction_of(["leaky"]), &["leaky"]).await;
    assert_eq!(disk.leaks(), NEEDLES);
}

/// R-FWK-91: what a graph that is a tool tells while it runs, and what a tool keeps, has no secrets either.
#[tokio::test]
async fn secrets_told_inside_of_a_tool_are_found_nowhere() {
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Inner {
        seen: String,
    }
    let mut inner = Graph::<Inner>::new("inner");
    let tells = node(async |cx: Cx| -> Result<InnerUpdate, NodeError> {
        cx.emit(json!({ "note": SECRETS })).await?;
        match cx.attempt() {
            1 => Err(NodeError::new(SECRETS).retryable()),
            _ => Ok(Inner::update().seen("done".to_owned())),
        }
    });
    let tells = inner.node("tells", tells.retry(Retry::default()));
    let fails = inner.node("fails", async |_cx: Cx| Err::<InnerUpdate, NodeError>(NodeError::new(SECRETS)));
    inner.edge(START, tells).edge(tells, fails).edge(fails, END);
    let inner = inner.compile().unwrap().as_tool("inner", "A graph.");
    let tools = || ToolNode::new([inner.clone(), asking()]).errors(Errors::Text);
    let calls = ["inner", "asking"];
    let (disk, _) = run(tools(), &calls).await;
    disk.assert_clean();
    let (disk, _) = run(tools().without_redaction(), &calls).await;
    assert_eq!(disk.leaks(), NEEDLES, "the search must be able to find them");
}
