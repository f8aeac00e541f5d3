//! Makes one list of the answers to several queries.

use crate::types::McpSuggestion;

/// How much the first places of a list count more than later ones: the usual number of reciprocal rank fusion is larger,
/// and made for lists of hundreds.
const SMOOTH: f64 = 2.0;

/// One list of several, the best first: what stands high in many lists stands high. A document is there once, with the
/// section that stood highest.
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
            let worth = 1.0 / (SMOOTH + rank as f64);
            match fused.iter_mut().find(|(_, _, known)| self::document(&known.url) == document) {
                Some((sum, best, known)) => {
                    *sum += worth;
                    if rank < *best {
                        (*best, *known) = (rank, suggestion);
                    }
                }
                None => fused.push((worth, rank, suggestion)),
            }
            seen.push(document);
        }
    }
    // Stable: of equals the one that came first, which the original words found.
    fused.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    fused.into_iter().map(|(_, _, suggestion)| suggestion).collect()
}

fn document(url: &str) -> &str {
    url.split_once('#').map_or(url, |(document, _)| document)
}
