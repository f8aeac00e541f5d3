//! Imports every thread of a LangGraph SQLite file into a superstep SQLite file and prints a summary of each.
//!
//! `cargo run -p superstep-adapters --all-features --example import_langgraph -- checkpoints.sqlite threads.db`

use superstep::Error;
use superstep_adapters::langgraph::LangGraphImporter;
use superstep_adapters::sqlite::SqliteCheckpointer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = &arguments[..] else {
        return Err("name a file of LangGraph's and one of ours: checkpoints.sqlite threads.db".into());
    };
    let (python, ours) = (LangGraphImporter::sqlite(from)?, SqliteCheckpointer::open(to)?);
    let mut failed = 0;
    for thread in python.threads().await? {
        match python.import(&thread, ours.clone()).await {
            Ok(brought) => {
                let next_nodes =
                    if brought.next_nodes.is_empty() { "nothing".to_owned() } else { brought.next_nodes.join(", ") };
                println!(
                    "{thread}: {} checkpoints of {} graphs; {next_nodes} due, {} open questions",
                    brought.checkpoints, brought.graphs, brought.interrupts
                );
                brought.warnings.iter().for_each(|note| println!("    {note}"));
            }
            Err(error) => {
                failed += 1;
                println!("{thread}: not imported\n{}", indented(&error));
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} threads were not imported").into()) }
}

fn indented(error: &Error) -> String {
    error.to_string().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
