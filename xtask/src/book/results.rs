//! Measured figures in `README.md` and `book/src/performance.md`, from `bench/results.toml`.
//!
//! Contains the sentences around the figures. Does not check the figures; `bench/start.py` checks the startup goals.

use super::data::{Data, Entry};
use super::table::{Alignment, markdown};
use crate::workspace::File;

const PATH: &str = "bench/results.toml";
const START: [&str; 6] = ["date", "machine", "measured_with", "start", "idle_memory", "command"];
const SUITE: [&str; 8] = ["date", "machine", "measured_with", "rust", "langgraph", "python", "langgraph_js", "node"];

/// Keys and headings of the table of workloads.
const WORKLOAD: [(&str, &str); 9] = [
    ("workload", "workload"),
    ("langgraph", "LangGraph (Python)"),
    ("langgraph_js", "LangGraph.js"),
    ("floor", "floor"),
    ("superstep", "superstep"),
    ("ahead_of_python", "ahead of Python"),
    ("ahead_of_js", "ahead of JS"),
    ("of_floor", "of the floor"),
    ("goal", "goal"),
];

/// Returns the sentence about startup time, idle memory and the time of a command.
pub(super) fn start(files: &[File]) -> Result<String, String> {
    let data = read(files)?;
    let measured = data.entry("start", &START)?;
    let [start, idle_memory, command] = ["start", "idle_memory", "command"].map(|key| measured.text(key));
    Ok(format!(
        "Startup takes {start}, idle memory is {idle_memory}, and a command takes {command}, measured with\n\
         [`bench/start.py`](bench/start.py) on {}, the binary built with `--profile dist`.\n",
        measured.text("machine")
    ))
}

/// Returns the conditions of the workload suite and the table of its results.
pub(super) fn workloads(files: &[File]) -> Result<String, String> {
    let data = read(files)?;
    let suite = data.entry("suite", &SUITE)?;
    let (keys, header): (Vec<_>, Vec<_>) = WORKLOAD.into_iter().unzip();
    let row = |workload: &Entry<'_>| -> Vec<String> {
        let name = format!("`{}`", workload.text(keys[0]));
        [name].into_iter().chain(workload.texts(&keys[1..]).into_iter().map(str::to_owned)).collect()
    };
    let rows: Vec<Vec<String>> = data.list("workloads", &keys)?.iter().map(row).collect();
    Ok(format!("{}\n{}", conditions(&suite), markdown(&header, Alignment::Right, &rows)))
}

fn conditions(suite: &Entry<'_>) -> String {
    let [date, machine, rust, langgraph] = ["date", "machine", "rust", "langgraph"].map(|key| suite.text(key));
    let [python, langgraph_js, node] = ["python", "langgraph_js", "node"].map(|key| suite.text(key));
    format!(
        "{date}, one round of the workload suite on {machine}, {rust}, {langgraph} on\n\
         {python}, {langgraph_js} on {node}. CPU time of one unit, the best variant of each; `floor` is the same work\n\
         written by hand without an engine. `mem` means a checkpoint in memory at every superstep. Every result was checked.\n"
    )
}

fn read(files: &[File]) -> Result<Data, String> {
    Data::read(files, PATH, &["start", "suite", "workloads"])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"
[start]
date = "18 November 2026"
machine = "two cores"
measured_with = "python3 bench/start.py"
start = "19 ms"
idle_memory = "29 MB"
command = "4 ms"

[suite]
date = "15 November 2026"
machine = "2 cores"
measured_with = "run.sh"
rust = "rustc 1"
langgraph = "LangGraph 2"
python = "Python 3"
langgraph_js = "LangGraph.js 4"
node = "Node 5"

[[workloads]]
workload = "w1"
langgraph = "2 ms"
langgraph_js = "3 ms"
floor = "1 µs"
superstep = "2 µs"
ahead_of_python = "1,000×"
ahead_of_js = "1,500×"
of_floor = "2×"
goal = "≤ 3×"
"#;

    fn files(before: &str, after: &str) -> [File; 1] {
        [File::fake(PATH, &DATA.replace(before, after))]
    }

    #[test]
    fn the_sentence_about_the_start_has_the_measured_figures() {
        let sentence = start(&files("29 MB", "31 MB")).unwrap();
        assert!(
            sentence.starts_with("Startup takes 19 ms, idle memory is 31 MB, and a command takes 4 ms, "),
            "{sentence}"
        );
        assert!(sentence.contains(" on two cores, the binary "), "{sentence}");
        let problem = "bench/results.toml: start (`18 November 2026`): `command` is missing";
        assert_eq!(start(&files("command = \"4 ms\"\n", "")).unwrap_err(), problem);
    }

    #[test]
    fn workloads_are_rows_below_the_conditions_of_the_suite() {
        let block = workloads(&files("", "")).unwrap();
        let first = "15 November 2026, one round of the workload suite on 2 cores, rustc 1, LangGraph 2 on\n\
                     Python 3, LangGraph.js 4 on Node 5. CPU time ";
        assert!(block.starts_with(first), "{block}");
        let last = "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n\
                    | `w1` | 2 ms | 3 ms | 1 µs | 2 µs | 1,000× | 1,500× | 2× | ≤ 3× |\n";
        assert!(block.ends_with(last), "{block}");
        let problem = "bench/results.toml: workloads 1 (`w1`): `goal` is missing";
        assert_eq!(workloads(&files("goal = \"≤ 3×\"\n", "")).unwrap_err(), problem);
    }
}
