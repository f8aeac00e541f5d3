//! Vectors: the similarity of two, and the stored bytes of one.

/// Returns the cosine of two vectors, from -1 to 1; 0 if one of them has length 0 or their dimensions differ.
#[must_use]
pub fn similarity(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if lengths > 0.0 { (product(a, b) / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

/// Returns a vector as little-endian bytes.
#[must_use]
pub fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Parses the bytes of [`to_bytes`]; `None` if they are not a vector.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_in_the_direction_and_not_in_the_length() {
        assert_eq!(similarity(&[1.0, 0.0], &[5.0, 0.0]), 1.0);
        assert_eq!(similarity(&[1.0, 0.0], &[0.0, 2.0]), 0.0);
        assert_eq!(similarity(&[1.0, 0.0], &[-2.0, 0.0]), -1.0);
        assert_eq!((similarity(&[0.0], &[1.0]), similarity(&[1.0], &[1.0, 1.0])), (0.0, 0.0));
    }

    #[test]
    fn bytes_round_trip() {
        let vector = [0.0, -1.5, f32::MAX, f32::MIN_POSITIVE];
        assert_eq!(from_bytes(&to_bytes(&vector)).unwrap(), vector);
        assert!(from_bytes(&[1, 2, 3]).is_none());
    }
}
