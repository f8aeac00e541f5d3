//! The page of examples: it covers all its subjects, and its diagrams match the code. The examples themselves are
//! doctests.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep_scheduler::models::{
    ConflictDetectionData, EventStatus, NlParserData, ProposedResolution, TimeSlot, from_json,
};
use superstep_scheduler::orchestrator::route::{NextNode, route_next_step};
use superstep_scheduler::state::{FamilySchedulerState, WorkflowStep};
use superstep_scheduler::state_utils::initialize_state;
use superstep_scheduler::store::audit::RecordKind;

use crate::fixtures::{after, folded};
use crate::requests::{SOCCER, Stage, dentist};

const PAGE: &str = include_str!("../../../../book/src/guides/scheduler-app.md");

/// R-FAM-133: each of the eight subjects has a section with runnable examples, and the diagrams match the code.
#[test]
fn the_page_has_its_subjects_and_diagrams() {
    let subjects = [
        "Initialising",
        "Updates by each agent",
        "Routing",
        "Errors and retries",
        "Several turns",
        "Pruning",
        "A whole workflow",
        "Debugging",
    ];
    for subject in subjects {
        let section = PAGE.split("\n## ").find(|section| section.lines().next() == Some(subject));
        let section = section.unwrap_or_else(|| panic!("the page has no section `{subject}`"));
        let examples = blocks(section, "rust");
        assert!(!examples.is_empty(), "{subject}");
        assert!(examples.iter().all(|example| example.contains("assert")), "{subject}");
    }
    assert!(!PAGE.contains("no_run") && !PAGE.contains("rust,"), "every example runs");
    let [steps, event, graph] = diagrams();
    let drawn = superstep_scheduler::state_graph().compile().unwrap().diagram().to_mermaid();
    assert_eq!(graph.trim(), drawn.trim(), "the page shows another graph than the code draws");
    let routed: Pairs =
        arrows(steps).into_iter().filter(|(from, ..)| from != "[*]").map(|(from, _, node)| (from, node)).collect();
    assert_eq!(routed, routes(), "the page shows other ways than the router takes");
    let diagram_statuses: BTreeSet<String> = arrows(event).into_iter().flat_map(|(from, to, _)| [from, to]).collect();
    let all = [EventStatus::Proposed, EventStatus::Validated, EventStatus::Confirmed, EventStatus::Rejected];
    let named = all.map(|status| serde_json::to_value(status).unwrap().as_str().unwrap().to_owned());
    assert_eq!(diagram_statuses, BTreeSet::from(named).into_iter().chain(["[*]".to_owned()]).collect());
}

/// R-FAM-133: every workflow step and event status that occurs in requests is in the diagrams.
#[tokio::test]
async fn the_diagrams_contain_all_transitions() {
    let [steps, event, _] = diagrams();
    let (steps, event) = (arrows(steps), arrows(event));
    let talks: [(&str, Option<Value>); 6] = [
        (SOCCER, Some(json!({ "resolution_id": "res_1" }))),
        (SOCCER, Some(json!({ "decline": true }))),
        ("Piano every Tuesday at 5pm", None),
        ("When is everyone free this weekend?", None),
        ("Cancel the dentist", None),
        ("Do the thing with grandma", Some(json!({ "text": "dinner with grandma on Sunday at 6" }))),
    ];
    let (mut walked, mut became) = (BTreeSet::new(), BTreeSet::new());
    for (words, answer) in talks {
        let stage = Stage::new(vec![dentist()]).await;
        let mut outcome = stage.send(words).await;
        if let Some(answer) = answer {
            outcome = stage.answer(answer).await;
        }
        assert!(outcome.is_finished(), "{words}: {:?}", outcome.interrupts());
        let steps = outcome.state.audit_log.iter().filter(|entry| entry.contains_key("action"));
        walked.extend(steps.map(|entry| (text(&entry["from"]), text(&entry["to"]))));
        let audit = stage.context.store.audit(&stage.context.family_id, 20).await.unwrap();
        let own = audit.iter().filter(|entry| entry.action != "create_family");
        let images = own.flat_map(|entry| &entry.images).filter(|image| image.kind == RecordKind::Event);
        became.extend(images.map(|image| (status(image.before.as_ref()), status(image.after.as_ref()))));
    }
    let missing = |walked: &Pairs, diagram: &[Arrow]| -> Pairs {
        let pairs: Pairs = diagram.iter().map(|arrow| (arrow.0.clone(), arrow.1.clone())).collect();
        walked.difference(&pairs).cloned().collect()
    };
    assert_eq!(missing(&walked, &steps), Pairs::new());
    assert_eq!(missing(&became, &event), Pairs::new());
    assert_eq!((walked.len(), became.len()), (11, 5), "{walked:?} {became:?}");
}

/// An edge of a diagram: source, target, label.
type Arrow = (String, String, String);
pub(crate) type Pairs = BTreeSet<(String, String)>;

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the status of an event. A missing event is at the start or end of its life cycle.
fn status(event: Option<&Value>) -> String {
    event.map_or_else(|| "[*]".to_owned(), |event| text(&event["status"]))
}

/// Returns the diagrams of the page: steps, event, graph.
fn diagrams() -> [&'static str; 3] {
    blocks(PAGE, "mermaid").try_into().expect("the page has three diagrams")
}

/// Returns the fenced code blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let starts = text.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts.map(|start| &text[start..]).map(|rest| &rest[..rest.find("```").unwrap()]).collect()
}

/// Returns the edges of a diagram. An edge to the end state is labelled with the end node.
fn arrows(diagram: &str) -> Vec<Arrow> {
    let arrow = |line: &str| {
        let (from, rest) = line.trim().split_once(" --> ")?;
        let (to, by) = rest.split_once(": ").unwrap_or((rest, ""));
        let by = if to == "[*]" { NextNode::End.node() } else { by };
        Some((from.to_owned(), to.to_owned(), by.to_owned()))
    };
    diagram.lines().filter_map(arrow).collect()
}

/// Returns all transitions of the router, determined by running it on every step and result.
pub(crate) fn routes() -> Pairs {
    let slot: TimeSlot = from_json(json!({
        "start_time": "2026-01-10T14:00:00Z", "end_time": "2026-01-10T15:00:00Z", "score": 1.0,
        "available_participants": [], "constraint_violations": [],
    }))
    .unwrap();
    let resolution: ProposedResolution = from_json(json!({
        "resolution_id": "res_1", "strategy": "move_event", "score": 0.9, "description": "d", "changes": [],
        "conflicts_resolved": [], "side_effects": [],
    }))
    .unwrap();
    let one = json!({ "id": "c1", "type": "time_conflict", "severity": "low", "details": "d" });
    let some: ConflictDetectionData =
        from_json(json!({ "conflicts": [one], "has_conflicts": true, "blocking_conflicts": [] })).unwrap();
    let parsed = |kind: &str| -> NlParserData { from_json(json!({ "event_type": kind })).unwrap() };
    let initial = initialize_state("x", "mom");
    let mut states =
        vec![initial.clone(), after(&initial, &[("nl_parser", 0.95)]), after(&initial, &[("nl_parser", 0.6)])];
    states = each(states, |state| {
        let kinds = ["create", "modify", "cancel", "query"].map(|kind| Some(parsed(kind)));
        kinds
            .into_iter()
            .chain([None])
            .map(|data| folded(state, [FamilySchedulerState::update().parsed_event_data(data)]))
            .collect()
    });
    states = each(states, |state| {
        let detected = [Some(ConflictDetectionData::default()), Some(some.clone()), None];
        detected.map(|conflicts| folded(state, [FamilySchedulerState::update().detected_conflicts(conflicts)])).to_vec()
    });
    states = each(states, |state| {
        let chosen = FamilySchedulerState::update()
            .selected_time_slot(Some(slot.clone()))
            .selected_resolution(Some(resolution.clone()));
        vec![state.clone(), folded(state, [chosen])]
    });
    let at =
        |step: WorkflowStep, state: &FamilySchedulerState| FamilySchedulerState { current_step: step, ..state.clone() };
    let go = |step: WorkflowStep, state: &FamilySchedulerState| {
        (step.name().to_owned(), route_next_step(&at(step, state)).node().to_owned())
    };
    WorkflowStep::ALL.iter().flat_map(|step| states.iter().map(|state| go(*step, state))).collect()
}

fn each(
    states: Vec<FamilySchedulerState>,
    more: impl Fn(&FamilySchedulerState) -> Vec<FamilySchedulerState>,
) -> Vec<FamilySchedulerState> {
    states.iter().flat_map(more).collect()
}
