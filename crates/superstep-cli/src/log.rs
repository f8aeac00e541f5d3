//! What libraries log, as lines on stderr: what a server logs, and more with `-v`.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Global;
use crate::out::write_stderr;

/// Listens from now on. A run says itself what went wrong with it; a server has only its log.
pub(crate) fn listen(global: &Global, is_server: bool) {
    let most = match global.verbose {
        0 if is_server => Level::ERROR,
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    // A test may listen already; there is nothing to do then.
    let _ = tracing_subscriber::registry().with(Lines { most }).try_init();
}

struct Lines {
    most: Level,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.most && metadata.target().starts_with("superstep")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line { text: String::new(), rest: String::new() };
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_lowercase();
        write_stderr(&format!("{level}: {}{}", line.text, line.rest));
    }
}

struct Line {
    text: String,
    rest: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.rest, " {name}={value:?}"),
        };
    }
}
