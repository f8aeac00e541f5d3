//! The command line.

use superstep::core::planted::Bug;

/// What `superstep-sim` understands.
pub(crate) const USAGE: &str = "superstep-sim [--schedules N] [--seed S] [--threads T] [--planted NAME|none] [--json]
superstep-sim --seed S --schedule K [--planted NAME] [--trace]";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) schedules: u64,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) planted: Planted,
    /// Only this schedule of the seed.
    pub(crate) schedule: Option<u32>,
    pub(crate) trace: bool,
    pub(crate) json: bool,
}

/// Which planted bugs are to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    /// Each, before the clean schedules.
    All,
    /// None.
    None,
    /// This one, and nothing else is done.
    Only(Bug),
}

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    /// When it is not understood, in a sentence.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut read = Self {
            schedules: 200_000,
            seed: 1,
            threads,
            planted: Planted::All,
            schedule: None,
            trace: false,
            json: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--schedules" => read.schedules = number(&word, &value()?)?,
                "--seed" => read.seed = number(&word, &value()?)?,
                "--threads" => read.threads = number(&word, &value()?)?,
                "--schedule" => read.schedule = Some(number(&word, &value()?)?),
                "--planted" => read.planted = Planted::read(&value()?)?,
                "--trace" => read.trace = true,
                "--json" => read.json = true,
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
            }
        }
        Ok(read)
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.replace('_', "").parse().map_err(|_| format!("`{name}` needs a number, not `{text}`"))
}

impl Planted {
    fn read(name: &str) -> Result<Self, String> {
        if name == "none" {
            return Ok(Self::None);
        }
        let names = || Bug::ALL.iter().map(|bug| bug.name()).collect::<Vec<_>>().join(", ");
        let found = Bug::ALL.iter().find(|bug| bug.name() == name);
        found.map(|bug| Self::Only(*bug)).ok_or_else(|| format!("no bug `{name}`; there are {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_command_line_is_read_or_refused() {
        let arguments = read("--schedules 1_000 --seed 7 --threads 3 --planted no-fence --json").unwrap();
        assert_eq!((arguments.schedules, arguments.seed, arguments.threads), (1_000, 7, 3));
        assert_eq!(arguments.planted, Planted::Only(Bug::NoFence));
        assert!(arguments.json && !arguments.trace);
        assert_eq!(read("--seed x").unwrap_err(), "`--seed` needs a number, not `x`");
        assert_eq!(read("--schedule").unwrap_err(), "`--schedule` needs a value");
        assert!(read("--planted nothing").unwrap_err().contains("arrival-order-fold"));
        assert!(read("--fast").is_err());
    }
}
