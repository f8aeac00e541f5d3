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
    /// True if two or more groups are compared.
    pub(super) compares: bool,
    /// Superlative, for one or several rows.
    pub(super) superlative: Option<Superlative>,
    pub(super) limit: Option<usize>,
    /// Prefix length of a date that forms a group: 7 for months.
    pub(super) date_prefix: Option<usize>,
    /// Index after `per`, `by` or `each`, and true if a plural may follow.
    pub(super) groups: Vec<(usize, bool)>,
    pub(super) numeric_filters: Vec<NumericFilter>,
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
    pub(super) operator: &'static str,
    pub(super) number: f64,
    pub(super) is_money: bool,
}

const DESCENDING_WORDS: [&str; 11] =
    ["most", "highest", "largest", "biggest", "best", "top", "greatest", "longest", "maximum", "max", "strongest"];
const ASCENDING_WORDS: [&str; 9] =
    ["least", "lowest", "smallest", "fewest", "shortest", "minimum", "min", "worst", "bottom"];
const COMPARISON_WORDS: [&str; 14] = [
    "more", "higher", "larger", "bigger", "better", "greater", "less", "fewer", "lower", "vs", "versus", "compare",
    "compared", "than",
];

/// Finds cues of several words, before words are matched against the data.
pub(super) fn phrase_cues(words: &[QuestionToken], used: &mut [bool]) -> QueryCues {
    let mut cues = QueryCues::default();
    let mut index = 0;
    while index < words.len() {
        index += if used[index] { 1 } else { parse_phrase(words, index, used, &mut cues) };
    }
    cues
}

fn parse_phrase(words: &[QuestionToken], index: usize, used: &mut [bool], cues: &mut QueryCues) -> usize {
    let text = |offset: usize| words.get(index + offset).map_or("", |word| word.lower.as_str());
    let length = match (text(0), text(1), text(2)) {
        ("how", "many", _) | ("number", "of", _) => {
            cues.counts = cues.counts.or(Some(index + 2));
            2
        }
        ("total", "number", "of") => {
            cues.counts = Some(index + 3);
            3
        }
        ("how", "much", _) => {
            cues.how_much = true;
            2
        }
        ("how", "long", _) => {
            cues.how_long = true;
            2
        }
        ("add", "up", _) | ("in", "total", _) | ("sum", "of", _) => {
            cues.sums = true;
            2
        }
        ("on", "average", _) => {
            cues.averages = true;
            2
        }
        ("month", "by", "month") => {
            cues.date_prefix = Some(7);
            3
        }
        ("per" | "by" | "each" | "every", unit @ ("month" | "year" | "day"), _) => {
            cues.date_prefix = Some(prefix_length(unit));
            2
        }
        ("over", "time", _) => {
            cues.date_prefix = Some(7);
            2
        }
        ("per" | "each", ..) | ("by", ..) => {
            cues.groups.push((index + 1, text(0) != "by"));
            1
        }
        _ => {
            let Some(filter) = numeric_filter(words, index) else { return 1 };
            let length = filter.end - filter.start;
            cues.numeric_filters.push(filter);
            length
        }
    };
    used[index..index + length].iter_mut().for_each(|used| *used = true);
    length
}

fn prefix_length(unit: &str) -> usize {
    match unit {
        "year" => 4,
        "day" => 10,
        _ => 7,
    }
}

/// Parses a comparison with a number.
fn numeric_filter(words: &[QuestionToken], index: usize) -> Option<NumericFilter> {
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
    let (form, operator) = FORMS.into_iter().find(|(form, _)| fits(form))?;
    let end = index + form.len() + 1;
    let number = words.get(end - 1)?.number()?;
    let is_money = words.get(end).is_some_and(|word| word.is_in(&["euro", "euros", "eur"]));
    Some(NumericFilter { start: index, end: end + usize::from(is_money), operator, number, is_money })
}

/// Finds cues of one word, among words without a meaning in the data. Returns the indexes of unknown words.
pub(super) fn single_word_cues(words: &[QuestionToken], used: &mut [bool], cues: &mut QueryCues) -> Vec<usize> {
    let mut unknown = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let is_free = !used[index];
        let text = word.lower.as_str();
        match text {
            "will" | "forecast" | "predict" | "expect" => cues.is_future = true,
            "when" if index == 0 => cues.when = true,
            "list" | "show" | "which" | "who" | "what" | "name" | "give" => cues.lists = true,
            _ => {}
        }
        if !is_free {
            continue;
        }
        match text {
            "count" => cues.counts = cues.counts.or(Some(index + 1)),
            "total" | "sum" | "totals" => cues.sums = true,
            "average" | "mean" | "avg" => cues.averages = true,
            "monthly" => cues.date_prefix = Some(7),
            "yearly" | "annual" => cues.date_prefix = Some(4),
            "daily" => cues.date_prefix = Some(10),
            "develop" | "development" | "trend" | "evolve" | "evolution" => {
                cues.date_prefix = cues.date_prefix.or(Some(7))
            }
            "or" => cues.compares = true,
            _ if DESCENDING_WORDS.contains(&text) => {
                cues.superlative = cues.superlative.or(Some(Superlative { index, descends: true }))
            }
            _ if ASCENDING_WORDS.contains(&text) => {
                cues.superlative = cues.superlative.or(Some(Superlative { index, descends: false }))
            }
            _ if COMPARISON_WORDS.contains(&text) => cues.compares = true,
            "when" if index == 0 => {}
            _ if is_filler(text) => {}
            _ => unknown.push(index),
        }
    }
    if cues.superlative.is_some() {
        let is_count = |index: &&usize| words[**index].number().is_some_and(|number| (1.0..=50.0).contains(&number));
        if let Some(index) = unknown.iter().find(is_count).copied() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the value is between 1 and 50"
            )]
            let limit = words[index].number().map(|number| number as usize);
            cues.limit = limit;
            unknown.retain(|position| *position != index);
        }
    }
    unknown
}
