//! What happens at each place of a debate: a function of the state and the hall that returns what it changes.
//!
//! One file for each kind of place. Nodes read the time from the run and never from the machine.

mod approval;
mod brief;
mod fact_check;
mod voice;

pub use approval::Answer;
pub(crate) use approval::approval;
pub(crate) use fact_check::fact_check;
pub(crate) use voice::{moderator, optimist, skeptic};

use superstep::core::time::Time;
use superstep::{Cx, NodeError};

/// Now, by the clock of the run.
fn now(cx: &Cx) -> Result<Time, NodeError> {
    Time::from_unix_micros(cx.now()).map_err(|fault| NodeError::new(fault.message).fatal())
}
