//! Adds up what messages cost.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde_json::Value;

use super::Usage;

/// Everything that is counted is added up, details by their names; a sum with an estimate in it is one.
///
/// ```
/// use superstep_core::message::Usage;
///
/// let total: Usage = [Usage::new(10, 2), Usage::new(5, 1)].iter().sum();
/// assert_eq!((total.input_tokens, total.output_tokens, total.total_tokens), (15, 3, 18));
/// ```
impl AddAssign<&Usage> for Usage {
    fn add_assign(&mut self, other: &Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.estimated = self.estimated || other.estimated;
        add_details(&mut self.details, &other.details);
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self += &other;
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += &other;
        self
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), Self::add)
    }
}

impl<'a> Sum<&'a Usage> for Usage {
    fn sum<I: Iterator<Item = &'a Usage>>(usages: I) -> Self {
        let mut total = Self::default();
        usages.for_each(|usage| total += usage);
        total
    }
}

fn add_details(into: &mut BTreeMap<String, Value>, from: &BTreeMap<String, Value>) {
    for (name, value) in from {
        match into.get_mut(name) {
            Some(kept) => add_value(kept, value),
            None => drop(into.insert(name.clone(), value.clone())),
        }
    }
}

/// Counts are added, tables entry by entry; of anything else the later stays.
fn add_value(into: &mut Value, from: &Value) {
    match (&mut *into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(name) {
                    Some(kept) => add_value(kept, value),
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

    /// R-FWK-67, R-FWK-69: usage adds up with all that a provider counts, and stays marked as an estimate.
    #[test]
    fn usage_adds_up_with_its_details() {
        let counted = |reasoning: u64| Usage {
            details: BTreeMap::from([("output_details".to_owned(), json!({ "reasoning": reasoning, "tier": "a" }))]),
            ..Usage::new(10, 4)
        };
        let mut total = counted(3) + counted(2);
        assert_eq!((total.input_tokens, total.output_tokens, total.total_tokens), (20, 8, 28));
        assert_eq!(total.details["output_details"], json!({ "reasoning": 5, "tier": "a" }));
        assert!(!total.estimated);
        total += Usage { estimated: true, ..Usage::new(1, 1) };
        assert!(total.estimated);
        assert_eq!([counted(1), total.clone()].into_iter().sum::<Usage>().total_tokens, 44);
    }
}
