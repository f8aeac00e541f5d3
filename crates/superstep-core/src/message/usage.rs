//! Sums of token usage.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde_json::Value;

use super::TokenUsage;

/// Adds all counts, details by their names; a sum with an estimate in it is an estimate.
///
/// ```
/// use superstep_core::message::TokenUsage;
///
/// let total: TokenUsage = [TokenUsage::new(10, 2), TokenUsage::new(5, 1)].iter().sum();
/// assert_eq!((total.input_tokens, total.output_tokens, total.total_tokens), (15, 3, 18));
/// ```
impl AddAssign<&TokenUsage> for TokenUsage {
    fn add_assign(&mut self, other: &TokenUsage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.estimated = self.estimated || other.estimated;
        add_details(&mut self.details, &other.details);
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self += &other;
    }
}

impl Add for TokenUsage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += &other;
        self
    }
}

impl Sum for TokenUsage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), Self::add)
    }
}

impl<'a> Sum<&'a TokenUsage> for TokenUsage {
    fn sum<I: Iterator<Item = &'a TokenUsage>>(usages: I) -> Self {
        let mut total = Self::default();
        usages.for_each(|usage| total += usage);
        total
    }
}

fn add_details(into: &mut BTreeMap<String, Value>, from: &BTreeMap<String, Value>) {
    for (name, value) in from {
        match into.get_mut(name) {
            Some(total) => add_value(total, value),
            None => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

/// Adds counts, and objects entry by entry; of any other values the later one stays.
fn add_value(into: &mut Value, from: &Value) {
    match (&mut *into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(name) {
                    Some(total) => add_value(total, value),
                    None => drop(into.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            *into = match (a.as_u64(), b.as_u64()) {
                (Some(a), Some(b)) => a.saturating_add(b).into(),
                _ => (a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
            };
        }
        _ => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-FWK-67, R-FWK-69: usage is summed with all counts of a provider, and stays marked as an estimate.
    #[test]
    fn usage_adds_up_with_its_details() {
        let counted = |reasoning: u64| TokenUsage {
            details: BTreeMap::from([("output_details".to_owned(), json!({ "reasoning": reasoning, "tier": "a" }))]),
            ..TokenUsage::new(10, 4)
        };
        let mut total = counted(3) + counted(2);
        assert_eq!((total.input_tokens, total.output_tokens, total.total_tokens), (20, 8, 28));
        assert_eq!(total.details["output_details"], json!({ "reasoning": 5, "tier": "a" }));
        assert!(!total.estimated);
        total += TokenUsage { estimated: true, ..TokenUsage::new(1, 1) };
        assert!(total.estimated);
        assert_eq!([counted(1), total.clone()].into_iter().sum::<TokenUsage>().total_tokens, 44);
    }
}
