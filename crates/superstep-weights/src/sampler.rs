//! Sampling of the next token: the most likely one, or a random one that depends only on the seed.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::ChatRequest;

/// Sampling parameters and random state.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// Temperature; 0 selects the most likely token.
    temperature: f64,
    /// Cumulative probability of the tokens to sample from (`top_p`).
    top_p: f64,
    state: u64,
}

impl Sampler {
    /// Creates a sampler for a request; `seed` applies if the request has no seed.
    pub(crate) fn new(request: &ChatRequest, seed: u64) -> Result<Self> {
        let (temperature, top_p) = (request.temperature.unwrap_or(0.0), request.top_p.unwrap_or(1.0));
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(Error::new(
                ErrorCode::ConfigInvalid,
                format!("the temperature must be 0 or above, found {temperature}"),
            ));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(Error::new(
                ErrorCode::ConfigInvalid,
                format!("`top_p` must be above 0 and at most 1, found {top_p}"),
            ));
        }
        Ok(Self { temperature, top_p, state: request.seed.unwrap_or(seed) })
    }

    /// Selects a token by its logits; `None` if no logit is finite.
    pub(crate) fn sample(&mut self, logits: &[f32]) -> Option<u32> {
        // The first of several equal logits, so that the result does not depend on the order of comparison.
        let better = |best: usize, next: usize| if logits[next] > logits[best] { next } else { best };
        let best = (0..logits.len()).filter(|token| logits[*token].is_finite()).reduce(better)?;
        let token = if self.temperature == 0.0 { best } else { self.sample_random(logits, logits[best]) };
        u32::try_from(token).ok()
    }

    fn sample_random(&mut self, logits: &[f32], max_logit: f32) -> usize {
        let weight = |logit: f32| (f64::from(logit - max_logit) / self.temperature).exp();
        let finite = logits.iter().enumerate().filter(|(_, logit)| logit.is_finite());
        let mut weights: Vec<(usize, f64)> = finite.map(|(token, logit)| (token, weight(*logit))).collect();
        let mut sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if self.top_p < 1.0 {
            weights.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            let (mut total, target) = (0.0, sum * self.top_p);
            let count = weights.iter().take_while(|(_, weight)| {
                let is_selected = total < target;
                total += if is_selected { *weight } else { 0.0 };
                is_selected
            });
            let count = count.count();
            weights.truncate(count);
            sum = total;
        }
        let mut remaining = self.random() * sum;
        let sampled = weights.iter().find(|(_, weight)| {
            remaining -= weight;
            remaining < 0.0
        });
        sampled.or(weights.last()).map_or(0, |(token, _)| *token)
    }

    /// Returns the next number of SplitMix64 in [0, 1), which is the same on every machine.
    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(temperature: f64, top_p: Option<f64>, seed: u64) -> ChatRequest {
        let mut request = ChatRequest::from("hi").temperature(temperature);
        (request.top_p, request.seed) = (top_p, Some(seed));
        request
    }

    fn samples(request: &ChatRequest, logits: &[f32]) -> Vec<Option<u32>> {
        let mut sampler = Sampler::new(request, 0).unwrap();
        (0..200).map(|_| sampler.sample(logits)).collect()
    }

    #[test]
    fn zero_temperature_picks_first_maximum() {
        let mut sampler = Sampler::new(&ChatRequest::from("hi"), 7).unwrap();
        assert_eq!(sampler.sample(&[0.5, 2.0, f32::NAN, 2.0, f32::INFINITY]), Some(1));
        assert_eq!(sampler.sample(&[f32::NAN]), None);
        assert_eq!(sampler.sample(&[]), None);
    }

    #[test]
    fn the_seed_determines_the_samples() {
        let logits = [1.0, 1.5, 0.5, 1.2];
        assert_eq!(samples(&request(1.0, None, 1), &logits), samples(&request(1.0, None, 1), &logits));
        assert_ne!(samples(&request(1.0, None, 1), &logits), samples(&request(1.0, None, 2), &logits));
    }

    #[test]
    fn top_p_excludes_unlikely_tokens() {
        // The probabilities are about 0.64, 0.24, 0.09 and 0.03.
        let logits = [3.0, 2.0, 1.0, 0.0];
        let highest_token = |top_p| samples(&request(1.0, top_p, 3), &logits).into_iter().flatten().max();
        assert_eq!(
            [highest_token(Some(0.5)), highest_token(Some(0.8)), highest_token(None)],
            [Some(0), Some(1), Some(3)]
        );
    }

    #[test]
    fn invalid_sampling_settings_are_rejected() {
        for (temperature, top_p) in [(-1.0, None), (f64::NAN, None), (1.0, Some(0.0)), (1.0, Some(1.5))] {
            let error = Sampler::new(&request(temperature, top_p, 1), 0).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{temperature} {top_p:?}");
        }
    }
}
