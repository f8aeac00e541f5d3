//! Sampling of the next token: the most likely one, or a random one that depends only on the seed.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::model::ChatRequest;

/// Sampling parameters and random state.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// Temperature; 0 selects the most likely token.
    temperature: f64,
    /// Cumulative probability of the tokens to sample from (`top_p`).
    share: f64,
    state: u64,
}

impl Sampler {
    /// Creates a sampler for a request; `seed` applies if the request has no seed.
    pub(crate) fn new(request: &ChatRequest, seed: u64) -> Result<Self> {
        let (temperature, share) = (request.temperature.unwrap_or(0.0), request.top_p.unwrap_or(1.0));
        if !(temperature.is_finite() && temperature >= 0.0) {
            return Err(Error::new(
                ErrorCode::ConfigInvalid,
                format!("the temperature must be 0 or above, found {temperature}"),
            ));
        }
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::new(
                ErrorCode::ConfigInvalid,
                format!("`top_p` must be above 0 and at most 1, found {share}"),
            ));
        }
        Ok(Self { temperature, share, state: request.seed.unwrap_or(seed) })
    }

    /// Selects a token by its logits; `None` if no logit is finite.
    pub(crate) fn choose(&mut self, weights: &[f32]) -> Option<u32> {
        // The first of several equal logits, so that the result does not depend on the order of comparison.
        let better = |best: usize, next: usize| if weights[next] > weights[best] { next } else { best };
        let best = (0..weights.len()).filter(|token| weights[*token].is_finite()).reduce(better)?;
        let token = if self.temperature == 0.0 { best } else { self.draw(weights, weights[best]) };
        u32::try_from(token).ok()
    }

    fn draw(&mut self, weights: &[f32], most: f32) -> usize {
        let chance = |weight: f32| (f64::from(weight - most) / self.temperature).exp();
        let finite = weights.iter().enumerate().filter(|(_, weight)| weight.is_finite());
        let mut chances: Vec<(usize, f64)> = finite.map(|(token, weight)| (token, chance(*weight))).collect();
        let mut sum: f64 = chances.iter().map(|(_, chance)| chance).sum();
        if self.share < 1.0 {
            chances.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            let (mut total, enough) = (0.0, sum * self.share);
            let count = chances.iter().take_while(|(_, chance)| {
                let is_selected = total < enough;
                total += if is_selected { *chance } else { 0.0 };
                is_selected
            });
            let count = count.count();
            chances.truncate(count);
            sum = total;
        }
        let mut at = self.random() * sum;
        let chosen = chances.iter().find(|(_, chance)| {
            at -= chance;
            at < 0.0
        });
        chosen.or(chances.last()).map_or(0, |(token, _)| *token)
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

    fn request(temperature: f64, share: Option<f64>, seed: u64) -> ChatRequest {
        let mut request = ChatRequest::from("hi").temperature(temperature);
        (request.top_p, request.seed) = (share, Some(seed));
        request
    }

    fn drawn(request: &ChatRequest, weights: &[f32]) -> Vec<Option<u32>> {
        let mut sampler = Sampler::new(request, 0).unwrap();
        (0..200).map(|_| sampler.choose(weights)).collect()
    }

    #[test]
    fn zero_temperature_picks_first_maximum() {
        let mut sampler = Sampler::new(&ChatRequest::from("hi"), 7).unwrap();
        assert_eq!(sampler.choose(&[0.5, 2.0, f32::NAN, 2.0, f32::INFINITY]), Some(1));
        assert_eq!(sampler.choose(&[f32::NAN]), None);
        assert_eq!(sampler.choose(&[]), None);
    }

    #[test]
    fn the_seed_determines_the_samples() {
        let weights = [1.0, 1.5, 0.5, 1.2];
        assert_eq!(drawn(&request(1.0, None, 1), &weights), drawn(&request(1.0, None, 1), &weights));
        assert_ne!(drawn(&request(1.0, None, 1), &weights), drawn(&request(1.0, None, 2), &weights));
    }

    #[test]
    fn top_p_excludes_unlikely_tokens() {
        // The probabilities are about 0.64, 0.24, 0.09 and 0.03.
        let weights = [3.0, 2.0, 1.0, 0.0];
        let among = |share| drawn(&request(1.0, share, 3), &weights).into_iter().flatten().max();
        assert_eq!([among(Some(0.5)), among(Some(0.8)), among(None)], [Some(0), Some(1), Some(3)]);
    }

    #[test]
    fn invalid_sampling_settings_are_rejected() {
        for (temperature, share) in [(-1.0, None), (f64::NAN, None), (1.0, Some(0.0)), (1.0, Some(1.5))] {
            let error = Sampler::new(&request(temperature, share, 1), 0).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{temperature} {share:?}");
        }
    }
}
