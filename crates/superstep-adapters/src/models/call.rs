//! One model call with everything it needs, prepared before anything is sent.

use std::time::Duration;

use genai::chat::ChatOptions;
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use superstep_core::error::Result;
use superstep_core::model::ChatRequest;
use superstep_core::port::Model;
use tokio::time::Instant;

use super::ProviderModel;
use super::error::ErrorReporter;
use super::provider_api::ApiDialect;
use super::request::RequestBuilder;

/// A prepared call.
pub(super) struct PreparedCall<'a> {
    pub(super) request: &'a ChatRequest,
    pub(super) client: genai::Client,
    pub(super) target: ServiceTarget,
    pub(super) chat: genai::chat::ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) dialect: ApiDialect,
    pub(super) report: ErrorReporter,
    pub(super) deadline: Instant,
    /// Timeout of the whole call, for the error text.
    pub(super) total: Duration,
}

impl<'a> PreparedCall<'a> {
    /// Prepares a call without sending anything.
    ///
    /// # Errors
    /// Returns an error if there is no key, a setting is invalid, or the provider does not support the request.
    pub(super) fn prepare(provider: &ProviderModel, request: &'a ChatRequest, is_streaming: bool) -> Result<Self> {
        let info = provider.info();
        let key = provider.find_key(&info)?;
        let url = provider.service.url(&provider.base, &provider.name, is_streaming)?;
        let builder = RequestBuilder { service: &provider.service, name: &provider.name, info: &info, request };
        let chat = builder.chat()?;
        let mut options = builder.options()?;
        options.stream_header_timeout = Some(provider.timeouts.idle);
        options.stream_read_timeout = Some(provider.timeouts.idle);
        let mut headers = provider.service.default_headers(key.as_deref());
        headers.retain(|(name, _)| provider.headers.iter().all(|(other, _)| other != name));
        headers.extend(provider.headers.iter().cloned());
        let secrets = key.into_iter().chain(provider.headers.iter().map(|(_, value)| value.clone())).collect();
        Ok(Self {
            request,
            client: provider.client()?.clone(),
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(provider.base.as_str()),
                auth: AuthData::RequestOverride { url: url.into(), headers: headers.into() },
                model: ModelIden::new(provider.service.adapter(), &*provider.name),
            },
            chat,
            options,
            dialect: provider.service.dialect(),
            report: ErrorReporter::new(info, secrets),
            deadline: deadline_after(provider.timeouts.total),
            total: provider.timeouts.total,
        })
    }
}

/// Returns the instant after a timeout; an unlimited timeout is limited to a year.
fn deadline_after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}
