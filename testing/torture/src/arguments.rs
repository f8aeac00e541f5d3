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
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { kills: DEFAULT_KILLS, seed: 1, only: None, json: false };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--kills" => arguments.kills = parse_number(&arg, &value()?)?,
                "--seed" => arguments.seed = parse_number(&arg, &value()?)?,
                "--only" => arguments.only = Some(value()?),
                "--json" => arguments.json = true,
                _ => return Err(format!("unknown argument `{arg}`\n{USAGE}")),
            }
        }
        Ok(arguments)
    }
}

fn parse_number(name: &str, text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("`{name}` needs a number, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_command_line_is_parsed_or_rejected() {
        let arguments = parse("--kills 1_000 --seed 7 --only power --json").unwrap();
        assert_eq!(arguments, Arguments { kills: 1_000, seed: 7, only: Some("power".into()), json: true });
        assert_eq!(parse("--seed x").unwrap_err(), "`--seed` needs a number, not `x`");
        assert_eq!(parse("--only").unwrap_err(), "`--only` needs a value");
        assert!(parse("--fast").is_err());
    }
}
