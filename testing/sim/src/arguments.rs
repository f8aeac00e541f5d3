//! Command line of `superstep-sim`.

use superstep::core::seeded_bugs::SeededBug;

/// Usage text of `superstep-sim`.
pub(crate) const USAGE: &str =
    "superstep-sim [--schedules N] [--seed S] [--threads T] [--seeded-bug NAME|none] [--json]
superstep-sim --seed S --schedule K [--seeded-bug NAME] [--trace]";

/// Parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) schedules: u64,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) seeded_bugs: SeededBugSelection,
    /// Runs only this schedule of the seed.
    pub(crate) schedule: Option<u32>,
    pub(crate) trace: bool,
    pub(crate) json: bool,
}

/// Selection of the seeded bugs to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeededBugSelection {
    /// All seeded bugs, before the schedules without bugs.
    All,
    /// No seeded bugs.
    None,
    /// Only this bug, without other schedules.
    Only(SeededBug),
}

impl Arguments {
    /// Parses the command line.
    ///
    /// # Errors
    /// Returns an error text if an argument is invalid.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut arguments = Self {
            schedules: 200_000,
            seed: 1,
            threads,
            seeded_bugs: SeededBugSelection::All,
            schedule: None,
            trace: false,
            json: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--schedules" => arguments.schedules = parse_number(&arg, &value()?)?,
                "--seed" => arguments.seed = parse_number(&arg, &value()?)?,
                "--threads" => arguments.threads = parse_number(&arg, &value()?)?,
                "--schedule" => arguments.schedule = Some(parse_number(&arg, &value()?)?),
                "--seeded-bug" => arguments.seeded_bugs = SeededBugSelection::parse(&value()?)?,
                "--trace" => arguments.trace = true,
                "--json" => arguments.json = true,
                _ => return Err(format!("unknown argument `{arg}`\n{USAGE}")),
            }
        }
        Ok(arguments)
    }
}

fn parse_number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| format!("`{name}` needs a number, not `{text}`"))
}

impl SeededBugSelection {
    fn parse(name: &str) -> Result<Self, String> {
        if name == "none" {
            return Ok(Self::None);
        }
        let names = || SeededBug::ALL.iter().map(|bug| bug.name()).collect::<Vec<_>>().join(", ");
        let selected = SeededBug::ALL.iter().find(|bug| bug.name() == name);
        selected.map(|bug| Self::Only(*bug)).ok_or_else(|| format!("unknown seeded bug `{name}`; known: {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_command_line_is_parsed_or_rejected() {
        let arguments = parse("--schedules 1_000 --seed 7 --threads 3 --seeded-bug no-fence --json").unwrap();
        assert_eq!((arguments.schedules, arguments.seed, arguments.threads), (1_000, 7, 3));
        assert_eq!(arguments.seeded_bugs, SeededBugSelection::Only(SeededBug::NoFence));
        assert!(arguments.json && !arguments.trace);
        assert_eq!(parse("--seed x").unwrap_err(), "`--seed` needs a number, not `x`");
        assert_eq!(parse("--schedule").unwrap_err(), "`--schedule` needs a value");
        assert!(parse("--seeded-bug nothing").unwrap_err().contains("arrival-order-fold"));
        assert!(parse("--fast").is_err());
    }
}
