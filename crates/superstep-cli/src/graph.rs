//! `superstep graph GRAPH`: a graph as a drawing, or as Rust.

use superstep::file::GraphFile;
use superstep::{Code, core::drawing::Drawing};

use crate::args::{Drawn, Global, Graph};
use crate::failure::Failure;
use crate::graphs::{self, file, parts};
use crate::out::{Out, write_stdout};
use crate::setup::Setup;

/// Draws a graph.
pub(crate) fn draw(asked: &Graph, global: &Global, out: &Out) -> Result<u8, Failure> {
    let setup = Setup::load(global)?;
    let file = file(&setup, &asked.graph)?;
    let text = match (asked.format, &file) {
        (Drawn::Rust, Some(file)) => file.to_rust(),
        (Drawn::Rust, None) => return Err(no_file(&setup, &asked.graph)),
        (format, file) => {
            let drawing = drawing(&setup, &asked.graph, file.as_ref())?;
            drawn(&drawing, if out.is_text() { format } else { Drawn::Json })
        }
    };
    write_stdout(&text);
    if !text.ends_with('\n') {
        write_stdout("\n");
    }
    Ok(0)
}

fn drawing(setup: &Setup, name: &str, file: Option<&GraphFile>) -> Result<Drawing, Failure> {
    match file {
        Some(file) => Ok(file.build(&parts(setup))?.drawing()),
        None => Ok(graphs::find(setup, name)?.drawing()),
    }
}

fn drawn(drawing: &Drawing, format: Drawn) -> String {
    match format {
        Drawn::Mermaid => drawing.to_mermaid(),
        Drawn::Dot => drawing.to_dot(),
        Drawn::Svg => drawing.to_svg(),
        Drawn::Json => serde_json::to_string_pretty(&drawing.to_json()).unwrap_or_default(),
        Drawn::Text | Drawn::Rust => drawing.to_text(),
    }
}

/// Why there is nothing to write as Rust.
fn no_file(setup: &Setup, name: &str) -> Failure {
    match graphs::find(setup, name) {
        Err(unknown) => unknown,
        Ok(_) => Failure::new(Code::InputInvalid, format!("graph `{name}` is no file: it is written in Rust already")),
    }
}
