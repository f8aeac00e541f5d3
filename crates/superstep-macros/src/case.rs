//! Naming conventions of `rename_all`.

/// Naming convention for all fields.
#[derive(Clone, Copy)]
pub(crate) enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const RENAME_RULES: [(&str, RenameRule); 8] = [
    ("lowercase", RenameRule::Lower),
    ("UPPERCASE", RenameRule::Upper),
    ("PascalCase", RenameRule::Pascal),
    ("camelCase", RenameRule::Camel),
    ("snake_case", RenameRule::Snake),
    ("SCREAMING_SNAKE_CASE", RenameRule::ScreamingSnake),
    ("kebab-case", RenameRule::Kebab),
    ("SCREAMING-KEBAB-CASE", RenameRule::ScreamingKebab),
];

impl RenameRule {
    /// Returns the convention of this name, or an error that lists the valid names.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let rule = RENAME_RULES.iter().find(|(candidate, _)| *candidate == name);
        rule.map(|(_, case)| *case).ok_or_else(|| {
            let valid = RENAME_RULES.map(|(valid, _)| valid);
            format!("unknown case `{name}`; {}", crate::suggest::known_names(name, &valid))
        })
    }

    /// Converts a snake-case name to this convention.
    pub(crate) fn apply(self, name: &str) -> String {
        let pascal = || name.split('_').map(capitalize).collect::<String>();
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_uppercase(),
            Self::Pascal => pascal(),
            Self::Camel => {
                let pascal = pascal();
                let mut characters = pascal.chars();
                characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
            }
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_uppercase().replace('_', "-"),
        }
    }
}

fn capitalize(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_spells_a_name_as_serde_does() {
        let rows = [
            ("lowercase", "next_step_id"),
            ("UPPERCASE", "NEXT_STEP_ID"),
            ("PascalCase", "NextStepId"),
            ("camelCase", "nextStepId"),
            ("snake_case", "next_step_id"),
            ("SCREAMING_SNAKE_CASE", "NEXT_STEP_ID"),
            ("kebab-case", "next-step-id"),
            ("SCREAMING-KEBAB-CASE", "NEXT-STEP-ID"),
        ];
        for (case, expected) in rows {
            assert_eq!(RenameRule::parse(case).map(|case| case.apply("next_step_id")), Ok(expected.to_owned()));
        }
        let advice = RenameRule::parse("camelcase").err().unwrap_or_default();
        assert!(advice.starts_with("unknown case `camelcase`; did you mean `camelCase`?"), "{advice}");
    }
}
