//! How well the rules answer: the questions of the sample, and others that no rule was written for.

use std::path::Path;

use serde_json::{Value, json};
use superstep_assistant::eval::{Mark, Question, Score, eval, mark, questions};

async fn asked(questions: &[Question]) -> Score {
    eval(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample"), questions).await.unwrap()
}

fn told(score: &Score, which: impl Fn(Mark) -> bool) -> String {
    let rows = score.rows.iter().filter(|row| which(row.verdict));
    let lines: Vec<String> =
        rows.map(|row| format!("{} {:?}: {}\n    {}", row.id, row.verdict, row.question, row.answer)).collect();
    format!("{}/{} right, {} wrong\n{}", score.right, score.of, score.wrong, lines.join("\n"))
}

/// R-PLN-57: of 60 questions at least 45 are right, and none is wrong with confidence.
#[tokio::test]
async fn the_questions_of_the_sample_are_answered() {
    let score = asked(&questions().unwrap()).await;
    assert_eq!((score.of, score.right + score.wrong + score.unknown), (60, 60));
    assert_eq!(score.wrong, 0, "{}", told(&score, |mark| mark == Mark::Wrong));
    assert!(score.right >= 45, "{}", told(&score, |mark| mark != Mark::Right));
}

/// R-PLN-57: questions that no rule was written for are answered or not known, and never wrong.
#[tokio::test]
async fn other_questions_are_not_answered_wrongly() {
    let score = asked(&[others(), more()].concat()).await;
    assert_eq!(score.wrong, 0, "{}", told(&score, |mark| mark == Mark::Wrong));
    assert!(score.right >= 62, "{}", told(&score, |mark| mark != Mark::Right));
}

fn others() -> Vec<Question> {
    let known = [
        ("How many orders came from Vienna?", json!([30])),
        ("How many products do we buy from Italian suppliers?", json!([14])),
        ("Turnover of tents in August 2026?", json!([2125.41])),
        ("Which supplier has the longest lead time?", json!(["Sakerhet Outdoor"])),
        ("How many customers do we have per country?", json!(["Germany", 48, "France", 22, "Ireland", 3])),
        ("Orders by channel in June 2026", json!(["web", 42, "app", 26, "phone", 3, "marketplace", 13])),
        ("How many returns were requested in March 2026?", json!([4])),
        ("Which city is Torrefina in?", json!(["Trieste"])),
        ("When was order 50002 shipped?", json!(["2025-11-04"])),
        (
            "What are the three cheapest products on sale?",
            json!(["Pan Scraper", "Gas Cartridge 230", "Cleaning Brush Set"]),
        ),
        ("Average order value on the marketplace?", json!([124.2])),
        ("Who works in Finance?", json!(["Ana Petrova", "Till Marquardt", "Ulla Bergfeld"])),
        ("How many late orders were there in September 2026?", json!([9])),
        ("How many customers ordered something in October 2026?", json!([70])),
        ("Which customer placed the most orders?", json!(["Maurer", 35])),
        ("How many orders over 500 euro do we have?", json!([27])),
        ("What was the revenue in the third quarter of 2026?", json!([36445.74])),
        ("How long do club points stay valid?", json!(["24 months"])),
        ("Who has to approve a refund of more than 250 euro?", json!(["head of customer service"])),
        ("How many days off do I get for my own wedding?", json!(["own wedding", 2])),
    ];
    let unknown = [
        "How many orders did we get in March 2024?",
        "What will our revenue be next month?",
        "What is our profit margin on tents?",
        "What is the weather like in Freiburg?",
    ];
    numbered("o", known, unknown)
}

/// A second set, of harder ones.
fn more() -> Vec<Question> {
    let known = [
        ("How many suppliers are in the Netherlands?", json!([2])),
        ("What's the stock of the Moka Pot 6?", json!([122])),
        (
            "Which employees were hired since 2024?",
            json!(["Sam Okafor", "Joris Maas", "Noor de Wit", "Roman Juhasz", "Till Marquardt"]),
        ),
        ("Revenue by country in October 2026", json!(["Germany", 8159.39])),
        ("How many orders were delivered in October 2026?", json!([103])),
        ("Refunds in July 2026", json!([188.56])),
        ("What is the heaviest product?", json!(["Meadow Family Tent", 9800])),
        ("How many units of the Enamel Mug did we sell in 2026?", json!([67])),
        ("Compare revenue in 2025 and 2026", json!([27374.79, 118914.48])),
        ("How many points is a voucher of 5 euro worth?", json!(["100 points"])),
        ("When does the warehouse take no vacation?", json!(["20 November to 23 December"])),
        ("How many hours does a full-time week have?", json!([38])),
        ("Which languages do we answer in?", json!(["English, German, French and Dutch"])),
        ("5 kg in lb", json!([11.023])),
        ("Which supplier has the cheapest product?", json!(["Houtwerk Drenthe", "Pan Scraper", 5.9])),
        ("Which category has the most expensive product?", json!(["Tents", "Meadow Family Tent", 549])),
        ("Which supplier has the most stock?", json!(["Aquaforma", 701])),
        ("Which supplier has the least stock?", json!(["Fonderie Valmont", 64])),
        ("Which customer has the largest order?", json!(["Daan Zijlstra", 50082, 1009.88])),
        ("What was our biggest order?", json!([50082, 1009.88])),
        ("What does the Enamel Mug cost us?", json!([7.35])),
        ("How many orders did we get between September and July 2026?", json!([655])),
        ("How many orders did we get from March to January 2026?", json!([238])),
    ];
    let unknown = [
        "How many orders did we get between 2026-10-10 and 2026-10-01?",
        "How many orders have no refund?",
        "How many products have no stock?",
        "Which customers have no orders?",
        "How many vacation days do part-time employees get?",
        "How many vacation days do part time employees get?",
        "Which customer has the most expensive order?",
        "Which customer has the most expensive product?",
        "Which category has the highest price?",
        "Which supplier has the biggest product?",
        "Which product is the cheapest per supplier?",
        "Which country had the most orders in June or July 2026?",
        "Who are the top customers by orders?",
        "How many orders were returned because of the weather?",
        "Which customer complains most?",
        "How many employees speak Dutch?",
        "How much did Torrefina earn last year?",
        "Why did orders drop in August?",
        "How many tents did our customers return?",
    ];
    numbered("m", known, unknown)
}

fn numbered<const K: usize, const U: usize>(
    letter: &str,
    known: [(&str, Value); K],
    unknown: [&str; U],
) -> Vec<Question> {
    let unknown = unknown.into_iter().map(|question| (question, json!([]), true));
    let all = known.into_iter().map(|(question, expected)| (question, expected, false)).chain(unknown);
    let question = |(place, (question, expected, dont_know)): (usize, (&str, Value, bool))| Question {
        id: format!("{letter}{:02}", place + 1),
        question: question.to_owned(),
        expected: expected.as_array().cloned().unwrap_or_default(),
        absent: Vec::new(),
        dont_know,
    };
    all.enumerate().map(question).collect()
}

/// R-PLN-57: what counts as right, as wrong and as not known.
#[test]
fn answers_are_marked() {
    let known = |expected: Value, absent: &[&str]| Question {
        id: String::new(),
        question: String::new(),
        expected: expected.as_array().cloned().unwrap_or_default(),
        absent: absent.iter().map(ToString::to_string).collect(),
        dont_know: false,
    };
    let never = Question { dont_know: true, ..known(json!([]), &[]) };
    let rows = [
        (known(json!([18919.15]), &[]), "It is 18,919.15 [1].", Mark::Right),
        (known(json!([18919.15]), &[]), "It is 18919.149.", Mark::Right),
        (known(json!([1]), &[]), "It is 7 [1].", Mark::Wrong),
        (known(json!(["Germany", 32]), &[]), "GERMANY: 32", Mark::Right),
        (known(json!(["Germany"]), &["Austria"]), "Germany, Austria", Mark::Wrong),
        (known(json!([37]), &[]), "I do not know: nothing was found.", Mark::Unknown),
        (never.clone(), "I do not know: it is about the future.", Mark::Right),
        (never, "It is 12.", Mark::Wrong),
    ];
    for (question, answer, expected) in rows {
        assert_eq!(mark(&question, answer), expected, "{answer}");
    }
}
