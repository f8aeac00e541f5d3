//! R-FWK-97: a small model takes the place of rules only where it does better, and says what it is.

use superstep::Code;
use superstep::model::{Candidate, ModelExt, Score, Scripted, SharedModel, put_to_test};

/// Right answers of the rules, of the candidate, and whether the candidate is used.
async fn judged(rules: &[&'static str], candidate: &[&'static str]) -> (Score, Score, bool, String) {
    let rules = Scripted::new(rules.to_vec()).named("rules");
    let model = Scripted::new(candidate.to_vec()).named("small");
    let candidate = Candidate { model: model.into(), size: 3 << 19, data: "400 dialogues".to_owned() };
    let check = async |model: SharedModel| {
        let mut right = 0;
        for answer in ["a", "b", "c"] {
            right += u32::from(ModelExt::complete(&model, "?").await?.message.text() == answer);
        }
        Ok(Score::new(right, 3))
    };
    let verdict = put_to_test(rules, candidate, check).await.unwrap();
    assert_eq!(verdict.is_replaced, &*verdict.model.info().name == "small");
    (verdict.rules, verdict.candidate, verdict.is_replaced, verdict.to_string())
}

/// R-FWK-97: better is better: as good is not enough. What is shown names kind, size, data and both scores.
#[tokio::test]
async fn only_the_better_model_takes_the_place_of_rules() {
    let (rules, candidate, is_replaced, shown) = judged(&["a", "b", "x"], &["a", "b", "c"]).await;
    assert_eq!((rules, candidate, is_replaced), (Score::new(2, 3), Score::new(3, 3), true));
    assert_eq!(shown, "scripted/small (rules), 1.5 MiB, made from 400 dialogues: 3 of 3 right, rules 2 of 3");
    let (.., is_replaced, shown) = judged(&["a", "b", "x"], &["x", "b", "c"]).await;
    assert!(!is_replaced && shown.ends_with("2 of 3 right, rules 2 of 3; the rules stay"), "{shown}");
    assert!(!judged(&["a", "b", "c"], &["x", "x", "c"]).await.2);
}

/// R-FWK-97: what does not say what it was made from, and a check of nothing, are refused.
#[tokio::test]
async fn what_is_not_told_is_refused() {
    let candidate = |size, data: &str| Candidate { model: Scripted::new(["a"]).into(), size, data: data.to_owned() };
    for candidate in [candidate(0, "texts"), candidate(1, " ")] {
        let refused = put_to_test(Scripted::new(["a"]), candidate, async |_| Ok(Score::new(1, 1))).await;
        assert_eq!(refused.map(|_| ()).unwrap_err().code(), Code::ConfigInvalid);
    }
    let empty = put_to_test(Scripted::new(["a"]), candidate(1, "texts"), async |_| Ok(Score::new(0, 0))).await;
    assert!(empty.map(|_| ()).unwrap_err().to_string().contains("decides nothing"));
}
