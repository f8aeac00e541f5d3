//! Fuses the result lists of several queries into one.

use crate::types::McpSuggestion;

/// Smoothing constant of reciprocal rank fusion. The usual value is larger and suits lists of hundreds of results.
const SMOOTHING: f64 = 2.0;

/// Fuses ranked lists, best first: a result that ranks high in many lists ranks high. Each document occurs once,
/// with its highest-ranked section.
#[must_use]
pub fn fuse(lists: Vec<Vec<McpSuggestion>>) -> Vec<McpSuggestion> {
    let mut fused: Vec<(f64, usize, McpSuggestion)> = Vec::new();
    for list in lists {
        let mut seen: Vec<String> = Vec::new();
        for (rank, suggestion) in list.into_iter().enumerate() {
            let document = document(&suggestion.url).to_owned();
            if seen.contains(&document) {
                continue;
            }
            let score = 1.0 / (SMOOTHING + rank as f64);
            match fused.iter_mut().find(|(_, _, existing)| self::document(&existing.url) == document) {
                Some((sum, best, existing)) => {
                    *sum += score;
                    if rank < *best {
                        (*best, *existing) = (rank, suggestion);
                    }
                }
                None => fused.push((score, rank, suggestion)),
            }
            seen.push(document);
        }
    }
    // The sort is stable: on a tie the earlier list wins, which is the one of the unexpanded query.
    fused.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    fused.into_iter().map(|(_, _, suggestion)| suggestion).collect()
}

fn document(url: &str) -> &str {
    url.split_once('#').map_or(url, |(document, _)| document)
}
