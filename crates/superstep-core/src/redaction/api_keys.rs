//! Keys and tokens that are recognised by their prefix.

use std::cell::Cell;
use std::ops::Range;

/// The bytes that a key consists of, after its prefix.
#[derive(Clone, Copy)]
enum CharClass {
    /// Letters and digits.
    Letters,
    /// Upper-case letters and digits.
    Upper,
    /// Digits and the letters to `f`, with the number of digits that `prefilter` relies on.
    Hex,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Dashes,
    /// Letters, digits, `_`, `-`, `.`.
    Dots,
}

impl CharClass {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Letters => byte.is_ascii_alphanumeric(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashes => is_token(byte),
            Self::Dots => is_token(byte) || byte == b'.',
        }
    }
}

/// Minimum number of digits of a key that only its digits distinguish from a word.
const MIN_DIGITS: usize = 8;

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Prefix of each key, its bytes, and their minimum number. If one prefix is part of another, the longer one is first.
/// Each has one of the bytes or pairs that `prefilter` looks for.
#[rustfmt::skip]
const SHAPES: [(&[u8], CharClass, usize); 64] = {
    use CharClass::{Dashes, Dots, Hex, Letters, Upper, Word};
    [
        // Models: OpenAI, Anthropic, OpenRouter, Groq, xAI, Perplexity, Hugging Face, Replicate, Google, Tavily,
        // LangSmith, Langfuse.
        (b"sk-ant-", Dashes, 16), (b"sk-proj-", Dashes, 16), (b"sk-svcacct-", Dashes, 16), (b"sk-admin-", Dashes, 16),
        (b"sk-or-v1-", Dashes, 16), (b"sk-lf-", Dashes, 16), (b"pk-lf-", Dashes, 16), (b"sk-", Letters, 16), (b"gsk_", Letters, 20),
        (b"xai-", Letters, 20), (b"pplx-", Letters, 20), (b"hf_", Letters, 16), (b"r8_", Letters, 20), (b"AIza", Dashes, 30),
        (b"tvly-", Dashes, 16), (b"lsv2_pt_", Word, 16), (b"lsv2_sk_", Word, 16),
        // Code hosting and registries: GitHub, GitLab, npm, PyPI, Docker, RubyGems.
        (b"ghp_", Letters, 16), (b"gho_", Letters, 16), (b"ghu_", Letters, 16), (b"ghs_", Letters, 16), (b"ghr_", Letters, 16),
        (b"github_pat_", Word, 20), (b"glpat-", Dots, 16), (b"glptt-", Dashes, 16), (b"gldt-", Dashes, 16), (b"glrt-", Dots, 16),
        (b"npm_", Letters, 20), (b"pypi-", Dashes, 20), (b"dckr_pat_", Dashes, 16), (b"rubygems_", Letters, 20),
        // Clouds: Amazon, Google, DigitalOcean, Vault, Databricks, Grafana, Supabase.
        (b"AKIA", Upper, 16), (b"ASIA", Upper, 16), (b"ya29.", Dashes, 20), (b"GOCSPX-", Dashes, 16),
        (b"dop_v1_", Letters, 20), (b"doo_v1_", Letters, 20), (b"dor_v1_", Letters, 20), (b"hvs.", Dashes, 20),
        (b"dapi", Hex, 32), (b"glsa_", Word, 20), (b"sbp_", Letters, 20),
        // Chat and email: Slack, SendGrid.
        (b"xoxb-", Dashes, 10), (b"xoxa-", Dashes, 10), (b"xoxp-", Dashes, 10), (b"xoxr-", Dashes, 10), (b"xoxs-", Dashes, 10),
        (b"xoxe-", Dashes, 10), (b"xoxe.xoxp-", Dashes, 10), (b"xoxe.xoxb-", Dashes, 10), (b"xapp-", Dashes, 10), (b"SG.", Dots, 30),
        // Commerce and documents: Stripe, Shopify, Notion, Linear, Atlassian, Postman.
        (b"sk_live_", Letters, 10), (b"sk_test_", Letters, 10), (b"rk_live_", Letters, 10), (b"rk_test_", Letters, 10),
        (b"whsec_", Letters, 16), (b"shpat_", Letters, 16), (b"shpss_", Letters, 16), (b"shpca_", Letters, 16),
        (b"ntn_", Letters, 20), (b"lin_api_", Letters, 16), (b"ATATT3", Dashes, 20), (b"PMAK-", Dashes, 16),
    ]
};

/// Returns for each byte the shapes that have it at this position: two lookups exclude nearly every word.
const fn shapes_with(position: usize) -> [u64; 256] {
    let (mut table, mut index) = ([0; 256], 0);
    while index < SHAPES.len() {
        table[SHAPES[index].0[position] as usize] |= 1 << index;
        index += 1;
    }
    table
}

static FIRST: [u64; 256] = shapes_with(0);
static SECOND: [u64; 256] = shapes_with(1);

/// Returns the key that begins at `at`.
pub(super) fn api_key(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &bytes[at..];
    let mut possible = FIRST[usize::from(rest[0])] & SECOND[usize::from(*rest.get(1)?)];
    let (prefix, char_class, min) = loop {
        let index = possible.trailing_zeros() as usize;
        match SHAPES.get(index)? {
            shape if rest.starts_with(shape.0) => break shape,
            _ => possible &= possible - 1,
        }
    };
    let body = &rest[prefix.len()..];
    let body = &body[..body.iter().take_while(|byte| char_class.has(**byte)).count()];
    // Names with dashes look like keys, and have no digits.
    let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_distinguishable = match char_class {
        CharClass::Hex => digits >= MIN_DIGITS,
        _ => digits > 0 || body.len() >= 2 * min,
    };
    let is_key = body.len() >= *min && is_distinguishable;
    is_key.then(|| at..at + prefix.len() + trimmed(body))
}

/// Returns the length of a body without the dots and dashes of the surrounding sentence.
fn trimmed(body: &[u8]) -> usize {
    body.iter().rposition(|byte| !matches!(byte, b'.' | b'-')).map_or(0, |last| last + 1)
}

/// Returns the signed token that begins at `at`: at least two parts, the first of them JSON in base64. There is no
/// token before `none`: a long word with dashes is scanned once, not from each dash.
pub(super) fn jwt(bytes: &[u8], at: usize, none: &Cell<usize>) -> Option<Range<usize>> {
    if !bytes[at..].starts_with(b"eyJ") || at < none.get() {
        return None;
    }
    let part = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|byte| is_token(**byte)).count();
    let (mut end, mut parts) = (at + part(at), 1);
    none.set(end);
    if end - at < 8 {
        return None;
    }
    while parts < 5 && bytes.get(end) == Some(&b'.') {
        // The second part of an encrypted token may be empty.
        let is_empty = parts == 1 && bytes.get(end + 1) == Some(&b'.');
        let length = part(end + 1 + usize::from(is_empty));
        if length == 0 || (parts == 1 && length < 5) {
            break;
        }
        let more = 1 + usize::from(is_empty);
        (end, parts) = (end + more + length, parts + more);
    }
    (parts >= 2).then_some(at..end)
}

/// Minimum length of a token in a header.
const MIN_TOKEN_LENGTH: usize = 16;

/// Returns the token after the `Bearer` that begins at `at`.
pub(super) fn bearer(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let word = bytes.get(at..at + 6)?;
    if !word.eq_ignore_ascii_case(b"bearer") {
        return None;
    }
    let blanks = bytes[at + 6..].iter().take(4).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = at + 6 + blanks;
    let in_token = |byte: &u8| is_token(*byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let body = &bytes[start..start + bytes[start..].iter().take_while(|byte| in_token(byte)).count()];
    let length = trimmed(body);
    let is_token = length >= MIN_TOKEN_LENGTH && (body.iter().any(u8::is_ascii_digit) || length >= 40);
    (blanks > 0 && is_token).then_some(start..start + length)
}
