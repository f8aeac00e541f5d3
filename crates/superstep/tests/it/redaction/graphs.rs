//! A graph that redacts everything that enters it.

use superstep::redaction::Redaction;

use super::*;

/// A graph whose nodes produce secrets in every way; optionally with redaction.
fn graph(disk: &Disk, redaction: Option<Redaction>) -> CompiledGraph<Chat, SharedModel> {
    let mut inner = StateGraph::<Chat, SharedModel>::new("inner");
    let deep = inner.add_node("deep", || Chat::update().topic(SECRETS.to_owned()));
    inner.add_edge(START, deep).add_edge(deep, END);
    let mut graph = StateGraph::<Chat, SharedModel>::new("graph");
    let think = graph.add_node("think", async |model: RunContext<SharedModel>, cx: TaskContext| {
        let noted = cx.once("noted", async { Ok::<_, NodeError>(SECRETS.to_owned()) }).await?;
        cx.emit(json!({ "noted": noted })).await?;
        let answer = cx.model(&model).request(SECRETS).await?;
        let resumed: String = cx.interrupts().raise(SECRETS, json!({ "show": SECRETS })).await?;
        Ok::<_, NodeError>(Chat::update().messages(answer.message).log([noted, resumed]))
    });
    let inner = graph.add_node("inner", inner.compile().unwrap());
    let fail = graph.add_node(
        "fail",
        node(async |_chat: View<Chat>| Err::<ChatUpdate, NodeError>(std::io::Error::other(SECRETS).into()))
            .retry(RetryPolicy::default()),
    );
    graph
        .add_edge(START, think)
        .add_edge(think, inner)
        .add_edge(inner, fail)
        .add_edge(fail, END)
        .checkpointer(disk.store.clone());
    if let Some(redaction) = redaction {
        graph.redact(redaction);
    }
    graph.compile().unwrap()
}

/// Runs, resumes and updates the graph, and returns the collected data.
async fn leaks(redaction: Option<Redaction>) -> Disk {
    let mut disk = Disk::new();
    let graph = graph(&disk, redaction);
    let input = Chat::input().topic(SECRETS.to_owned()).messages(SECRETS);
    let run = graph.invoke(input).thread("t").context(Speaker(SECRETS).into()).metadata("who", SECRETS);
    let paused = disk.watch(&graph, run).await.unwrap();
    assert_eq!(paused.interrupts().len(), 1);
    let answer = graph.resume("t", SECRETS).context(Speaker(SECRETS).into());
    disk.watch(&graph, answer).await.unwrap_err();
    graph.threads().update_state("t", Chat::update().topic(format!("{SECRETS} again"))).await.unwrap();
    disk.scan().await;
    disk
}

/// R-FWK-91: inputs, updates of nodes and external updates, recorded results, interrupts, resume values, events,
/// model messages, errors and subgraphs: if a graph redacts, no secret is found in checkpoints, events, streams or on
/// disk.
#[tokio::test]
async fn a_graph_redacts_everything_that_enters_it() {
    leaks(Some(Redaction::default())).await.assert_clean();
    assert_eq!(leaks(None).await.leaks(), NEEDLES, "the search must be able to find them");
}

/// R-FWK-91: values at configured field paths are removed completely, permitted ones stay, and nothing else is
/// changed.
#[tokio::test]
async fn a_graph_redacts_fields_by_path() {
    #[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
    struct Person {
        name: String,
        mail: String,
        notes: serde_json::Value,
        #[reduce(append)]
        numbers: Vec<u64>,
    }
    let mut graph = StateGraph::<Person>::new("person");
    let inspect = graph.add_node("look", |person: View<Person>| {
        Person::update().notes(json!({ "pin": 1, "saw": person.name })).numbers(vec![4111111111111111_u64])
    });
    graph.add_edge(START, inspect).add_edge(inspect, END);
    graph.redact(Redaction::default().field("name").field("notes.pin").allow_field("mail"));
    let input = Person::input().name("Ada".to_owned()).mail("ada@example.com".to_owned());
    let person = graph.compile().unwrap().invoke(input.notes(Value::Null).numbers(vec![7])).await.unwrap().state;
    assert_eq!((person.name.as_str(), person.mail.as_str()), ("[REDACTED:field]", "ada@example.com"));
    assert_eq!(person.notes, json!({ "pin": "[REDACTED:field]", "saw": "[REDACTED:field]" }));
    assert_eq!(person.numbers, [7, 4111111111111111]);
}
