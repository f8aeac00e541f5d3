//! The command line.

/// What `superstep-torture` understands.
pub(crate) const USAGE: &str = "superstep-torture [--kills N] [--only NAME] [--seed S] [--json]";

/// As many kills as every test run has.
pub(crate) const SHORT: u64 = 100;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// How many kills; the other proofs do as much more as this is more than in a test run.
    pub(crate) kills: u64,
    pub(crate) seed: u64,
    /// Only this proof.
    pub(crate) only: Option<String>,
    pub(crate) json: bool,
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    /// When it is not understood, in a sentence.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self { kills: SHORT, seed: 1, only: None, json: false };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--kills" => read.kills = number(&word, &value()?)?,
                "--seed" => read.seed = number(&word, &value()?)?,
                "--only" => read.only = Some(value()?),
                "--json" => read.json = true,
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
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
    fn a_command_line_is_read_or_refused() {
        let read_ = read("--kills 1_000 --seed 7 --only power --json").unwrap();
        assert_eq!(read_, Arguments { kills: 1_000, seed: 7, only: Some("power".into()), json: true });
        assert_eq!(read("--seed x").unwrap_err(), "`--seed` needs a number, not `x`");
        assert_eq!(read("--only").unwrap_err(), "`--only` needs a value");
        assert!(read("--fast").is_err());
    }
}
