//! Finds banned words in declared names.
//!
//! Names are first split into lower-case parts, so that `told_at`, `ToldAt` and `TOLD_AT` are treated alike.

use std::collections::BTreeMap;

use super::declarations::{Declaration, Role};
use super::lexicon::{LIMITS, NAMES, PARTS, Row, TYPES};
use super::{Check, Violation};

/// Index of the lexicon for looking up names.
pub(super) struct Lexicon {
    parts: Index,
    names: Index,
    types: Index,
    limits: Index,
}

impl Lexicon {
    /// Builds the index of every list.
    pub(super) fn new() -> Self {
        let [parts, names, types, limits] = [PARTS, NAMES, TYPES, LIMITS].map(Index::new);
        Self { parts, names, types, limits }
    }

    /// Returns a violation for each name of a file that uses a banned word.
    pub(super) fn violations(&self, path: &str, names: &[Declaration]) -> Vec<Violation> {
        names.iter().filter_map(|declaration| self.violation(path, declaration)).collect()
    }

    fn violation(&self, path: &str, declaration: &Declaration) -> Option<Violation> {
        let Declaration { name, line, role, .. } = declaration;
        let (form, instead) = self.banned(name, *role)?;
        let problem = format!("`{name}` uses `{form}`; standard words: {instead}");
        Some(Violation { check: Check::Words, path: path.to_owned(), line: *line, name: name.clone(), problem })
    }

    /// Returns the banned form in a name, with the words to use instead.
    fn banned(&self, name: &str, role: Role) -> Option<(&'static str, &'static str)> {
        let parts = parts(name);
        let by_part = (0..parts.len()).find_map(|at| self.parts.find(&parts[at..], true));
        let as_name = || self.names.find(&parts, false);
        let by_role = || match role {
            Role::Type | Role::Module => self.types.find(&parts, false),
            Role::Constant => self.limits.find(&parts, true),
            Role::Other => None,
        };
        by_part.or_else(as_name).or_else(by_role)
    }
}

/// Forms by their first word, for fast lookups of all names of the workspace.
struct Index(BTreeMap<&'static str, Vec<(&'static str, &'static str)>>);

impl Index {
    fn new(rows: &[Row]) -> Self {
        let mut index: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (forms, instead) in rows {
            for form in forms.split(' ') {
                let first = form.split_once('_').map_or(form, |(first, _)| first);
                index.entry(first).or_default().push((form, *instead));
            }
        }
        Self(index)
    }

    /// Returns the form that `parts` consist of, or start with if `may_continue`.
    fn find(&self, parts: &[String], may_continue: bool) -> Option<(&'static str, &'static str)> {
        let forms = self.0.get(parts.first()?.as_str())?;
        let is_start = |form: &str| {
            let mut words = form.split('_');
            parts.iter().zip(&mut words).all(|(part, word)| part == word) && words.next().is_none()
        };
        let has_length = |form: &str| may_continue || form.split('_').count() == parts.len();
        forms.iter().find(|(form, _)| is_start(form) && has_length(form)).copied()
    }
}

/// Splits a name in snake case or camel case into lower-case parts.
fn parts(name: &str) -> Vec<String> {
    let symbols: Vec<char> = name.chars().collect();
    let mut parts = vec![String::new()];
    for (at, &symbol) in symbols.iter().enumerate() {
        let previous = at.checked_sub(1).map(|before| symbols[before]);
        if symbol == '_' || is_boundary(previous, symbol, symbols.get(at + 1).copied()) {
            parts.push(String::new());
        }
        if symbol != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(symbol.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns true where a camel-case part starts: `toldAt` before `A`, and `HTTPDesk` before `D`.
fn is_boundary(previous: Option<char>, symbol: char, next: Option<char>) -> bool {
    let Some(previous) = previous.filter(|_| symbol.is_uppercase()) else { return false };
    !previous.is_uppercase() || next.is_some_and(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::super::declarations::Declarations;
    use super::*;

    #[test]
    fn names_are_split_into_parts() {
        let cases = [
            ("told_at", "told at"),
            ("HTTPDesk", "http desk"),
            ("ToldAt2", "told at2"),
            ("MOST_CRATES", "most crates"),
            ("_Sha256", "sha256"),
            ("T", "t"),
        ];
        for (name, expected) in cases {
            assert_eq!(parts(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn parts_are_banned_everywhere_and_complete_names_only_alone() {
        let cases = [
            ("run_desk", Role::Other, Some("desk")),
            ("Troubled", Role::Type, Some("troubled")),
            ("a_run_goes_on_after_a_crash", Role::Other, Some("goes_on")),
            ("found", Role::Other, Some("found")),
            ("not_found", Role::Other, None),
            ("desktop", Role::Other, None),
            ("unknown", Role::Other, None),
            ("Line", Role::Type, Some("line")),
            ("line", Role::Module, Some("line")),
            ("line", Role::Other, None),
            ("MOST_ROWS", Role::Constant, Some("most")),
            ("most_rows", Role::Other, None),
            ("UTMOST", Role::Constant, None),
        ];
        for (name, role, form) in cases {
            assert_eq!(Lexicon::new().banned(name, role).map(|(form, _)| form), form, "{name}");
        }
    }

    #[test]
    fn every_kind_of_declaration_is_looked_at() {
        let source = "mod desk {} struct Desk<Desk2> { desk: u8 } enum E { Desk } union U { desk: u8 }
            trait T { type Desk; const DESK: u8; fn desk(&self); } type Rim = u8; static DESK: u8 = 0;
            const ROOM: u8 = 0; impl E { fn told() {} } fn f<const ROOMS: usize>(said: u8) { let kept = said; }
            fn g() { run(|heard| match heard { Some(E { at: told, .. }) => {} asked => {} }); } use a::b as hall;
            macro_rules! told { () => {} }";
        let names = Declarations::parse(source).unwrap().names;
        let violations = Lexicon::new().violations("a.rs", &names);
        let banned: Vec<&str> = violations.iter().map(|violation| violation.name.as_str()).collect();
        let expected =
            "desk Desk desk Desk desk Desk DESK desk Rim DESK ROOM told ROOMS said kept heard told asked hall told";
        assert_eq!(banned.join(" "), expected);
    }

    #[test]
    fn declarations_in_macro_calls_are_looked_at() {
        let source = "proptest! { #[test] const fn told(x in 0..9u8) { let mut kept = desk(x); let Told(y) = told; } }
            macro_rules! items { ($name:ident) => { struct $name; struct Desk; mod rim { static ROOM: u8 = heard; } }; }
            fn f() { assert!({ let said = 1; said > heard && matches!(x, Told::Known) }); }";
        let names = Declarations::parse(source).unwrap().names;
        let violations = Lexicon::new().violations("a.rs", &names);
        let banned: Vec<&str> = violations.iter().map(|violation| violation.name.as_str()).collect();
        assert_eq!(banned.join(" "), "told kept Desk rim ROOM said");
    }

    #[test]
    fn a_use_of_a_name_is_no_declaration() {
        let source = "impl Trait for S { type Told = u8; const TOLD: u8 = 0; fn told(&self) { self.told(); } }
            fn f(S { told, .. }: S) { desk::call(Told::NONE, vec![heard]); match x { Told => {} _ => {} } }";
        let names = Declarations::parse(source).unwrap().names;
        assert_eq!(Lexicon::new().violations("a.rs", &names), []);
    }

    #[test]
    fn the_lexicon_repeats_no_form() {
        for rows in [PARTS, NAMES, TYPES, LIMITS] {
            let mut forms: Vec<&str> = rows.iter().flat_map(|(forms, _)| forms.split(' ')).collect();
            assert!(forms.iter().all(|form| form.chars().all(|symbol| symbol.is_ascii_lowercase() || symbol == '_')));
            let count = forms.len();
            forms.sort_unstable();
            forms.dedup();
            assert_eq!(forms.len(), count);
        }
    }
}
