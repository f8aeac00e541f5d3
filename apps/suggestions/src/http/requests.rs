//! Request bodies, query parameters and headers of the post routes.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::core::validation_error::ValidationError;
use superstep::settings::Secret;
use superstep_server::{ClientAddress, Problem};
use utoipa::{IntoParams, ToSchema};

use crate::app::SearchOptions;
use crate::sources::{Engagement, NewPost, PostFilter, PostViolation, SearchQuery, normalize_query};
use crate::types::Mode;

/// The sender of a request: client address, Microsoft Graph token and language.
pub(crate) struct Requester {
    pub(crate) client: ClientAddress,
    token: Option<Secret>,
    locale: Option<String>,
}

/// Header with the Microsoft Graph token. `Authorization` is not used, because that header authenticates to this
/// server.
const TOKEN_HEADER: &str = "x-graph-token";

impl Requester {
    /// Converts the requester and a model name into search options.
    pub(crate) fn search_options(self, model: Option<String>) -> SearchOptions {
        SearchOptions { model, token: self.token, locale: self.locale }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let client = ClientAddress::from_request_parts(parts, state).await?;
        let token = header_text(&parts.headers, TOKEN_HEADER).filter(|token| !token.is_empty()).map(Secret::new);
        let locale = header_text(&parts.headers, header::ACCEPT_LANGUAGE.as_str()).and_then(language);
        Ok(Self { client, token, locale })
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Returns the first language of an `Accept-Language` list such as `de-AT,en;q=0.8`.
fn language(accepted: &str) -> Option<String> {
    let first = accepted.split([',', ';', '-']).next()?.trim();
    let is_language = (2..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_language.then(|| first.to_ascii_lowercase())
}

/// Filter and page of a list of posts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListPostsParams {
    /// Maximum number of posts, 1 to 200; default 50.
    #[param(value_type = Option<usize>)]
    limit: Option<String>,
    /// Only posts with this tag.
    tag: Option<String>,
    /// Only posts of this kind: `question`, `offer` or `event`.
    mode: Option<String>,
    /// Value of `next` from the previous page; the list starts after that post.
    after: Option<String>,
}

impl ListPostsParams {
    pub(crate) fn post_filter(self) -> Result<PostFilter, Problem> {
        // HTML forms send empty fields; an empty field counts as absent.
        let non_empty = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let mode = non_empty(self.mode).map(|name| {
            let unknown = || {
                let hint = did_you_mean_or_list(&name, &[Mode::Question, Mode::Offer, Mode::Event].map(Mode::name));
                Problem::invalid(format!("unknown post type `{name}`"), []).with_hint(hint)
            };
            Mode::from_name(&name).ok_or_else(unknown)
        });
        let limit = non_empty(self.limit).map_or(Ok(50), |limit| {
            let error = || {
                ValidationError::new(format!("`limit` must be a number, not `{limit}`"))
                    .with_pointer("/limit")
                    .with_help("use 1 to 200")
            };
            limit.trim().parse::<usize>().map_err(|_| Problem::invalid("the query is invalid", [error().into()]))
        });
        Ok(PostFilter {
            limit: limit?.clamp(1, 200),
            tag: non_empty(self.tag),
            mode: mode.transpose()?,
            after: non_empty(self.after),
        })
    }
}

/// A post to create. All fields are validated together, so that the response lists every violation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct CreatePostRequest(Value);

impl CreatePostRequest {
    pub(crate) fn new_post(&self) -> Result<NewPost, Vec<PostViolation>> {
        NewPost::from_json(&self.0)
    }
}

/// A post to create, as documented.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what `NewPost::from_json` reads")]
#[schema(rename_all = "camelCase")]
pub(crate) struct CreatePostSchema {
    /// Text of the post: up to 500 characters and three sentences.
    text: String,
    /// Topics of the post: up to 5 tags of up to 20 characters each.
    tags: Option<Vec<String>>,
    /// Purpose of the post: `question` (default), `offer` or `event`.
    mode: Option<String>,
    /// Time to live of the post: `1h`, `24h` (default), `72h` or `7d`.
    ttl: Option<String>,
    /// Id of the author.
    author_id: Option<String>,
    /// Display name of the author.
    author_name: Option<String>,
    /// Latitude in degrees north.
    lat: Option<f64>,
    /// Longitude in degrees east.
    lng: Option<f64>,
}

/// Engagement with a post.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngagementRequest {
    /// Kind of engagement: `interested` or `join`.
    #[schema(value_type = String)]
    pub(crate) kind: Engagement,
}

/// Options of a request for suggestions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuggestionsParams {
    /// `1` streams run events.
    stream: Option<String>,
    /// Model: `local`, `direct`, a model of the settings, or a name such as `groq/llama-3.1-8b-instant`.
    pub(crate) model: Option<String>,
}

impl SuggestionsParams {
    pub(crate) fn is_streamed(&self) -> Result<bool, Problem> {
        match self.stream.as_deref() {
            Some("1" | "true") => Ok(true),
            None | Some("" | "0" | "false") => Ok(false),
            Some(other) => {
                Err(Problem::invalid(format!("`stream` must be `1`, not `{other}`"), [])
                    .with_hint("use `1`, or omit it"))
            }
        }
    }
}

/// Query of a search.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParams {
    /// Words to search for. Only the first 200 characters are used.
    #[serde(default)]
    q: String,
}

impl SearchParams {
    pub(crate) fn query(&self) -> Result<SearchQuery, Problem> {
        normalize_query(&self.q).map_err(|_| {
            let error = ValidationError::new("must not be empty").with_pointer("/q").with_help("use one or more words");
            Problem::invalid("the query is empty", [error.into()])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_language_counts_where_there_is_one() {
        for (header, expected) in [("de-AT,en;q=0.8", Some("de")), ("EN", Some("en")), ("*", None), ("", None)] {
            assert_eq!(language(header).as_deref(), expected, "{header}");
        }
    }
}
