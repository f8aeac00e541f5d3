//! `superstep explain CODE`: the error pages of the book, embedded in the binary.

use serde_json::json;
use superstep::ErrorCode;
use superstep::core::suggest::did_you_mean;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::{Output, TextStyle, styled};

macro_rules! pages {
    ($($number:literal)*) => {
        /// All pages, in the order of the codes.
        const PAGES: &[(&str, &str)] = &[$((
            concat!("SS-", $number),
            include_str!(concat!("../../../book/src/errors/SS-", $number, ".md")),
        ),)*];
    };
}

pages! {
    "000" "001" "002" "003" "004" "005" "006" "007" "008" "009" "010" "011" "012" "013" "014" "015" "016" "017" "018" "019"
    "020" "021" "022" "023" "024" "025" "026" "027" "028" "029"
}

/// Prints the page of a code, or lists all codes.
pub(crate) fn explain(args: &ExplainArgs, out: &Output) -> Result<u8, CliError> {
    let Some(text) = args.code.as_deref().filter(|_| !args.list) else {
        list(out);
        return Ok(0);
    };
    let code = find(text)?;
    let name = code.to_string();
    let page = PAGES.iter().find(|(key, _)| *key == name).map_or("", |(_, page)| page);
    match out.is_text() {
        true => page.lines().for_each(|line| out.print_result(render_line(line))),
        false => out.json(&json!({ "code": name, "name": code.name(), "page": page })),
    }
    Ok(0)
}

fn list(out: &Output) {
    match out.is_text() {
        true => ErrorCode::ALL.iter().for_each(|code| out.print_result(format_args!("{code}  {}", code.name()))),
        false => {
            let row = |code: &ErrorCode| json!({ "code": code.to_string(), "name": code.name() });
            out.json_list(&ErrorCode::ALL.iter().map(row).collect::<Vec<_>>());
        }
    }
}

/// Finds a code by its text, number or name.
fn find(text: &str) -> Result<ErrorCode, CliError> {
    let upper = text.trim().to_uppercase();
    let number = upper.trim_start_matches("SS").trim_start_matches(['-', '_']).parse::<u16>().ok();
    let is_match = |code: &&ErrorCode| number == Some(code.number()) || code.name().to_uppercase() == upper;
    ErrorCode::ALL.iter().find(is_match).copied().ok_or_else(|| {
        let names: Vec<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
        let candidates = names.iter().map(String::as_str).chain(ErrorCode::ALL.iter().map(|code| code.name()));
        let failure = CliError::usage(format!("unknown error code `{text}`"));
        failure.help(did_you_mean(text, candidates).unwrap_or_else(|| "superstep explain --list".to_owned()))
    })
}

fn render_line(line: &str) -> String {
    match line.starts_with('#') {
        true => styled(TextStyle::Strong, line.trim_start_matches('#').trim()),
        false => line.to_owned(),
    }
}
