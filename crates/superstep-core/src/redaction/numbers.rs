//! Card numbers and phone numbers: digits, contiguous or in groups.
//!
//! Contiguous digits without a `+` are never a phone number, and a card number only with the prefix and length of
//! an issuer and the right check digit: ids, times, prices and versions stay.

use std::ops::Range;

/// Returns the number of consecutive digits from `at`, counted up to 20.
fn digits_at(bytes: &[u8], at: usize) -> usize {
    bytes[at.min(bytes.len())..].iter().take(20).take_while(|byte| byte.is_ascii_digit()).count()
}

fn matches_at(bytes: &[u8], at: usize, test: impl Fn(u8) -> bool) -> bool {
    bytes.get(at).is_some_and(|byte| test(*byte))
}

/// The groups of digits in which a card number is printed.
const LAYOUTS: [&[usize]; 5] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4, 2], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// Returns the card number that begins at `at`.
pub(super) fn card(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    // The fraction of a number looks like a card number, and passes the check digit one time in ten.
    let is_fraction = at > 1 && matches!(bytes[at - 1], b'.' | b'-') && bytes[at - 2].is_ascii_digit();
    if is_fraction {
        return None;
    }
    let length = digits_at(bytes, at);
    if length != 4 {
        let range = at..at + length;
        return ((14..=19).contains(&length) && is_card(&bytes[range.clone()]) && ends(bytes, range.end))
            .then_some(range);
    }
    let separator = bytes.get(at + 4).copied().filter(|byte| matches!(byte, b' ' | b'-'))?;
    LAYOUTS.iter().find_map(|layout| grouped(bytes, at, separator, layout))
}

fn grouped(bytes: &[u8], at: usize, separator: u8, layout: &[usize]) -> Option<Range<usize>> {
    let (mut digits, mut position) = (Vec::with_capacity(19), at);
    for (index, length) in layout.iter().enumerate() {
        if index > 0 {
            position = (bytes.get(position) == Some(&separator)).then_some(position + 1)?;
        }
        if digits_at(bytes, position) != *length {
            return None;
        }
        digits.extend_from_slice(&bytes[position..position + length]);
        position += length;
    }
    (is_card(&digits) && ends(bytes, position)).then_some(at..position)
}

/// Returns true if no letter, no fraction, and no further group after a dash follows.
fn ends(bytes: &[u8], at: usize) -> bool {
    let continues = matches_at(bytes, at, |byte| matches!(byte, b'.' | b'-'))
        && matches_at(bytes, at + 1, |byte| byte.is_ascii_digit());
    !continues && !matches_at(bytes, at, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns true if an issuer uses numbers of this prefix and length, and the check digit is right.
fn is_card(digits: &[u8]) -> bool {
    let prefix = |length: usize| digits[..length].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let (two, three, four) = (prefix(2), prefix(3), prefix(4));
    let has_issuer = match digits.len() {
        14 => matches!(three, 300..=305) || matches!(two, 36 | 38 | 39),
        15 => matches!(two, 34 | 37),
        16 => {
            two / 10 == 4
                || matches!(two, 51..=55 | 62 | 65 | 35 | 50 | 56..=58 | 63 | 67)
                || matches!(four, 2221..=2720 | 6011)
                || matches!(three, 644..=649)
        }
        17..=19 => two == 62 || four == 6011,
        _ => false,
    };
    has_issuer && luhn(digits)
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits.iter().rev().enumerate().fold(0, |sum, (position, digit)| {
        let digit = u32::from(digit - b'0') * if position % 2 == 1 { 2 } else { 1 };
        sum + digit / 10 + digit % 10
    });
    sum.is_multiple_of(10)
}

/// Maximum length of a phone number with its separators.
const MAX_PHONE_LENGTH: usize = 40;

/// Returns the phone number that begins at `at`.
pub(super) fn phone(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let continues = at > 0 && matches!(bytes[at - 1], b'-' | b'.' | b'/' | b':' | b'_' | b'+');
    let is_part = continues && at > 1 && bytes[at - 2].is_ascii_digit();
    let after_dash = at > 1 && bytes[at - 1] == b'-' && bytes[at - 2].is_ascii_alphanumeric();
    if is_part || after_dash {
        return None;
    }
    let end = match bytes[at] {
        b'+' => international(bytes, at),
        b'(' => bracketed(bytes, at),
        _ => north_american(bytes, at)
            .or_else(|| pairs(bytes, at))
            .or_else(|| national(bytes, at))
            .filter(|end| !is_in_list(bytes, at, *end)),
    };
    end.filter(|end| end - at <= MAX_PHONE_LENGTH).map(|end| at..end)
}

/// Returns true if groups with spaces between them are part of a list: another number is directly before or after
/// them.
fn is_in_list(bytes: &[u8], at: usize, end: usize) -> bool {
    let follows = at > 1 && bytes[at - 1] == b' ' && bytes[at - 2].is_ascii_digit();
    let continues =
        matches_at(bytes, end, |byte| byte == b' ') && matches_at(bytes, end + 1, |byte| byte.is_ascii_digit());
    bytes[at..end].contains(&b' ') && (follows || continues)
}

/// Matches `2026-11-16`, with dots or slashes as well.
fn is_date(bytes: &[u8], at: usize) -> bool {
    let Some(separator) = bytes.get(at + 4).filter(|byte| matches!(byte, b'-' | b'.' | b'/')) else { return false };
    digits_at(bytes, at) == 4
        && digits_at(bytes, at + 5) == 2
        && bytes.get(at + 7) == Some(separator)
        && digits_at(bytes, at + 8) == 2
}

/// Returns true if a number with a `+` may be an added line of a diff: it begins a line, and is short or without
/// groups.
fn is_added_line(bytes: &[u8], at: usize, end: usize) -> bool {
    let is_line_start = at == 0 || bytes[at - 1] == b'\n' || bytes[..at].ends_with(b"\\n");
    let first = digits_at(bytes, at + 1);
    let digits = bytes[at..end].iter().filter(|byte| byte.is_ascii_digit()).count();
    is_line_start && digits < 10 && (first > 3 || at + 1 + first == end)
}

/// Matches `+49 171 1234567`, `+1 (415) 555-0132`, `+442079460958`.
fn international(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches_at(bytes, at + 1, |byte| matches!(byte, b'1'..=b'9')) || is_date(bytes, at + 1) {
        return None;
    }
    let (mut position, mut digits, mut end) = (at + 1, 0, None);
    while position < bytes.len() && position - at <= MAX_PHONE_LENGTH {
        let length = digits_at(bytes, position);
        if length == 0 || digits + length > 15 {
            break;
        }
        (position, digits) = (position + length, digits + length);
        // A bracket is closed with its group.
        position += usize::from(bytes.get(position) == Some(&b')'));
        if digits >= 8 && !matches_at(bytes, position, |byte| byte.is_ascii_alphanumeric()) {
            end = Some(position);
        }
        let between = match bytes[position..] {
            [b' ', b'(', ..] => 2,
            [b' ' | b'-' | b'.' | b'/' | b'(', ..] => 1,
            _ => 0,
        };
        if between == 0 && bytes[position - 1] != b')' {
            break;
        }
        position += between;
    }
    end.filter(|end| !is_added_line(bytes, at, *end))
}

/// Matches `(415) 555-0132`, `(030) 1234567`.
fn bracketed(bytes: &[u8], at: usize) -> Option<usize> {
    let area = digits_at(bytes, at + 1);
    if !(2..=5).contains(&area) || bytes.get(at + 1 + area) != Some(&b')') {
        return None;
    }
    let position = at + area + 2;
    let position = position + usize::from(matches_at(bytes, position, |byte| byte == b' '));
    match bytes[at + 1] {
        b'0' => rest(bytes, position, area, 9),
        _ if area == 3
            && digits_at(bytes, position) == 3
            && matches_at(bytes, position + 3, |byte| matches!(byte, b'-' | b'.' | b' ')) =>
        {
            (digits_at(bytes, position + 4) == 4).then_some(position + 8).filter(|end| phone_ends(bytes, *end))
        }
        _ => None,
    }
}

/// Matches `415-555-0132`, `1-415-555-0132`, with dots or spaces as well.
fn north_american(bytes: &[u8], at: usize) -> Option<usize> {
    let is_long = digits_at(bytes, at) == 1 && bytes[at] == b'1';
    let area = if is_long { at + 2 } else { at };
    let separator = bytes.get(area + 3).copied().filter(|byte| matches!(byte, b'-' | b'.' | b' '))?;
    let is_group = |at: usize| matches_at(bytes, at, |byte| matches!(byte, b'2'..=b'9'));
    // No area code has these digits, but sizes and codes often do.
    let is_area = is_group(area) && !matches!(&bytes[area..area + 3], b"200" | b"300" | b"400" | [_, b'1', b'1']);
    let fits = is_area
        && is_group(area + 4)
        && (!is_long || bytes[at + 1] == separator)
        && digits_at(bytes, area) == 3
        && digits_at(bytes, area + 4) == 3
        && bytes.get(area + 7) == Some(&separator)
        && digits_at(bytes, area + 8) == 4;
    (fits && phone_ends(bytes, area + 12)).then_some(area + 12)
}

/// Matches `06 12 34 56 78`, with dots or dashes as well.
fn pairs(bytes: &[u8], at: usize) -> Option<usize> {
    let separator = bytes.get(at + 2).copied().filter(|byte| matches!(byte, b'-' | b'.' | b' '))?;
    let is_pair = |pair: usize| digits_at(bytes, at + 3 * pair) == 2;
    let is_parted = |pair: usize| bytes.get(at + 3 * pair - 1) == Some(&separator);
    let fits = bytes[at] == b'0'
        && matches_at(bytes, at + 1, |byte| byte != b'0')
        && (0..5).all(is_pair)
        && (1..5).all(is_parted);
    // A sixth pair makes it a list of numbers.
    let continues = matches_at(bytes, at + 14, |byte| byte == separator)
        && matches_at(bytes, at + 15, |byte| byte.is_ascii_digit());
    (fits && !continues && phone_ends(bytes, at + 14)).then_some(at + 14)
}

/// Matches `0171 1234567`, `030/1234567`, `020 7946 0958`.
fn national(bytes: &[u8], at: usize) -> Option<usize> {
    let area = digits_at(bytes, at);
    let fits = (3..=5).contains(&area)
        && bytes[at] == b'0'
        && bytes[at + 1] != b'0'
        && matches_at(bytes, at + area, |byte| matches!(byte, b' ' | b'-' | b'/'));
    // Nine digits with a dash are a location code, and the mode of a file may be followed by its size.
    let min = if bytes.get(at + area) == Some(&b'/') { 9 } else { 10 };
    if fits { rest(bytes, at + area + 1, area, min) } else { None }
}

/// Matches the rest of a number after the area code with a leading zero: one to three groups, with a minimum number
/// of digits.
fn rest(bytes: &[u8], at: usize, area: usize, min: usize) -> Option<usize> {
    let (mut position, mut digits, mut end) = (at, area, None);
    for _ in 0..3 {
        let length = digits_at(bytes, position);
        if !(2..=8).contains(&length) || digits + length > 12 {
            break;
        }
        (position, digits) = (position + length, digits + length);
        if digits >= min && phone_ends(bytes, position) {
            end = Some(position);
        }
        if !matches_at(bytes, position, |byte| matches!(byte, b' ' | b'-')) {
            break;
        }
        position += 1;
    }
    end
}

fn phone_ends(bytes: &[u8], at: usize) -> bool {
    let continues = matches_at(bytes, at, |byte| matches!(byte, b'-' | b'.' | b'/' | b':'));
    let continues = continues && matches_at(bytes, at + 1, |byte| byte.is_ascii_digit());
    !continues && !matches_at(bytes, at, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
