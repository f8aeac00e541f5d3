//! Words at a speed that people read at.

use std::sync::Arc;
use std::time::Duration;

use superstep::Result;
use superstep::core::port::Clock;
use superstep::model::{Answer, Model, ModelInfo, Pieces, Request};

use super::Speakers;

/// Voices that wait before each further word, where somebody listens.
pub(super) struct Paced {
    pub(super) speakers: Speakers,
    pub(super) pace: Duration,
    pub(super) clock: Arc<dyn Clock>,
}

impl Model for Paced {
    fn info(&self) -> ModelInfo {
        self.speakers.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let answer = self.speakers.answer(request, &mut Pieces::unheard()).await?;
        if !out.wants() {
            return Ok(answer);
        }
        let text = answer.message.text();
        for (index, word) in text.split_inclusive(char::is_whitespace).enumerate() {
            if index > 0 {
                self.clock.sleep(self.pace).await;
            }
            out.text(word).await;
        }
        Ok(answer)
    }
}
