//! Markdown tables of generated blocks.
//!
//! Cells are neither padded nor escaped: the page has their text as it is in the data.

/// Alignment of the columns after the first one.
#[derive(Clone, Copy)]
pub(super) enum Alignment {
    Left,
    Right,
}

/// Returns a table with a left-aligned first column.
pub(super) fn markdown<C: AsRef<str>>(header: &[&str], others: Alignment, rows: &[Vec<C>]) -> String {
    let delimiter = match others {
        Alignment::Left => "---|",
        Alignment::Right => "---:|",
    };
    let delimiters = format!("|---|{}\n", delimiter.repeat(header.len() - 1));
    row(header) + &delimiters + &rows.iter().map(|cells| row(cells)).collect::<String>()
}

fn row<C: AsRef<str>>(cells: &[C]) -> String {
    let cell = |text: &str| if text.is_empty() { " |".to_owned() } else { format!(" {text} |") };
    format!("|{}\n", cells.iter().map(|text| cell(text.as_ref())).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cell_is_one_space() {
        let rows = [vec!["a", "", "b c"]];
        assert_eq!(markdown(&["", "x", "y"], Alignment::Left, &rows), "| | x | y |\n|---|---|---|\n| a | | b c |\n");
        assert_eq!(markdown(&["x", "y"], Alignment::Right, &[vec!["a", "1"]]), "| x | y |\n|---|---:|\n| a | 1 |\n");
    }
}
