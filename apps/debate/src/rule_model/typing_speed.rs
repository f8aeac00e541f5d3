//! Typing delay: streams the rule model's text at reading speed.

use std::sync::Arc;
use std::time::Duration;

use superstep::Result;
use superstep::core::port::Clock;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo};

use super::RuleModel;

/// The rule model with a delay before each further word of a streamed response.
pub(super) struct TypingSpeedModel {
    pub(super) inner: RuleModel,
    pub(super) typing_delay: Duration,
    pub(super) clock: Arc<dyn Clock>,
}

impl Model for TypingSpeedModel {
    fn info(&self) -> ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let response = self.inner.generate(request, &mut ChunkSender::discard()).await?;
        if !out.has_listener() {
            return Ok(response);
        }
        let text = response.message.text();
        for (index, word) in text.split_inclusive(char::is_whitespace).enumerate() {
            if index > 0 {
                self.clock.sleep(self.typing_delay).await;
            }
            out.text(word).await;
        }
        Ok(response)
    }
}
