//! Query cues in a question: count, sum, average, list, compare, per month; and numeric filters.

use super::tokens::{QuestionToken, is_filler};

/// Operations that the words of a question request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct QueryCues {
    /// Index after `how many` or `number of`.
    pub(super) counts: Option<usize>,
    pub(super) sums: bool,
    pub(super) averages: bool,
    pub(super) how_much: bool,
    pub(super) how_long: bool,
    pub(super) when: bool,
    pub(super) lists: bool,
    /// True if two things are compared.
    pub(super) compares: bool,
    /// Superlative, for one or several rows.
    pub(super) most: Option<Superlative>,
    pub(super) limit: Option<usize>,
    /// Prefix length of a date that forms a group: 7 for months.
    pub(super) every: Option<usize>,
    /// Index after `per`, `by` or `each`, and true if a plural may follow.
    pub(super) groups: Vec<(usize, bool)>,
    pub(super) limits: Vec<NumericFilter>,
    /// True if the question is about the future.
    pub(super) is_future: bool,
}

/// A superlative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Superlative {
    pub(super) index: usize,
    pub(super) descends: bool,
}

/// A numeric filter, such as `fewer than 10`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NumericFilter {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) sign: &'static str,
    pub(super) number: f64,
    pub(super) is_money: bool,
}

const LARGE: [&str; 11] =
    ["most", "highest", "largest", "biggest", "best", "top", "greatest", "longest", "maximum", "max", "strongest"];
const SMALL: [&str; 9] = ["least", "lowest", "smallest", "fewest", "shortest", "minimum", "min", "worst", "bottom"];
const COMPARING: [&str; 14] = [
    "more", "higher", "larger", "bigger", "better", "greater", "less", "fewer", "lower", "vs", "versus", "compare",
    "compared", "than",
];

/// Finds cues of several words, before words are matched against the data.
pub(super) fn phrases(words: &[QuestionToken], used: &mut [bool]) -> QueryCues {
    let mut signs = QueryCues::default();
    let mut index = 0;
    while index < words.len() {
        index += if used[index] { 1 } else { phrase(words, index, used, &mut signs) };
    }
    signs
}

fn phrase(words: &[QuestionToken], index: usize, used: &mut [bool], signs: &mut QueryCues) -> usize {
    let text = |offset: usize| words.get(index + offset).map_or("", |word| word.lower.as_str());
    let length = match (text(0), text(1), text(2)) {
        ("how", "many", _) | ("number", "of", _) => {
            signs.counts = signs.counts.or(Some(index + 2));
            2
        }
        ("total", "number", "of") => {
            signs.counts = Some(index + 3);
            3
        }
        ("how", "much", _) => {
            signs.how_much = true;
            2
        }
        ("how", "long", _) => {
            signs.how_long = true;
            2
        }
        ("add", "up", _) | ("in", "total", _) | ("sum", "of", _) => {
            signs.sums = true;
            2
        }
        ("on", "average", _) => {
            signs.averages = true;
            2
        }
        ("month", "by", "month") => {
            signs.every = Some(7);
            3
        }
        ("per" | "by" | "each" | "every", unit @ ("month" | "year" | "day"), _) => {
            signs.every = Some(unit_letters(unit));
            2
        }
        ("over", "time", _) => {
            signs.every = Some(7);
            2
        }
        ("per" | "each", ..) | ("by", ..) => {
            signs.groups.push((index + 1, text(0) != "by"));
            1
        }
        _ => {
            let Some(limit) = limit(words, index) else { return 1 };
            let length = limit.end - limit.start;
            signs.limits.push(limit);
            length
        }
    };
    used[index..index + length].iter_mut().for_each(|used| *used = true);
    length
}

fn unit_letters(unit: &str) -> usize {
    match unit {
        "year" => 4,
        "day" => 10,
        _ => 7,
    }
}

/// Parses a comparison with a number.
fn limit(words: &[QuestionToken], index: usize) -> Option<NumericFilter> {
    const FORMS: [(&[&str], &str); 14] = [
        (&["fewer", "than"], "<"),
        (&["less", "than"], "<"),
        (&["under"], "<"),
        (&["below"], "<"),
        (&["lower", "than"], "<"),
        (&["cheaper", "than"], "<"),
        (&["more", "than"], ">"),
        (&["over"], ">"),
        (&["above"], ">"),
        (&["higher", "than"], ">"),
        (&["at", "least"], ">="),
        (&["at", "most"], "<="),
        (&["up", "to"], "<="),
        (&["exactly"], "="),
    ];
    let fits = |form: &[&str]| {
        form.iter().enumerate().all(|(offset, text)| words.get(index + offset).is_some_and(|word| word.lower == *text))
    };
    let (form, sign) = FORMS.into_iter().find(|(form, _)| fits(form))?;
    let end = index + form.len() + 1;
    let number = words.get(end - 1)?.number()?;
    let is_money = words.get(end).is_some_and(|word| word.is_in(&["euro", "euros", "eur"]));
    Some(NumericFilter { start: index, end: end + usize::from(is_money), sign, number, is_money })
}

/// Finds cues of one word, among words without a meaning in the data. Returns the indexes of unknown words.
pub(super) fn single_word_cues(words: &[QuestionToken], used: &mut [bool], signs: &mut QueryCues) -> Vec<usize> {
    let mut unknown = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let is_free = !used[index];
        let text = word.lower.as_str();
        match text {
            "will" | "forecast" | "predict" | "expect" => signs.is_future = true,
            "when" if index == 0 => signs.when = true,
            "list" | "show" | "which" | "who" | "what" | "name" | "give" => signs.lists = true,
            _ => {}
        }
        if !is_free {
            continue;
        }
        match text {
            "count" => signs.counts = signs.counts.or(Some(index + 1)),
            "total" | "sum" | "totals" => signs.sums = true,
            "average" | "mean" | "avg" => signs.averages = true,
            "monthly" => signs.every = Some(7),
            "yearly" | "annual" => signs.every = Some(4),
            "daily" => signs.every = Some(10),
            "develop" | "development" | "trend" | "evolve" | "evolution" => signs.every = signs.every.or(Some(7)),
            "or" => signs.compares = true,
            _ if LARGE.contains(&text) => signs.most = signs.most.or(Some(Superlative { index, descends: true })),
            _ if SMALL.contains(&text) => signs.most = signs.most.or(Some(Superlative { index, descends: false })),
            _ if COMPARING.contains(&text) => signs.compares = true,
            "when" if index == 0 => {}
            _ if is_filler(text) => {}
            _ => unknown.push(index),
        }
    }
    if signs.most.is_some() {
        let is_count = |index: &&usize| words[**index].number().is_some_and(|number| (1.0..=50.0).contains(&number));
        if let Some(index) = unknown.iter().find(is_count).copied() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the value is between 1 and 50"
            )]
            let limit = words[index].number().map(|number| number as usize);
            signs.limit = limit;
            unknown.retain(|position| *position != index);
        }
    }
    unknown
}
