//! Command line of `superstep-torture`.

/// Usage text of `superstep-torture`.
pub(crate) const USAGE: &str = "superstep-torture [--kills N] [--only NAME] [--seed S] [--json]";

/// Default number of kills, which scales all tests. `cargo xtask test` runs a fifth of it.
pub(crate) const DEFAULT_KILLS: u64 = 100;

/// Parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Number of kills; the other tests scale their counts by the same factor, relative to [`DEFAULT_KILLS`].
    pub(crate) kills: u64,
    pub(crate) seed: u64,
    /// Runs only this test.
    pub(crate) only: Option<String>,
    pub(crate) json: bool,
}

impl Arguments {
    /// Parses the command line.
    ///
    /// # Errors
    /// Returns an error text if an argument is invalid.
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self { kills: DEFAULT_KILLS, seed: 1, only: None, json: false };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--kills" => read.kills = number(&arg, &value()?)?,
                "--seed" => read.seed = number(&arg, &value()?)?,
                "--only" => read.only = Some(value()?),
                "--json" => read.json = true,
                _ => return Err(format!("unknown argument `{arg}`\n{USAGE}")),
            }
        }
        Ok(read)
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("`{name}` needs a number, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_command_line_is_parsed_or_rejected() {
        let read_ = read("--kills 1_000 --seed 7 --only power --json").unwrap();
        assert_eq!(read_, Arguments { kills: 1_000, seed: 7, only: Some("power".into()), json: true });
        assert_eq!(read("--seed x").unwrap_err(), "`--seed` needs a number, not `x`");
        assert_eq!(read("--only").unwrap_err(), "`--only` needs a value");
        assert!(read("--fast").is_err());
    }
}
