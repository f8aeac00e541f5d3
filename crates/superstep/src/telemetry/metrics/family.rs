//! One metric with its labels, and its encoding in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use crate::engine::context::lock;

/// Maximum number of label combinations per metric; further ones are counted together as `other`. Names come from
/// applications and are few, but memory must be bounded.
const MAX_ROWS: usize = 1_000;

/// Upper bounds of the histogram buckets in seconds: from the duration of an in-memory node to that of a model call.
const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Type of a metric in the format.
#[derive(Clone, Copy)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// One metric, by labels.
pub(super) struct MetricFamily<V> {
    kind: MetricKind,
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    rows: Mutex<BTreeMap<Vec<String>, V>>,
}

impl<V: MetricValue> MetricFamily<V> {
    pub(super) fn new(
        kind: MetricKind,
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { kind, name, labels, help, rows: Mutex::default() }
    }

    pub(super) fn add(&self, labels: &[&str], amount: f64) {
        let mut key: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let mut rows = lock(&self.rows);
        if rows.len() >= MAX_ROWS && !rows.contains_key(&key) {
            key.iter_mut().for_each(|label| "other".clone_into(label));
        }
        rows.entry(key).or_default().add(amount);
    }
}

impl<V: MetricValue> fmt::Display for MetricFamily<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = lock(&self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let kind = match self.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        writeln!(f, "# HELP {} {}\n# TYPE {} {kind}", self.name, self.help, self.name)?;
        for (labels, value) in &*rows {
            let named = self.labels.iter().zip(labels);
            let labels: Vec<String> = named.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            value.write(f, self.name, &labels.join(","))?;
        }
        Ok(())
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Value of one label combination.
pub(super) trait MetricValue: Default {
    fn add(&mut self, amount: f64);
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, labels: &str) -> fmt::Result;
}

/// Value of a counter or a gauge.
#[derive(Default)]
pub(super) struct Scalar(f64);

impl MetricValue for Scalar {
    fn add(&mut self, amount: f64) {
        self.0 += amount;
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, labels: &str) -> fmt::Result {
        writeln!(f, "{name}{{{labels}}} {}", self.0)
    }
}

/// A histogram.
#[derive(Default)]
pub(super) struct Histogram {
    /// Cumulative count of each bucket.
    bucket_counts: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl MetricValue for Histogram {
    fn add(&mut self, amount: f64) {
        for (count, upper_bound) in self.bucket_counts.iter_mut().zip(BUCKETS) {
            *count += u64::from(amount <= upper_bound);
        }
        self.count += 1;
        self.sum += amount;
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, labels: &str) -> fmt::Result {
        for (count, upper_bound) in self.bucket_counts.iter().zip(BUCKETS) {
            writeln!(f, "{name}_bucket{{{labels},le=\"{upper_bound}\"}} {count}")?;
        }
        writeln!(f, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", self.count)?;
        writeln!(f, "{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {}", self.sum, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_combinations_of_labels_are_counted_together() {
        let family = MetricFamily::<Scalar>::new(MetricKind::Counter, "x_total", &["name"], "X.");
        (0..MAX_ROWS + 5).for_each(|number| family.add(&[&number.to_string()], 1.0));
        family.add(&["0"], 1.0);
        let text = family.to_string();
        assert_eq!(text.lines().count(), 2 + MAX_ROWS + 1);
        assert!(text.contains("x_total{name=\"other\"} 5\n") && text.contains("x_total{name=\"0\"} 2\n"), "{text}");
    }

    #[test]
    fn labels_are_escaped_and_buckets_add_up() {
        let family = MetricFamily::<Histogram>::new(MetricKind::Histogram, "x_seconds", &["name"], "X.");
        family.add(&["a\"b\\c\nd"], 0.002);
        family.add(&["a\"b\\c\nd"], 1_000.0);
        let text = family.to_string();
        let labels = "name=\"a\\\"b\\\\c\\nd\"";
        for line in [
            format!("x_seconds_bucket{{{labels},le=\"0.001\"}} 0"),
            format!("x_seconds_bucket{{{labels},le=\"0.005\"}} 1"),
            format!("x_seconds_bucket{{{labels},le=\"300\"}} 1"),
            format!("x_seconds_bucket{{{labels},le=\"+Inf\"}} 2"),
            format!("x_seconds_sum{{{labels}}} 1000.002"),
            format!("x_seconds_count{{{labels}}} 2"),
        ] {
            assert!(text.lines().any(|text_line| text_line == line), "{line} is not in:\n{text}");
        }
    }
}
