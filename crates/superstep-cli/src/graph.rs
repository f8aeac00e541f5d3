//! `superstep graph GRAPH`: a graph as a diagram, or as Rust.

use superstep::files::GraphFile;
use superstep::{ErrorCode, core::diagram::Diagram};

use crate::args::{GlobalArgs, GraphArgs, GraphFormat};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs::{self, file, parts};
use crate::output::{Output, write_stdout};

/// Prints a graph.
pub(crate) fn print_graph(args: &GraphArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let setup = CliConfig::load(global)?;
    let file = file(&setup, &args.graph)?;
    let text = match (args.format, &file) {
        (GraphFormat::Rust, Some(file)) => file.to_rust(),
        (GraphFormat::Rust, None) => return Err(no_file(&setup, &args.graph)),
        (format, file) => {
            let drawing = drawing(&setup, &args.graph, file.as_ref())?;
            render(&drawing, if out.is_text() { format } else { GraphFormat::Json })
        }
    };
    write_stdout(&text);
    if !text.ends_with('\n') {
        write_stdout("\n");
    }
    Ok(0)
}

fn drawing(setup: &CliConfig, name: &str, file: Option<&GraphFile>) -> Result<Diagram, CliError> {
    match file {
        Some(file) => Ok(file.build(&parts(setup))?.diagram()),
        None => Ok(graphs::find(setup, name)?.diagram()),
    }
}

fn render(drawing: &Diagram, format: GraphFormat) -> String {
    match format {
        GraphFormat::Mermaid => drawing.to_mermaid(),
        GraphFormat::Dot => drawing.to_dot(),
        GraphFormat::Svg => drawing.to_svg(),
        GraphFormat::Json => serde_json::to_string_pretty(&drawing.to_json()).unwrap_or_default(),
        GraphFormat::Text | GraphFormat::Rust => drawing.to_text(),
    }
}

/// Explains why there is no graph file to convert to Rust.
fn no_file(setup: &CliConfig, name: &str) -> CliError {
    match graphs::find(setup, name) {
        Err(unknown) => unknown,
        Ok(_) => {
            CliError::new(ErrorCode::InputInvalid, format!("graph `{name}` is no file: it is written in Rust already"))
        }
    }
}
