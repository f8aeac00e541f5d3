//! `superstep graph GRAPH`: a graph as a diagram, or as Rust.

use superstep::files::GraphFile;
use superstep::{ErrorCode, core::diagram::Diagram};

use crate::args::{GlobalArgs, GraphArgs, GraphFormat};
use crate::cli_config::CliConfig;
use crate::error::CliError;
use crate::graphs::{self, components, file};
use crate::output::{Output, write_stdout};

/// Prints a graph.
pub(crate) fn print_graph(args: &GraphArgs, global: &GlobalArgs, out: &Output) -> Result<u8, CliError> {
    let config = CliConfig::load(global)?;
    let file = file(&config, &args.graph)?;
    let text = match (args.format, &file) {
        (GraphFormat::Rust, Some(file)) => file.to_rust(),
        (GraphFormat::Rust, None) => return Err(no_file(&config, &args.graph)),
        (format, file) => {
            let diagram = diagram(&config, &args.graph, file.as_ref())?;
            render(&diagram, if out.is_text() { format } else { GraphFormat::Json })
        }
    };
    write_stdout(&text);
    if !text.ends_with('\n') {
        write_stdout("\n");
    }
    Ok(0)
}

fn diagram(config: &CliConfig, name: &str, file: Option<&GraphFile>) -> Result<Diagram, CliError> {
    match file {
        Some(file) => Ok(file.build(&components(config))?.diagram()),
        None => Ok(graphs::find(config, name)?.diagram()),
    }
}

fn render(diagram: &Diagram, format: GraphFormat) -> String {
    match format {
        GraphFormat::Mermaid => diagram.to_mermaid(),
        GraphFormat::Dot => diagram.to_dot(),
        GraphFormat::Svg => diagram.to_svg(),
        GraphFormat::Json => serde_json::to_string_pretty(&diagram.to_json()).unwrap_or_default(),
        GraphFormat::Text | GraphFormat::Rust => diagram.to_text(),
    }
}

/// Explains why there is no graph file to convert to Rust.
fn no_file(config: &CliConfig, name: &str) -> CliError {
    match graphs::find(config, name) {
        Err(unknown) => unknown,
        Ok(_) => CliError::new(ErrorCode::InputInvalid, format!("graph `{name}` is already written in Rust")),
    }
}
