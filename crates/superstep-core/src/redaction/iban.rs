//! International bank account numbers: the length depends on the country, and the remainder by 97 is 1.

use std::ops::Range;

/// Length of the numbers of each country.
#[rustfmt::skip]
const LENGTHS: [(&[u8; 2], usize); 89] = [
    (b"AD", 24), (b"AE", 23), (b"AL", 28), (b"AT", 20), (b"AZ", 28), (b"BA", 20), (b"BE", 16), (b"BG", 22),
    (b"BH", 22), (b"BR", 29), (b"BY", 28), (b"CH", 21), (b"CR", 22), (b"CY", 28), (b"CZ", 24), (b"DE", 22),
    (b"DK", 18), (b"DO", 28), (b"EE", 20), (b"EG", 29), (b"ES", 24), (b"FI", 18), (b"FK", 18), (b"FO", 18),
    (b"FR", 27), (b"GB", 22), (b"GE", 22), (b"GI", 23), (b"GL", 18), (b"GR", 27), (b"GT", 28), (b"HR", 21),
    (b"HU", 28), (b"IE", 22), (b"IL", 23), (b"IQ", 23), (b"IS", 26), (b"IT", 27), (b"JO", 30), (b"KW", 30),
    (b"KZ", 20), (b"LB", 28), (b"LC", 32), (b"LI", 21), (b"LT", 20), (b"LU", 20), (b"LV", 21), (b"LY", 25),
    (b"MC", 27), (b"MD", 24), (b"ME", 22), (b"MK", 19), (b"MN", 20), (b"MR", 27), (b"MT", 31), (b"MU", 30),
    (b"NI", 28), (b"NL", 18), (b"NO", 15), (b"PK", 24), (b"PL", 28), (b"PS", 29), (b"PT", 25), (b"QA", 29),
    (b"RO", 24), (b"RS", 22), (b"SA", 24), (b"SC", 31), (b"SD", 18), (b"SE", 24), (b"SI", 19), (b"SK", 24),
    (b"SM", 27), (b"SO", 23), (b"ST", 25), (b"SV", 28), (b"TN", 24), (b"TR", 26), (b"UA", 29), (b"VA", 22),
    (b"VG", 24), (b"XK", 20), (b"TL", 23), (b"DJ", 27), (b"RU", 33), (b"BI", 27), (b"OM", 23), (b"YE", 30),
    (b"HN", 28),
];

/// Minimum number of digits. All countries in use have more; `prefilter` relies on it.
const MIN_DIGITS: usize = 8;

/// Returns the account number that begins at `at`; a space or a dash may stand between its groups of four.
pub(super) fn account(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let head = bytes.get(at..at + 4)?;
    if !head[1].is_ascii_uppercase() || !head[2].is_ascii_digit() || !head[3].is_ascii_digit() {
        return None;
    }
    let (_, length) = LENGTHS.iter().find(|(country, _)| country[..] == head[..2])?;
    let (mut number, mut position) = ([0_u8; 34], at);
    for (index, sign) in number.iter_mut().enumerate().take(*length) {
        let is_between = index > 0 && index % 4 == 0;
        position += usize::from(is_between && matches!(bytes.get(position), Some(b' ' | b'-')));
        *sign = *bytes.get(position).filter(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())?;
        position += 1;
    }
    let number = &number[..*length];
    let digits = number.iter().filter(|byte| byte.is_ascii_digit()).count();
    let continues = bytes.get(position).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!continues && digits >= MIN_DIGITS && remainder(number) == 1).then_some(at..position)
}

/// Returns the remainder by 97 of the number with its first four characters moved to the end, letters counted from
/// 10.
fn remainder(number: &[u8]) -> u32 {
    number[4..].iter().chain(&number[..4]).fold(0, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        character => (sum * 100 + u32::from(character - b'A') + 10) % 97,
    })
}
