//! Spans to a collector over OTLP, as protobuf over HTTP.
//!
//! Sent by a thread of their own, in batches, out of a queue that is never longer than told: when the collector is slow
//! or away, spans are dropped and the program is not held back. The last ones are sent when the guard is dropped.
//!
//! Only what a program's spans say is sent; what they say is decided where they are made.

mod web_client;

use std::fmt;
use std::time::Duration;

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{
    OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use superstep_core::conventions::SCHEMA_URL;
use superstep_core::error::{Code, Error, Result};
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

use web_client::{WebClient, headers};

/// How many spans may wait to be sent, unless told.
const QUEUE: usize = 2_048;

/// How long a collector may take to answer, unless the environment says it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long the last spans may take to be sent.
const LAST: Duration = Duration::from_secs(5);

/// Whose spans are about sending spans: telling them would never end.
const OWN: [&str; 6] = ["h2", "hyper", "hyper_util", "opentelemetry", "reqwest", "rustls"];

/// Sends spans to a collector. [`install`](Self::install) does it for the whole program.
///
/// ```no_run
/// # fn main() -> superstep_core::error::Result<()> {
/// use superstep_adapters::otlp::Exporter;
///
/// let guard = Exporter::to("http://127.0.0.1:4318").service("my-agent").install()?;
/// // .. runs ..
/// drop(guard);
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "nothing is sent before it is installed"]
pub struct Exporter {
    endpoint: Option<String>,
    service: Option<String>,
    headers: Vec<(String, String)>,
    level: LevelFilter,
    queue: usize,
}

impl Exporter {
    /// Sends to a collector at this address, such as `http://127.0.0.1:4318`; the path of the protocol is added.
    ///
    /// What is not said is read from the environment in the standard way: `OTEL_EXPORTER_OTLP_HEADERS`,
    /// `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_TIMEOUT`.
    pub fn to(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::from_environment() }
    }

    /// Sends to `OTEL_EXPORTER_OTLP_ENDPOINT`; without it, to this machine.
    pub fn from_environment() -> Self {
        Self { endpoint: None, service: None, headers: Vec::new(), level: LevelFilter::INFO, queue: QUEUE }
    }

    /// What the program is called; otherwise `OTEL_SERVICE_NAME` says it.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Sends a header along, such as a key. It goes before one of the same name in `OTEL_EXPORTER_OTLP_HEADERS`. Its
    /// value is never shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends supersteps and checkpoints, too: what is `DEBUG`.
    pub fn supersteps(mut self) -> Self {
        self.level = LevelFilter::DEBUG;
        self
    }

    /// At most this many spans wait to be sent; 2,048 unless told. More are dropped.
    pub fn queue(mut self, spans: usize) -> Self {
        self.queue = spans.max(1);
        self
    }

    /// Sends the spans of the whole program, until the guard is dropped.
    ///
    /// # Errors
    /// When the address or a header is none, or something else listens to the spans of the program already.
    pub fn install(self) -> Result<Guard> {
        let (layer, guard) = self.layer()?;
        tracing::subscriber::set_global_default(Registry::default().with(layer)).map_err(|_| {
            Error::new(Code::ConfigInvalid, "something else listens to the spans of this program already")
                .help("use `layer`, and add what it gives to the registry that is there")
        })?;
        Ok(guard)
    }

    /// A layer for a registry of the program's own, next to others; spans are sent until the guard is dropped.
    ///
    /// # Errors
    /// When the address or a header is none.
    pub fn layer<S>(self) -> Result<(impl Layer<S> + Send + Sync + 'static, Guard)>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync + 'static,
    {
        let level = self.level;
        let provider = self.provider()?;
        let scope = InstrumentationScope::builder("superstep")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        let is_told = move |metadata: &Metadata<'_>| *metadata.level() <= level && !is_own(metadata.target());
        let layer = tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(provider.tracer_with_scope(scope))
            // Without the hint all other spans of the program would be made, too, and thrown away here.
            .with_filter(filter_fn(is_told).with_max_level_hint(level));
        Ok((layer, Guard { provider }))
    }

    fn provider(self) -> Result<SdkTracerProvider> {
        let wrong =
            |error: &dyn fmt::Display| Error::new(Code::ConfigInvalid, format!("spans cannot be sent: {error}"));
        check_address(self.endpoint.as_deref())?;
        let endpoint = self.endpoint.map(|endpoint| format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        let client = WebClient::new(headers(&self.headers)?, timeout())?;
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
        if let Some(endpoint) = endpoint {
            exporter = exporter.with_endpoint(endpoint);
        }
        let exporter = exporter.build().map_err(|error| wrong(&error))?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(self.queue).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource =
            self.service.into_iter().fold(Resource::builder(), |resource, name| resource.with_service_name(name));
        Ok(SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource.build()).build())
    }
}

/// Without the values of headers, which may be keys.
impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, service, headers, level, queue } = self;
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("Exporter");
        shown.field("endpoint", endpoint).field("service", service).field("headers", &names);
        shown.field("level", level).field("queue", queue).finish()
    }
}

/// Keeps spans being sent. Dropped, it sends the last ones and waits for that, a few seconds at most.
#[must_use = "dropped at once, it stops sending"]
pub struct Guard {
    provider: SdkTracerProvider,
}

impl Guard {
    /// Sends what waits to be sent, now. Blocks until that is done.
    ///
    /// # Errors
    /// When the collector cannot be reached or does not take them.
    pub fn flush(&self) -> Result<()> {
        self.provider.force_flush().map_err(|error| {
            let message = format!("the collector did not take the spans: {error}");
            Error::new(Code::StoreUnavailable, message)
                .help("the runs are not harmed; look whether a collector is there")
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.provider.shutdown_with_timeout(LAST);
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Whether spans can be sent to an address; without one, to that of the environment.
fn check_address(given: Option<&str>) -> Result<()> {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_environment = || said(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).or_else(|| said(OTEL_EXPORTER_OTLP_ENDPOINT));
    let Some(address) = given.map(str::to_owned).or_else(of_environment) else { return Ok(()) };
    // The address itself is not said: it may have a password in it.
    let wrong = |what: &dyn fmt::Display| {
        Error::new(Code::ConfigInvalid, format!("spans cannot be sent, the address of the collector is none: {what}"))
            .help("give one such as `http://127.0.0.1:4318`")
    };
    let address = reqwest::Url::parse(&address).map_err(|error| wrong(&error))?;
    match (address.scheme(), address.has_host()) {
        ("http" | "https", true) => Ok(()),
        ("http" | "https", false) => Err(wrong(&"it has no host")),
        _ => Err(wrong(&"it does not begin with `http://` or `https://`")),
    }
}

/// How long a collector may take to answer.
fn timeout() -> Duration {
    let said = |name| std::env::var(name).ok().and_then(|value| value.trim().parse().ok()).map(Duration::from_millis);
    said(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT).or_else(|| said(OTEL_EXPORTER_OTLP_TIMEOUT)).unwrap_or(TIMEOUT)
}

fn is_own(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or(target);
    OWN.contains(&root)
}
