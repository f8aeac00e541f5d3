//! Renders the lines of a results file as a Markdown table: CPU microseconds for each node execution.
//!
//! A cell is the median over rounds of a round's median, with the minimum and maximum round in brackets, on the
//! runtime that was cheaper for that peer. Wrong results are marked.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::Value;

const WORKLOADS: [&str; 3] = ["loop", "fanout", "loop_ckpt"];

/// Results of one peer: for each workload the rounds of each runtime, and a remark.
#[derive(Default)]
struct Row {
    rounds: BTreeMap<(String, String), Vec<f64>>,
    remarks: BTreeMap<String, String>,
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_else(|| "results.jsonl".to_owned());
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut order = Vec::new();
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for line in lines {
        let peer = format!("{} {}", text_field(&line, "peer"), text_field(&line, "version"));
        if !order.contains(&peer) {
            order.push(peer.clone());
        }
        rows.entry(peer).or_default().add(&line);
    }
    println!("| engine | loop | fan-out | checkpointed loop |\n|---|---:|---:|---:|");
    for peer in order {
        let cells = WORKLOADS.map(|workload| rows[&peer].cell(workload));
        println!("| {peer} | {} |", cells.join(" | "));
    }
    ExitCode::SUCCESS
}

impl Row {
    fn add(&mut self, line: &Value) {
        let workload = text_field(line, "workload");
        let remark = line["lacks"].as_str().or(line["wrong"].as_str());
        if let Some(remark) = remark {
            self.remarks.insert(workload.to_owned(), remark.to_owned());
        }
        if let (Some(seconds), Some(executions)) = (line["cpu_s"]["median"].as_f64(), line["executions"].as_f64()) {
            let key = (workload.to_owned(), text_field(line, "runtime").to_owned());
            self.rounds.entry(key).or_default().push(seconds / executions * 1e6);
        }
    }

    fn cell(&self, workload: &str) -> String {
        let by_runtime = self.rounds.iter().filter(|((name, _), _)| name == workload);
        let cheapest = by_runtime.map(|(_, rounds)| spread(rounds)).min_by(|one, other| one[1].total_cmp(&other[1]));
        match (cheapest, self.remarks.get(workload)) {
            (Some([min, median, max]), None) => format!("{median:.2} ({min:.2}–{max:.2})"),
            (Some([min, median, max]), Some(mismatch)) => {
                format!("{median:.2} ({min:.2}–{max:.2}), **wrong: {mismatch}**")
            }
            (None, Some(reason)) => reason.clone(),
            (None, None) => "not run".to_owned(),
        }
    }
}

fn text_field<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or("?")
}

/// Returns minimum, median and maximum.
fn spread(rounds: &[f64]) -> [f64; 3] {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    [sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]]
}
