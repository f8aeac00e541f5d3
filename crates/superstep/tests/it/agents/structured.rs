//! Answers as data: asked for by a format or by a tool, checked, corrected.

use superstep::agent::{AnswerBy, ModelCallLimit, react_agent};
use superstep::model::{Request, ToolChoice, Trouble};
use superstep::tool::Tools;
use superstep::{Code, JsonSchema};

use super::*;
use crate::support::refused;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Report {
    city: String,
    degrees: i32,
}

/// R-FWK-69, R-FWK-11: a model that can be held to a schema is asked for it, and told what is wrong.
#[tokio::test]
async fn an_answer_by_format_is_checked_and_corrected() {
    let wrong = Reply::from(r#"{"city": "Paris", "degrees": "mild"}"#);
    let right = Reply::from(r#"{"city": "Paris", "degrees": 18}"#);
    let model = Scripted::new([asks_for("Paris"), wrong, right]);
    let agent = react_agent(model.clone(), [weather()]).answer_as::<Report>().compile().unwrap();
    let done = agent.run("How is it in Paris?").await.unwrap();
    assert_eq!(done.state.answer::<Report>().unwrap(), Report { city: "Paris".to_owned(), degrees: 18 });
    assert_eq!(refused(done.state.answer::<Vec<String>>()).code(), Code::OutputInvalid);
    let requests = model.requests();
    assert!(requests.iter().all(|request| request.format.as_ref().unwrap().name == "Report"));
    let told = requests[2].messages.last().unwrap();
    assert!(told.text().contains("/degrees"), "{}", told.text());
    assert_eq!(told.metadata["added_by"], "agent");
}

/// R-FWK-69, R-FWK-11: otherwise the answer is a call that the model must make; what is wrong is told as its result.
#[tokio::test]
async fn an_answer_by_tool_is_checked_and_corrected() {
    let model = Scripted::new([
        asks_for("Paris"),
        Reply::from("It is mild."),
        Reply::call("Report", json!({ "city": "Paris", "degrees": "mild" })),
        Reply::call("Report", json!({ "city": "Paris", "degrees": 18 })).and_call("weather", json!({ "city": "Rome" })),
    ]);
    let agent =
        react_agent(model.clone(), [weather()]).answer_as::<Report>().answer_by(AnswerBy::Tool).compile().unwrap();
    let done = agent.run("How is it in Paris?").await.unwrap();
    assert_eq!(done.state.structured, Some(json!({ "city": "Paris", "degrees": 18 })));
    let told = transcript(&done.state.messages);
    assert_eq!(told[4], "user: Give the answer by a call of `Report`.");
    assert!(told[6].contains("`degrees`: expected integer"), "{told:?}");
    assert_eq!(told[8..], ["tool: done", "tool: not executed: the answer was given"]);
    let names = |request: &Request| request.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let requests = model.requests();
    assert_eq!(
        (names(&requests[0]), &requests[0].tool_choice),
        (vec!["weather".into(), "Report".into()], &ToolChoice::Required)
    );
}

/// R-FWK-69: corrections are bounded, and a bound of 1 means 1; in the last round only the answer may be given.
#[tokio::test]
async fn corrections_are_bounded() {
    let model = Scripted::new(["mild", "warm", "hot"]);
    let agent = react_agent(model.clone(), Tools::default()).answer_as::<Report>().corrections(1).compile().unwrap();
    let error = refused(agent.run("How is it?").await);
    assert_eq!((error.code(), Trouble::of(&error)), (Code::ModelBadAnswer, Some(Trouble::BadAnswer)));
    assert_eq!(model.left(), 1);

    let model = Scripted::new([Reply::call("Report", json!({ "city": "Rome", "degrees": 20 }))]);
    let agent = react_agent(model.clone(), [weather()]).answer_as::<Report>().answer_by(AnswerBy::Tool);
    let done = agent.max_rounds(1).compile().unwrap().run("How is it?").await.unwrap();
    assert_eq!(done.state.structured.as_ref().unwrap()["degrees"], 20);
    let request = &model.requests()[0];
    assert_eq!((request.tools.len(), &request.tool_choice), (1, &ToolChoice::Named("Report".into())));
}

/// R-FWK-11: an answer belongs to its turn: the next question begins without one. Only objects can be answers.
#[tokio::test]
async fn an_answer_is_of_one_turn() {
    let answer = |degrees: i32| json!({ "city": "Rome", "degrees": degrees }).to_string();
    let model = Scripted::new([Reply::from(answer(1)), asks_for("Rome"), Reply::from(answer(2))]);
    let agent = react_agent(model.clone(), [weather()]).answer_as::<Report>().checkpointer(Memory::new());
    let agent = agent.compile().unwrap();
    agent.run("One?").thread("t").await.unwrap();
    let done = agent.run("Two?").thread("t").await.unwrap();
    assert_eq!(done.state.structured.as_ref().unwrap()["degrees"], 2);
    assert_eq!(model.left(), 0);
    let list = react_agent(Scripted::default(), [weather()]).answer_as::<Vec<String>>().compile();
    assert_eq!(refused(list.map(drop)).code(), Code::InvalidGraph);
}

/// R-FWK-11: where a hook ends the agent before the model is asked, the answer of an earlier turn is not that of this one.
#[tokio::test]
async fn a_hook_that_ends_the_agent_leaves_no_old_answer() {
    let model = Scripted::new([json!({ "city": "Rome", "degrees": 1 }).to_string()]);
    let limit = ModelCallLimit::new().per_thread(1);
    let agent = react_agent(model, [weather()]).answer_as::<Report>().middleware(limit).checkpointer(Memory::new());
    let agent = agent.compile().unwrap();
    let one = agent.run("One?").thread("t").await.unwrap();
    assert_eq!(one.state.answer::<Report>().unwrap().degrees, 1);
    let two = agent.run("Two?").thread("t").await.unwrap();
    assert!(two.state.messages.last().unwrap().text().starts_with("Stopped:"));
    assert_eq!(two.state.structured, None);
}

/// R-FWK-69: an agent without tools does not take a call for an end: it is refused, and the model is asked again.
#[tokio::test]
async fn a_call_of_an_agent_without_tools_is_no_answer() {
    let right = json!({ "city": "Paris", "degrees": 18 });
    let wrong = Reply::call("Report", json!({ "city": "Paris" })).and_call("weather", json!({ "city": "Rome" }));
    for (by, replies, told) in [
        (AnswerBy::Format, vec![asks_for("Paris"), Reply::from(right.to_string())], 1),
        (AnswerBy::Tool, vec![asks_for("Paris"), Reply::call("Report", right.clone())], 1),
        (AnswerBy::Tool, vec![wrong, Reply::call("Report", right.clone())], 2),
    ] {
        let model = Scripted::new(replies);
        let agent = react_agent(model.clone(), Tools::default()).answer_as::<Report>().answer_by(by);
        let done = agent.compile().unwrap().run("How is it?").await.unwrap();
        assert_eq!(done.state.structured.as_ref(), Some(&right));
        let lines = transcript(&done.state.messages);
        assert!(lines[2..2 + told].contains(&"tool: not executed: there are no tools".to_owned()), "{lines:?}");
        super::teams::requests(&model);
    }
    let endless = Scripted::default().when(|_| true, asks_for("Rome"));
    let agent = react_agent(endless, Tools::default()).answer_as::<Report>().compile().unwrap();
    assert_eq!(refused(agent.run("How is it?").await).code(), Code::ModelBadAnswer);
}
