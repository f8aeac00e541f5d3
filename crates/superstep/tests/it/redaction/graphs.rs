//! A graph that redacts everything that enters it.

use superstep::redact::Redaction;

use super::*;

/// A graph whose nodes speak of secrets in every way; it redacts if told.
fn graph(disk: &Disk, redaction: Option<Redaction>) -> Compiled<Chat, SharedModel> {
    let mut inner = Graph::<Chat, SharedModel>::new("inner");
    let deep = inner.node("deep", || Chat::update().topic(SECRETS.to_owned()));
    inner.edge(START, deep).edge(deep, END);
    let mut graph = Graph::<Chat, SharedModel>::new("graph");
    let think = graph.node("think", async |model: Ctx<SharedModel>, cx: Cx| {
        let noted = cx.once("noted", async { Ok::<_, NodeError>(SECRETS.to_owned()) }).await?;
        cx.emit(json!({ "noted": noted })).await?;
        let answer = cx.model(&model).request(SECRETS).await?;
        let told: String = cx.ask().person(SECRETS, json!({ "show": SECRETS })).await?;
        Ok::<_, NodeError>(Chat::update().messages(answer.message).log([noted, told]))
    });
    let inner = graph.node("inner", inner.compile().unwrap());
    let fail = graph.node(
        "fail",
        node(async |_chat: View<Chat>| Err::<ChatUpdate, NodeError>(std::io::Error::other(SECRETS).into()))
            .retry(Retry::default()),
    );
    graph.edge(START, think).edge(think, inner).edge(inner, fail).edge(fail, END).checkpointer(disk.store.clone());
    if let Some(redaction) = redaction {
        graph.redact(redaction);
    }
    graph.compile().unwrap()
}

/// Runs, answers, updates from outside, and gives the secrets that were seen.
async fn leaks(redaction: Option<Redaction>) -> Disk {
    let mut disk = Disk::new();
    let graph = graph(&disk, redaction);
    let input = Chat::input().topic(SECRETS.to_owned()).messages(SECRETS);
    let run = graph.run(input).thread("t").context(Speaker(SECRETS).into()).metadata("who", SECRETS);
    let asked = disk.watch(&graph, run).await.unwrap();
    assert_eq!(asked.questions().len(), 1);
    let answer = graph.resume("t", SECRETS).context(Speaker(SECRETS).into());
    disk.watch(&graph, answer).await.unwrap_err();
    graph.threads().update("t", Chat::update().topic(format!("{SECRETS} again"))).await.unwrap();
    disk.look().await;
    disk
}

/// R-FWK-91: inputs, updates of nodes and from outside, records, questions, answers, events, the words of models, errors and
/// graphs inside: where a graph redacts, no secret is found in checkpoints, events, streams or on disk.
#[tokio::test]
async fn a_graph_redacts_what_enters_it() {
    leaks(Some(Redaction::default())).await.assert_clean();
    assert_eq!(leaks(None).await.leaks(), NEEDLES, "the search must be able to find them");
}

/// R-FWK-91: values at paths of the state go whole, those that are allowed stay, and nothing else is changed.
#[tokio::test]
async fn a_graph_redacts_fields_by_path() {
    #[derive(State, Clone, Debug, Serialize, Deserialize)]
    struct Person {
        name: String,
        mail: String,
        notes: serde_json::Value,
        #[reduce(append)]
        numbers: Vec<u64>,
    }
    let mut graph = Graph::<Person>::new("person");
    let look = graph.node("look", |person: View<Person>| {
        Person::update().notes(json!({ "pin": 1, "saw": person.name })).numbers(vec![4111111111111111_u64])
    });
    graph.edge(START, look).edge(look, END);
    graph.redact(Redaction::default().field("name").field("notes.pin").allow_field("mail"));
    let input = Person::input().name("Ada".to_owned()).mail("ada@example.com".to_owned());
    let person = graph.compile().unwrap().run(input.notes(Value::Null).numbers(vec![7])).await.unwrap().state;
    assert_eq!((person.name.as_str(), person.mail.as_str()), ("[REDACTED:field]", "ada@example.com"));
    assert_eq!(person.notes, json!({ "pin": "[REDACTED:field]", "saw": "[REDACTED:field]" }));
    assert_eq!(person.numbers, [7, 4111111111111111]);
}
