//! One call of a model: everything that is needed for it, made before anything is sent.

use std::time::Duration;

use genai::chat::{ChatOptions, ChatRequest};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use superstep_core::error::Result;
use superstep_core::model::Request;
use superstep_core::port::Model;
use tokio::time::Instant;

use super::Provider;
use super::ask::Ask;
use super::service::Dialect;
use super::trouble::Report;

/// A call that is ready to be made.
pub(super) struct Call<'a> {
    pub(super) request: &'a Request,
    pub(super) client: genai::Client,
    pub(super) target: ServiceTarget,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) dialect: Dialect,
    pub(super) report: Report,
    pub(super) deadline: Instant,
    /// How long the whole may take, for the error that says so.
    pub(super) total: Duration,
}

impl<'a> Call<'a> {
    /// # Errors
    /// When there is no key, a setting is wrong, or the service cannot be asked this.
    pub(super) fn prepare(provider: &Provider, request: &'a Request, in_pieces: bool) -> Result<Self> {
        let info = provider.info();
        let key = provider.find_key(&info)?;
        let url = provider.service.url(&provider.base, &provider.name, in_pieces)?;
        let ask = Ask { service: &provider.service, name: &provider.name, info: &info, request };
        let chat = ask.chat()?;
        let mut options = ask.options()?;
        options.stream_header_timeout = Some(provider.times.idle);
        options.stream_read_timeout = Some(provider.times.idle);
        let mut head = provider.service.head(key.as_deref());
        head.retain(|(name, _)| provider.headers.iter().all(|(other, _)| other != name));
        head.extend(provider.headers.iter().cloned());
        let secrets = key.into_iter().chain(provider.headers.iter().map(|(_, value)| value.clone())).collect();
        Ok(Self {
            request,
            client: provider.client()?.clone(),
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(provider.base.as_str()),
                auth: AuthData::RequestOverride { url: url.into(), headers: head.into() },
                model: ModelIden::new(provider.service.adapter(), &*provider.name),
            },
            chat,
            options,
            dialect: provider.service.dialect(),
            report: Report::new(info, secrets),
            deadline: until(provider.times.total),
            total: provider.times.total,
        })
    }
}

/// The end of a time that begins now; of one without end, a year from now.
fn until(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now + Duration::from_secs(365 * 24 * 3600))
}
