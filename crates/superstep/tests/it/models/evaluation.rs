//! R-FWK-97a: a small model replaces rules only if it scores better, and its properties are displayed.

use superstep::ErrorCode;
use superstep::models::{EvaluationScore, ModelCandidate, ModelExt, ScriptedModel, SharedModel, evaluate_candidate};

/// Returns the scores of rules and candidate, and whether the candidate is used.
async fn judged(
    rules: &[&'static str],
    candidate: &[&'static str],
) -> (EvaluationScore, EvaluationScore, bool, String) {
    let rules = ScriptedModel::new(rules.to_vec()).with_name("rules");
    let model = ScriptedModel::new(candidate.to_vec()).with_name("small");
    let candidate = ModelCandidate { model: model.into(), size: 3 << 19, data: "400 dialogues".to_owned() };
    let check = async |model: SharedModel| {
        let mut right = 0;
        for answer in ["a", "b", "c"] {
            right += u32::from(ModelExt::complete(&model, "?").await?.message.text() == answer);
        }
        Ok(EvaluationScore::new(right, 3))
    };
    let verdict = evaluate_candidate(rules, candidate, check).await.unwrap();
    assert_eq!(verdict.candidate_wins, &*verdict.model.info().name == "small");
    (verdict.rules, verdict.candidate, verdict.candidate_wins, verdict.to_string())
}

/// R-FWK-97a: an equal score is not sufficient. The displayed line contains kind, size, data and both scores.
#[tokio::test]
async fn only_the_better_model_takes_the_place_of_rules() {
    let (rules, candidate, is_replaced, summary) = judged(&["a", "b", "x"], &["a", "b", "c"]).await;
    assert_eq!((rules, candidate, is_replaced), (EvaluationScore::new(2, 3), EvaluationScore::new(3, 3), true));
    assert_eq!(summary, "scripted/small (rules), 1.5 MiB, trained on 400 dialogues: 3 of 3 correct, rules 2 of 3");
    let (.., is_replaced, summary) = judged(&["a", "b", "x"], &["x", "b", "c"]).await;
    assert!(!is_replaced && summary.ends_with("2 of 3 correct, rules 2 of 3; the rules stay in use"), "{summary}");
    assert!(!judged(&["a", "b", "c"], &["x", "x", "c"]).await.2);
}

/// R-FWK-97a: a candidate without a description of its data, and an empty check, are rejected.
#[tokio::test]
async fn candidates_without_data_are_rejected() {
    let candidate =
        |size, data: &str| ModelCandidate { model: ScriptedModel::new(["a"]).into(), size, data: data.to_owned() };
    for candidate in [candidate(0, "texts"), candidate(1, " ")] {
        let result =
            evaluate_candidate(ScriptedModel::new(["a"]), candidate, async |_| Ok(EvaluationScore::new(1, 1))).await;
        assert_eq!(result.map(|_| ()).unwrap_err().code(), ErrorCode::ConfigInvalid);
    }
    let empty =
        evaluate_candidate(ScriptedModel::new(["a"]), candidate(1, "texts"), async |_| Ok(EvaluationScore::new(0, 0)))
            .await;
    assert!(empty.map(|_| ()).unwrap_err().to_string().contains("a check requires at least one case"));
}
