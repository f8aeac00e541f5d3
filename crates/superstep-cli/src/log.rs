//! Log output of libraries on stderr: errors in a server, and more with `-v`.

use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::GlobalArgs;
use crate::output::write_stderr;

/// Installs the log output. Without `-v` only a server logs, because a run reports its own errors.
pub(crate) fn init(global: &GlobalArgs, is_server: bool) {
    let max_level = match global.verbose {
        0 if is_server => Level::ERROR,
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    // A test may have installed a subscriber already; that one stays.
    let _ = tracing_subscriber::registry().with(StderrLayer { max_level }).try_init();
}

struct StderrLayer {
    max_level: Level,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StderrLayer {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.max_level && metadata.target().starts_with("superstep")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut collector = FieldCollector { text: String::new(), fields: String::new() };
        event.record(&mut collector);
        let level = event.metadata().level().as_str().to_lowercase();
        write_stderr(&format!("{level}: {}{}", collector.text, collector.fields));
    }
}

struct FieldCollector {
    text: String,
    fields: String,
}

impl Visit for FieldCollector {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.text, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
