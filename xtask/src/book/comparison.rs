//! Tables of `book/src/comparison.md`, from `book/data/comparison.toml`.
//!
//! Contains the column headings. The cells, and the columns of the feature matrix, come from the data file.

use super::data::Data;
use super::table::{Alignment, markdown};
use crate::workspace::File;

const PATH: &str = "book/data/comparison.toml";
const ENGINE: [&str; 6] = ["name", "version", "released", "licence", "id", "column"];
const SPEED: [&str; 4] = ["engine", "loop", "fan_out", "checkpointed_loop"];

/// Returns the table of engines and their versions.
pub(super) fn engines(files: &[File]) -> Result<String, String> {
    let data = read(files)?;
    let keys = ["name", "version", "released", "licence"];
    let rows: Vec<_> = data.list("engines", &ENGINE)?.iter().map(|engine| engine.texts(&keys)).collect();
    Ok(markdown(&["engine", "version", "released", "licence"], Alignment::Left, &rows))
}

/// Returns the feature matrix: a row per feature, a column per engine.
pub(super) fn features(files: &[File]) -> Result<String, String> {
    let data = read(files)?;
    let engines = data.list("engines", &ENGINE)?;
    let engine_texts = |key: &str| engines.iter().map(|engine| engine.text(key)).collect::<Vec<_>>();
    let keys = [vec!["name"], engine_texts("id")].concat();
    let header = [vec![""], engine_texts("column")].concat();
    let rows: Vec<_> = data.list("features", &keys)?.iter().map(|feature| feature.texts(&keys)).collect();
    Ok(markdown(&header, Alignment::Left, &rows))
}

/// Returns the table of measured times.
pub(super) fn speed(files: &[File]) -> Result<String, String> {
    let data = read(files)?;
    let rows: Vec<_> = data.list("speed", &SPEED)?.iter().map(|engine| engine.texts(&SPEED)).collect();
    Ok(markdown(&["engine", "loop", "fan-out", "checkpointed loop"], Alignment::Right, &rows))
}

fn read(files: &[File]) -> Result<Data, String> {
    Data::read(files, PATH, &["engines", "features", "speed"])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"
[[engines]]
name = "A, of B"
version = "1.0"
released = ""
licence = "MIT"
id = "a"
column = "B"

[[engines]]
name = "ours"
version = "0.1"
released = "2026-11-05"
licence = "MIT"
id = "ours"
column = "ours"

[[features]]
name = "loops"
a = "◐ by hand"
ours = "●"

[[speed]]
engine = "ours 0.1"
loop = "0.99"
fan_out = "2.15"
checkpointed_loop = "1.94"
"#;

    fn files(text: &str) -> [File; 1] {
        [File::fake(PATH, text)]
    }

    #[test]
    fn the_tables_have_the_rows_of_the_data() {
        let files = files(DATA);
        let expected = "| engine | version | released | licence |\n|---|---|---|---|\n| A, of B | 1.0 | | MIT |\n\
                        | ours | 0.1 | 2026-11-05 | MIT |\n";
        assert_eq!(engines(&files).as_deref(), Ok(expected));
        let expected = "| | B | ours |\n|---|---|---|\n| loops | ◐ by hand | ● |\n";
        assert_eq!(features(&files).as_deref(), Ok(expected));
        let expected = "| engine | loop | fan-out | checkpointed loop |\n|---|---:|---:|---:|\n\
                        | ours 0.1 | 0.99 | 2.15 | 1.94 |\n";
        assert_eq!(speed(&files).as_deref(), Ok(expected));
    }

    #[test]
    fn a_feature_has_one_cell_per_engine() {
        let problem = |before: &str, after: &str| features(&files(&DATA.replace(before, after))).unwrap_err();
        let too_few = "book/data/comparison.toml: features 1 (`loops`): `ours` is missing";
        assert_eq!(problem("ours = \"●\"\n", ""), too_few);
        let too_many = "book/data/comparison.toml: features 1 (`loops`): there is no key `other`";
        assert_eq!(problem("ours = \"●\"\n", "ours = \"●\"\nother = \"○\"\n"), too_many);
    }

    #[test]
    fn a_missing_row_is_reported() {
        let without_speed = DATA.split("[[speed]]").next().unwrap();
        let problem = "book/data/comparison.toml: there is no list of tables `speed`";
        assert_eq!(speed(&files(without_speed)).unwrap_err(), problem);
        assert_eq!(engines(&[]).unwrap_err(), "book/data/comparison.toml is missing");
    }
}
