//! Export of spans to a collector over OTLP, as protobuf over HTTP.
//!
//! Spans are sent by a dedicated thread, in batches, from a bounded queue: if the collector is slow or unreachable,
//! spans are dropped and the program is not slowed down. The remaining spans are sent when the guard is dropped.
//!
//! This module sends the attributes of the spans unchanged; their content is decided where the spans are created.

mod http_client;

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
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::semantic_conventions::SCHEMA_URL;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

use http_client::{OtlpHttpClient, headers};

/// Default capacity of the queue, in spans.
const DEFAULT_QUEUE_CAPACITY: usize = 2_048;

/// Default timeout of a request, if the environment sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of sending the remaining spans on shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Crates whose spans are not exported: exporting the spans of an export would never end.
const IGNORED_TARGETS: [&str; 6] = ["h2", "hyper", "hyper_util", "opentelemetry", "reqwest", "rustls"];

/// An exporter of spans to a collector. [`install`](Self::install) enables it for the whole program.
///
/// ```no_run
/// # fn main() -> superstep_core::error::Result<()> {
/// use superstep_adapters::otlp::OtlpExporter;
///
/// let guard = OtlpExporter::new("http://127.0.0.1:4318").service("my-agent").install()?;
/// // .. runs ..
/// drop(guard);
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "an exporter sends nothing until it is installed"]
pub struct OtlpExporter {
    endpoint: Option<String>,
    service: Option<String>,
    headers: Vec<(String, String)>,
    level: LevelFilter,
    queue: usize,
}

impl OtlpExporter {
    /// Exports to a collector at this address, such as `http://127.0.0.1:4318`; the path of the protocol is appended.
    ///
    /// Other settings default to the standard environment variables: `OTEL_EXPORTER_OTLP_HEADERS`,
    /// `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_TIMEOUT`.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::from_environment() }
    }

    /// Exports to `OTEL_EXPORTER_OTLP_ENDPOINT`. Default: this machine.
    pub fn from_environment() -> Self {
        Self {
            endpoint: None,
            service: None,
            headers: Vec::new(),
            level: LevelFilter::INFO,
            queue: DEFAULT_QUEUE_CAPACITY,
        }
    }

    /// Sets the service name. Default: `OTEL_SERVICE_NAME`.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Adds a header, such as a key. It overrides a header of the same name in `OTEL_EXPORTER_OTLP_HEADERS`. Its
    /// value never appears in debug output.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Exports spans of level `DEBUG` as well, which includes supersteps and checkpoints.
    pub fn include_debug_spans(mut self) -> Self {
        self.level = LevelFilter::DEBUG;
        self
    }

    /// Sets the capacity of the queue in spans. Default: 2,048. Further spans are dropped.
    pub fn queue(mut self, spans: usize) -> Self {
        self.queue = spans.max(1);
        self
    }

    /// Exports the spans of the whole program until the guard is dropped.
    ///
    /// # Errors
    /// Returns an error if the address or a header is invalid, or if the program already has a global subscriber.
    pub fn install(self) -> Result<ExporterGuard> {
        let (layer, guard) = self.layer()?;
        tracing::subscriber::set_global_default(Registry::default().with(layer)).map_err(|_| {
            Error::new(ErrorCode::ConfigInvalid, "the program already has a global `tracing` subscriber")
                .with_help("call `layer`, and add the returned layer to the existing registry")
        })?;
        Ok(guard)
    }

    /// Returns a layer for a registry of the program; spans are exported until the guard is dropped.
    ///
    /// # Errors
    /// Returns an error if the address or a header is invalid.
    pub fn layer<S>(self) -> Result<(impl Layer<S> + Send + Sync + 'static, ExporterGuard)>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync + 'static,
    {
        let level = self.level;
        let provider = self.provider()?;
        let scope = InstrumentationScope::builder("superstep")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        let is_exported = move |metadata: &Metadata<'_>| *metadata.level() <= level && !is_ignored(metadata.target());
        let layer = tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_tracer(provider.tracer_with_scope(scope))
            // Without the hint, all other spans of the program would be created and discarded here.
            .with_filter(filter_fn(is_exported).with_max_level_hint(level));
        Ok((layer, ExporterGuard { provider }))
    }

    fn provider(self) -> Result<SdkTracerProvider> {
        let config_error = |error: &dyn fmt::Display| {
            Error::new(ErrorCode::ConfigInvalid, format!("failed to create the span exporter: {error}"))
        };
        check_address(self.endpoint.as_deref())?;
        let endpoint = self.endpoint.map(|endpoint| format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        let client = OtlpHttpClient::new(headers(&self.headers)?, timeout())?;
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
        if let Some(endpoint) = endpoint {
            exporter = exporter.with_endpoint(endpoint);
        }
        let exporter = exporter.build().map_err(|error| config_error(&error))?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(self.queue).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource =
            self.service.into_iter().fold(Resource::builder(), |resource, name| resource.with_service_name(name));
        Ok(SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource.build()).build())
    }
}

/// Hides the values of headers, which may be keys.
impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, service, headers, level, queue } = self;
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut debug = f.debug_struct("OtlpExporter");
        debug.field("endpoint", endpoint).field("service", service).field("headers", &names);
        debug.field("level", level).field("queue", queue).finish()
    }
}

/// A guard that keeps the export running. When dropped, it sends the remaining spans and waits for at most five
/// seconds.
#[must_use = "the export stops when the guard is dropped"]
pub struct ExporterGuard {
    provider: SdkTracerProvider,
}

impl ExporterGuard {
    /// Sends the queued spans now and blocks until they are sent.
    ///
    /// # Errors
    /// Returns an error if the collector cannot be reached or rejects the spans.
    pub fn flush(&self) -> Result<()> {
        self.provider.force_flush().map_err(|error| {
            let message = format!("failed to send spans to the collector: {error}");
            Error::new(ErrorCode::StoreUnavailable, message)
                .with_help("check that the collector is running; runs are not affected")
        })
    }
}

impl Drop for ExporterGuard {
    fn drop(&mut self) {
        // The error cannot be returned from a destructor.
        let _ = self.provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
    }
}

impl fmt::Debug for ExporterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExporterGuard")
    }
}

/// Checks the given address, or that of the environment.
fn check_address(endpoint: Option<&str>) -> Result<()> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of_environment =
        || variable(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).or_else(|| variable(OTEL_EXPORTER_OTLP_ENDPOINT));
    let Some(address) = endpoint.map(str::to_owned).or_else(of_environment) else { return Ok(()) };
    // The error does not contain the address, which may include a password.
    let invalid_address = |problem: &dyn fmt::Display| {
        Error::new(ErrorCode::ConfigInvalid, format!("invalid address of the collector: {problem}"))
            .with_help("use an address such as `http://127.0.0.1:4318`")
    };
    let address = reqwest::Url::parse(&address).map_err(|error| invalid_address(&error))?;
    match (address.scheme(), address.has_host()) {
        ("http" | "https", true) => Ok(()),
        ("http" | "https", false) => Err(invalid_address(&"the URL has no host")),
        _ => Err(invalid_address(&"the URL does not begin with `http://` or `https://`")),
    }
}

/// Returns the timeout of a request.
fn timeout() -> Duration {
    let variable =
        |name| std::env::var(name).ok().and_then(|value| value.trim().parse().ok()).map(Duration::from_millis);
    variable(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT)
        .or_else(|| variable(OTEL_EXPORTER_OTLP_TIMEOUT))
        .unwrap_or(DEFAULT_TIMEOUT)
}

fn is_ignored(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or(target);
    IGNORED_TARGETS.contains(&root)
}
