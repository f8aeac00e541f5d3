//! Tests of the rule model: properties of every debate, whatever its topic is.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use superstep::Message;
use superstep::models::{ChatRequest, ChunkListener, ChunkSender, MessageChunk, ModelKind};
use superstep::testing::ManualClock;
use superstep_debate::prompt::DebateAgent;
use superstep_debate::rule_model::{RuleModelBuilder, rule_model};

use crate::rule_model_fixtures::{debate, respond, sample, turn_prompt};

const TOPICS: [&str; 45] = [
    "Should AI be regulated?",
    "Remote work",
    "Is it right to eat meat?",
    "Pineapple on pizza",
    "Universal basic income vs. negative income tax",
    "Democracy",
    "How should cities deal with cars?",
    "Why do people lie?",
    "Who should pay for college?",
    "東京オリンピック",
    "🍕🍕🍕",
    "Should the government ban smoking in public parks?",
    "School uniforms",
    "Is nuclear energy safe?",
    "Cats are better than dogs",
    "Does money buy happiness?",
    "Will robots take our jobs?",
    "Death penalty",
    "Should children under 13 be allowed to use social media?",
    "هل يجب تنظيم الذكاء الاصطناعي؟",
    "Tax the rich! Or not? (He said \"yes.\" Really.) {it} [a|b]",
    "<script>alert('x')</script>",
    "x",
    "In a world in which nearly everything that we buy is made far away by people whom we will never meet, should rich \
     countries ask for the same rules about wages and safety that they have at home, even if prices rise?",
    "Should people with children pay less tax?",
    "Was the moon landing faked?",
    "Is the death of newspapers bad for democracy?",
    "Is pineapple on pizza acceptable?",
    "We need a four-day week",
    "I want a shorter school year",
    "My neighbour's dog should be leashed",
    "Let's abolish homework",
    "Let us ban cars from the city centre",
    "If robots do all the work, would people be happier?",
    "Is AI a threat or an opportunity?",
    "Should there be limits on free speech?",
    "Should I rent a flat or buy a house?",
    "Do you believe in ghosts?",
    "Did aliens build the pyramids?",
    "Is \"woke\" culture good?",
    "How much should teachers earn?",
    "I hate Mondays",
    "Which is better: cats or dogs?",
    "Brauchen wir ein Tempolimit?",
    "Children should be seen and not heard",
];

/// Splits a turn into sentences, independently of the rule model: quotations are removed first.
fn sentences(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut plain = String::new();
    for letter in text.chars() {
        match letter {
            '“' | '(' => depth += 1,
            '”' | ')' => depth -= 1,
            '.' | '?' | '!' if depth > 0 => plain.push('_'),
            letter => plain.push(letter),
        }
    }
    assert_eq!(depth, 0, "{text}");
    let ends = plain.split_inclusive(['.', '?', '!']).map(|sentence| sentence.trim().to_owned());
    ends.filter(|sentence| !sentence.is_empty()).collect()
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the longest sequence of words that two turns share.
fn shared_run(one: &str, other: &str) -> usize {
    let list = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
        words.filter(|word| !word.is_empty()).collect()
    };
    let (one, other) = (list(one), list(other));
    let run = |(a, b): (usize, usize)| one[a..].iter().zip(&other[b..]).take_while(|(x, y)| x == y).count();
    (0..one.len()).flat_map(|a| (0..other.len()).map(move |b| (a, b))).map(run).max().unwrap_or(0)
}

/// Returns true if a text contains a word of the topic, or one of the same stem.
fn names_topic(text: &str, topic: &str) -> bool {
    const EMPTY: [&str; 12] = ["should", "is", "it", "to", "be", "the", "how", "why", "do", "in", "a", "that"];
    let text_words = words(text);
    let has_word = words(topic).iter().filter(|word| !EMPTY.contains(&word.as_str())).any(|word| {
        let count = word.chars().count();
        let stem: String = word.chars().take(count.saturating_sub(2).max(4)).collect();
        text_words.iter().any(|other| other == word || count > 4 && other.starts_with(&stem))
    });
    has_word || text.contains(topic)
}

/// Returns true if a text has no repeated word, no space before punctuation, no lower-case sentence start, and no
/// unfilled placeholder.
fn is_well_formed(text: &str) -> bool {
    let bare = text.replace(['“', '”', '‘', '’'], "");
    let list: Vec<&str> = bare.split_whitespace().collect();
    let is_twice = list.windows(2).any(|pair| pair[0] == pair[1] && pair[0].chars().all(char::is_alphabetic));
    let starts_lowercase = sentences(text).iter().any(|sentence| sentence.starts_with(char::is_lowercase));
    let has_gap = text.contains("  ") || text.contains(" ,") || text.contains(" .");
    !is_twice && !starts_lowercase && !has_gap && !text.contains("{claim}")
}

fn check(topic: &str, turns: &[(DebateAgent, String)]) {
    let mut seen = BTreeSet::new();
    let mut before: Option<&str> = None;
    for (role, text) in turns.iter().filter(|(role, _)| *role != DebateAgent::Moderator) {
        let turn_sentences = sentences(text);
        assert!(
            (2..=3).contains(&turn_sentences.len()),
            "{topic}: {role:?} says {} sentences: {text}",
            turn_sentences.len()
        );
        assert!(names_topic(text, topic), "{topic}: not named in {text}");
        assert!(is_well_formed(text), "{topic}: {text}");
        for sentence in turn_sentences {
            assert!(seen.insert(sentence.clone()), "{topic}: twice: {sentence}");
        }
        if let Some(before) = before {
            assert!(shared_run(before, text) >= 3, "{topic}: takes up nothing of `{before}`: {text}");
        }
        before = Some(text);
    }
}

/// R-DEB-42, R-DEB-41: for all kinds of topics every turn has two or three sentences, names the topic, repeats no
/// sentence and uses words of the turn before.
#[tokio::test]
async fn every_turn_is_a_turn_of_a_debate() {
    for topic in TOPICS {
        for seed in [0, 7] {
            check(topic, &debate(&rule_model(seed, None), topic, 3, &[]).await);
        }
    }
}

/// R-DEB-42: a turn takes less than 5 ms, also late in a debate and with evidence, and so does the summary of three
/// rounds. Measures processor time, which does not depend on the load of the machine, of the whole process, because
/// evidence is read on another thread: the test needs a process of its own, as nextest gives it.
#[tokio::test]
async fn a_turn_takes_less_than_five_milliseconds() {
    let (model, topic) = (rule_model(0, Some(sample())), "Should AI be regulated?");
    let mut messages = Vec::new();
    for (index, (role, text)) in debate(&model, topic, 3, &[]).await.into_iter().enumerate() {
        let prompt = turn_prompt(role, u32::try_from(index / 2 + 1).unwrap().min(3), 3, topic);
        const REPEATS: u32 = 20;
        let before = cpu_time();
        for _ in 0..REPEATS {
            respond(&model, &messages, &prompt).await;
        }
        let mean = (cpu_time() - before) / REPEATS;
        assert!(mean < Duration::from_millis(5), "turn {index}: {mean:?}");
        messages.push(Message::assistant(text).with_name(role.name()));
    }
}

/// Returns the processor time of this process. Linux counts it in units of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field is the name of the program in parentheses; `utime` and `stime` are the 14th and 15th.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    Duration::from_millis(fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
}

/// R-DEB-42: ten rounds repeat no sentence, for things, for beliefs and with evidence.
#[tokio::test]
async fn ten_rounds_repeat_no_sentence() {
    for topic in ["Should AI be regulated?", "Is nuclear energy safe?", "🍕🍕🍕", "School uniforms"] {
        for seed in 0..5 {
            check(topic, &debate(&rule_model(seed, None), topic, 10, &[]).await);
            check(topic, &debate(&rule_model(seed, Some(sample())), topic, 10, &[]).await);
        }
    }
}

/// R-DEB-42: the same seed gives the same debate, another seed another one, and message ids change nothing.
#[tokio::test]
async fn equal_seeds_give_equal_debates() {
    for topic in TOPICS {
        let first = debate(&rule_model(1, None), topic, 3, &[]).await;
        assert_eq!(first, debate(&rule_model(1, None), topic, 3, &[]).await);
        assert_ne!(first, debate(&rule_model(2, None), topic, 3, &[]).await);
    }
    let history = |id: &str| [Message::assistant("It pays off.").with_name("optimist").with_id(id.to_owned())];
    let prompt = turn_prompt(DebateAgent::Skeptic, 1, 3, "Remote work");
    let model = rule_model(1, None);
    assert_eq!(respond(&model, &history("a"), &prompt).await, respond(&model, &history("b"), &prompt).await);
}

/// R-DEB-41: evidence about the topic is quoted verbatim with its source; other evidence is not quoted.
#[tokio::test]
async fn evidence_is_quoted_with_its_source() {
    let evidence = sample();
    let turns = debate(&rule_model(3, Some(Arc::clone(&evidence))), "Remote work", 3, &[]).await;
    let quoted: Vec<&String> =
        turns.iter().map(|(_, text)| text).filter(|text| text.contains("(remote-work.md#")).collect();
    assert!(quoted.len() >= 4, "{turns:#?}");
    let passages: Vec<String> =
        evidence.passages("remote work home offices", 20).into_iter().map(|passage| passage.text).collect();
    for (role, text) in turns.iter().filter(|(role, text)| *role != DebateAgent::Moderator && text.contains("” (")) {
        let (before, after) = text.rsplit_once("” (").unwrap();
        let (_, quote) = before.rsplit_once('“').unwrap();
        assert!(passages.iter().any(|text| text.contains(quote)), "{quote}");
        assert!(*role != DebateAgent::Optimist || !after.starts_with("remote-work.md#risks"), "{text}");
        assert!(*role != DebateAgent::Skeptic || !after.starts_with("remote-work.md#benefits"), "{text}");
    }
    let other = debate(&rule_model(3, Some(evidence)), "Pineapple on pizza", 3, &[]).await;
    assert!(other.iter().all(|(_, text)| !text.contains(".md#")), "{other:#?}");
}

/// R-DEB-41: documents are read on another thread, so a turn does not block the runtime.
#[tokio::test]
async fn documents_are_read_off_the_runtime() {
    let request = ChatRequest::new([turn_prompt(DebateAgent::Optimist, 1, 3, "Remote work").message()]);
    for model in [
        rule_model(3, Some(sample())),
        RuleModelBuilder::new(3).evidence(sample()).typing_delay(Duration::ZERO).model(),
    ] {
        // Usually the first poll is pending; on a busy machine the read may be faster.
        let waits = (0..50).filter(|_| model.complete(request.clone()).now_or_never().is_none()).count();
        assert!(waits > 0);
        assert!(model.complete(request.clone()).await.unwrap().message.text().contains("(remote-work.md#"));
    }
}

/// R-DEB-41, R-DEB-45: the rule model also quotes and answers messages of language models and of the user.
#[tokio::test]
async fn messages_of_other_models_and_users_are_answered() {
    let strange = "Bees vote by dancing. Nobody counts their ballots, and yet the swarm moves as one.";
    let messages = [Message::assistant(strange).with_name("optimist")];
    let answer = respond(&rule_model(0, None), &messages, &turn_prompt(DebateAgent::Skeptic, 1, 3, "Democracy")).await;
    assert!(shared_run(strange, &answer) >= 4, "{answer}");
    assert!((2..=3).contains(&sentences(&answer).len()), "{answer}");
}

/// R-DEB-43: the summary quotes two points of each side, names the conflict and the verdicts, says who ended the
/// debate, and names no winner.
#[tokio::test]
async fn the_moderator_sums_up() {
    let notes = [
        "the claim \"x costs 5\" is false (a.md#b)",
        "the claim \"y\" is unverifiable",
        "ended by the user after round 2",
    ];
    for topic in TOPICS {
        let turns = debate(&rule_model(4, None), topic, 2, &notes).await;
        let (_, summary) = turns.last().unwrap();
        for role in [DebateAgent::Optimist, DebateAgent::Skeptic] {
            let part = summary.split("\n\n").find(|part| part.contains(&format!("points of the {}", role.name())));
            let part = part.unwrap_or_else(|| panic!("{summary}"));
            let own_sentences = turns
                .iter()
                .filter(|(agent, _)| *agent == role)
                .flat_map(|(_, text)| text.split_inclusive(['.', '?', '!']));
            let plain = |text: &str| text.replace(['“', '”', '‘', '’'], "'").trim().trim_end_matches('.').to_owned();
            let quoted = own_sentences
                .map(plain)
                .filter(|sentence| sentence.chars().count() > 20 && plain(part).contains(sentence.as_str()));
            assert!(quoted.count() >= 2, "{part}");
        }
        assert!(summary.contains("They clashed over "), "{summary}");
        assert!(
            summary.contains("Fact check of 2 claims: 1 false, 1 unverifiable. False: “x costs 5” (a.md#b)."),
            "{summary}"
        );
        assert!(summary.contains("The user ended the debate after round 2."), "{summary}");
        assert!(summary.rsplit("\n\n").next().unwrap().contains("winner"), "{summary}");
    }
    let turns = debate(&rule_model(4, None), "Remote work", 1, &[]).await;
    let (_, summary) = turns.last().unwrap();
    assert!(!summary.contains("Fact check") && !summary.contains("ended"), "{summary}");
}

/// R-DEB-43: a point with a false claim is not among the strongest.
#[tokio::test]
async fn a_false_point_is_no_strong_point() {
    let optimist = "The first point is about bread and butter today. The second point is about 5 cups of tea in 1999. \
        The third point is about honest work and leisure.";
    let messages = [
        Message::assistant(optimist).with_name("optimist"),
        Message::assistant("I doubt bread and butter.").with_name("skeptic"),
    ];
    let mut prompt = turn_prompt(DebateAgent::Moderator, 1, 1, "Breakfast");
    prompt.notes = vec!["the claim \"The second point is about 5 cups of tea in 1999.\" is false (a.md#b)".to_owned()];
    let summary = respond(&rule_model(0, None), &messages, &prompt).await;
    let points = summary.split("\n\n").find(|part| part.contains("points of the optimist")).unwrap();
    assert!(points.contains("first point") && points.contains("third point"), "{points}");
}

/// R-DEB-41: the model identifies itself as rules, and rejects a request without a turn prompt.
#[tokio::test]
async fn the_model_identifies_itself_as_rules() {
    let model = rule_model(0, None);
    assert_eq!((model.info().to_string(), model.info().kind), ("local/rules (rules)".to_owned(), ModelKind::Rules));
    let error = model.complete("Hello").await.unwrap_err();
    assert!(error.message().contains("none of 1 rules matches"), "{error}");
}

struct ChunkRecorder(Vec<String>);

impl ChunkListener for ChunkRecorder {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<superstep::core::port::BoxFuture<'_, ()>> {
        if let MessageChunk::Text(text) = chunk {
            self.0.push(text);
        }
        None
    }
}

/// R-DEB-45: words are streamed one by one; with a typing delay each further word waits for the clock, and the text
/// is the same.
#[test]
fn words_are_streamed_one_by_one_with_a_delay() {
    let request = ChatRequest::new([turn_prompt(DebateAgent::Optimist, 1, 3, "Remote work").message()]);
    let mut context = Context::from_waker(Waker::noop());
    let mut fast = ChunkRecorder(Vec::new());
    {
        let model = rule_model(5, None);
        let mut chunks = ChunkSender::new(&mut fast);
        assert!(pin!(model.generate(&request, &mut chunks)).poll(&mut context).is_ready(), "no delay, no wait");
    }
    assert!(fast.0.len() > 20 && fast.0.iter().all(|chunk| chunk.split_whitespace().count() == 1));

    let clock = ManualClock::new();
    let model = RuleModelBuilder::new(5).typing_delay(Duration::from_millis(80)).clock(clock.clone()).model();
    let mut slow = ChunkRecorder(Vec::new());
    let mut waits = 0;
    {
        let mut chunks = ChunkSender::new(&mut slow);
        let mut answer = pin!(model.generate(&request, &mut chunks));
        while answer.as_mut().poll(&mut context).is_pending() {
            waits += 1;
            clock.advance(Duration::from_millis(80));
        }
    }
    assert_eq!((waits, &slow.0), (fast.0.len() - 1, &fast.0));
    assert!(pin!(model.complete(request)).poll(&mut context).is_ready(), "without a listener there is no delay");
}
