//! Differential test: two stores execute the same random operations and must return the same results; one of them
//! is the store in memory.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ManualClock;
use crate::port::SharedStore;
use crate::store::{
    DeleteOp, Filter, GetOp, IndexFields, ListNamespacesOp, OpResult, PutOp, SearchMode, SearchOp, StoreNamespace,
    StoreOp, ValuePath,
};

/// Maximum difference between the scores of two stores: a database may compute them in single precision.
const TOLERANCE: f64 = 1e-5;

/// Executes the same operations, drawn from a seed, on two empty stores with one clock, and compares the results;
/// returns the number of compared results.
///
/// # Panics
/// Panics if the results differ.
pub async fn agree(
    one: &SharedStore,
    other: &SharedStore,
    clock: &ManualClock,
    (seed, batches): (u64, usize),
) -> usize {
    let (mut generator, mut compared) = (OperationGenerator(seed), 0);
    for number in 0..batches {
        let operations: Vec<StoreOp> = (0..=generator.below(4)).map(|_| generator.operation()).collect();
        let expected = one.batch(operations.clone()).await.expect("batch");
        let actual = other.batch(operations.clone()).await.expect("batch");
        assert_eq!(expected.len(), actual.len());
        compared += expected.len();
        for ((operation, expected), actual) in operations.iter().zip(&expected).zip(&actual) {
            assert!(is_same(expected, actual), "seed {seed}, batch {number}, {operation:?}:\n{expected:?}\n{actual:?}");
        }
        if generator.below(5) == 0 {
            clock.advance(generator.below(30) as u64);
        }
        if generator.below(20) == 0 {
            // The counts may differ: stores remove some expired items on other operations.
            one.sweep_ttl().await.expect("sweep");
            other.sweep_ttl().await.expect("sweep");
        }
    }
    compared
}

fn is_same(expected: &OpResult, actual: &OpResult) -> bool {
    let (OpResult::Hits(expected), OpResult::Hits(actual)) = (expected, actual) else { return expected == actual };
    let is_close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < TOLERANCE,
        (a, b) => a == b,
    };
    expected.len() == actual.len()
        && expected
            .iter()
            .zip(actual)
            .all(|(a, b)| a.item == b.item && is_close(a.score, b.score) && a.matched_by == b.matched_by)
}

/// A deterministic random number generator.
struct OperationGenerator(u64);

impl OperationGenerator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn choose<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn namespace(&mut self) -> StoreNamespace {
        let labels = ["a", "ab", "b", "ü", "a-", "x' OR 1=1"];
        (0..=self.below(3)).map(|_| self.choose(&labels)).collect::<Vec<_>>().into()
    }

    fn prefix(&mut self) -> StoreNamespace {
        if self.below(3) == 0 { StoreNamespace::default() } else { self.namespace() }
    }

    fn key(&mut self) -> String {
        self.choose(&["k", "K", "l", "ä", "x') --", "k\0"]).to_owned()
    }

    fn text(&mut self) -> String {
        let words = ["moon", "sun", "green", "curry", "the", "Zürich", "月", "x'"];
        (0..=self.below(5)).map(|_| self.choose(&words)).collect::<Vec<_>>().join(" ")
    }

    /// Values that lie close together, so that comparisons are not always unequal.
    fn scalar(&mut self) -> Value {
        let numbers =
            [json!(1), json!(1.0), json!(2), json!(-1), json!(1.5), json!(u64::MAX), json!(i64::MIN), json!(0)];
        let large = [json!((1_i64 << 53) + 1), json!(9_007_199_254_740_992.0), json!(1e300), json!(-0.0)];
        let others =
            [json!(null), json!(true), json!(false), json!("1"), json!(""), json!("a\0"), json!("ä"), json!([1])];
        match self.below(4) {
            0 => self.choose(&numbers),
            1 => self.choose(&large),
            2 => self.choose(&others),
            _ => json!(self.text()),
        }
    }

    fn value(&mut self) -> Value {
        if self.below(8) == 0 {
            return self.scalar();
        }
        let fields = (0..self.below(4)).map(|_| {
            let key = self.choose(&["a", "b", "c.d", "$", "a') OR 1=1", ""]).to_owned();
            let value =
                if self.below(3) == 0 { json!({ "a": self.scalar(), "b": [self.scalar()] }) } else { self.scalar() };
            (key, value)
        });
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn filter(&mut self, depth: usize) -> Filter {
        let key = self.choose(&["a", "b", "c.d", "$", "a') OR 1=1", ""]);
        let keys: ValuePath = if self.below(3) == 0 { [key, "a"].into() } else { key.into() };
        match self.below(if depth == 0 { 8 } else { 11 }) {
            0 => Filter::Eq(keys, self.scalar()),
            1 => Filter::Ne(keys, self.scalar()),
            2 => Filter::Lt(keys, self.scalar()),
            3 => Filter::Lte(keys, self.scalar()),
            4 => Filter::Gt(keys, self.scalar()),
            5 => Filter::Gte(keys, self.scalar()),
            6 => Filter::In(keys, (0..3).map(|_| self.scalar()).collect()),
            7 => Filter::Exists(keys),
            8 => Filter::All((0..self.below(3)).map(|_| self.filter(depth - 1)).collect()),
            9 => Filter::Any((0..self.below(3)).map(|_| self.filter(depth - 1)).collect()),
            _ => Filter::None((0..self.below(3)).map(|_| self.filter(depth - 1)).collect()),
        }
    }

    fn put(&mut self) -> PutOp {
        let put = PutOp::new(self.namespace(), self.key(), self.value());
        let index = match self.below(4) {
            0 => IndexFields::None,
            1 => IndexFields::Paths(vec!["a".to_owned(), "b[*]".to_owned()]),
            _ => IndexFields::All,
        };
        let put = put.index(index);
        if self.below(3) == 0 { put.ttl(Duration::from_secs(self.below(60) as u64)) } else { put }
    }

    fn search(&mut self) -> SearchOp {
        let mut search = SearchOp::new(self.prefix()).limit(self.below(12)).offset(self.choose(&[0, 0, 0, 1, 3]));
        if self.below(2) == 0 {
            search = search.filter(self.filter(2));
        }
        if self.below(2) == 0 {
            search = search.query(self.text()).mode(self.choose(&[SearchMode::Auto, SearchMode::Text]));
        }
        if self.below(3) == 0 { search.refresh(self.below(2) == 0) } else { search }
    }

    fn operation(&mut self) -> StoreOp {
        match self.below(10) {
            0..=3 => self.put().into(),
            4 => GetOp::new(self.namespace(), self.key()).into(),
            5 => DeleteOp::new(self.namespace(), self.key()).into(),
            6 => {
                let (prefix, max_depth) = (self.prefix(), self.choose(&[None, Some(1), Some(2)]));
                let suffix = if self.below(3) == 0 { "a".into() } else { StoreNamespace::default() };
                ListNamespacesOp { prefix, suffix, max_depth, limit: 1 + self.below(9), offset: self.below(3) }.into()
            }
            _ => self.search().into(),
        }
    }
}
