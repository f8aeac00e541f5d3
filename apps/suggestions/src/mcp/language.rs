//! Detects the language of a post by its function words and provides the hint templates of each language.

use crate::types::SourceType;

/// A language with hint templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Dutch,
}

impl Language {
    const ALL: [Self; 6] = [Self::English, Self::German, Self::French, Self::Spanish, Self::Italian, Self::Dutch];

    /// Detects the language with the most function words in the text. Returns `None` if no language leads.
    pub(super) fn detect(text: &str) -> Option<Self> {
        let words = superstep::core::store::words(text);
        let mut counts: Vec<(usize, Self)> = Self::ALL
            .into_iter()
            .map(|language| {
                (words.iter().filter(|word| language.function_words().contains(&word.as_str())).count(), language)
            })
            .collect();
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let is_ahead = counts[0].0 > counts[1].0;
        is_ahead.then_some(counts[0].1)
    }

    /// Returns the language of a locale such as `de`, `de-AT` or `de_AT.UTF-8`.
    pub(super) fn from_locale(locale: &str) -> Option<Self> {
        let code = locale.split(['-', '_', '.']).next().unwrap_or_default().to_lowercase();
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Italian => "it",
            Self::Dutch => "nl",
        }
    }

    const fn function_words(self) -> &'static [&'static str] {
        match self {
            Self::English => &[
                "the", "is", "are", "do", "does", "how", "what", "why", "who", "where", "when", "can", "my", "our",
                "to", "of", "and", "for", "with", "has", "have", "it", "this", "after", "on", "anyone", "should",
                "not",
            ],
            Self::German => &[
                "der", "die", "das", "ist", "wie", "was", "wer", "wo", "wann", "warum", "kann", "ich", "wir", "mein",
                "und", "für", "mit", "nach", "den", "dem", "ein", "eine", "einen", "nicht", "auf", "zu", "bei", "hat",
            ],
            Self::French => &[
                "le", "la", "les", "est", "comment", "que", "qui", "où", "quand", "pourquoi", "je", "nous", "mon",
                "et", "pour", "avec", "après", "un", "une", "des", "du", "ne", "pas", "sur", "dans", "quel", "quelle",
                "peut",
            ],
            Self::Spanish => &[
                "el", "los", "las", "es", "cómo", "como", "qué", "quién", "dónde", "cuándo", "por", "yo", "mi", "y",
                "para", "con", "un", "una", "del", "no", "en", "puedo", "después", "hay", "alguien", "se", "lo",
            ],
            Self::Italian => &[
                "il", "lo", "gli", "è", "come", "che", "chi", "dove", "quando", "perché", "io", "mio", "e", "per",
                "con", "dopo", "un", "una", "del", "della", "non", "su", "posso", "qualcuno", "si", "nel", "di",
            ],
            Self::Dutch => &[
                "de", "het", "een", "is", "hoe", "wat", "wie", "waar", "wanneer", "waarom", "kan", "ik", "wij", "mijn",
                "en", "voor", "met", "na", "niet", "op", "van", "bij", "heeft", "iemand", "naar", "moet",
            ],
        }
    }

    /// Returns a hint that names a result by its title.
    pub(super) fn hint(self, kind: SourceType, title: &str) -> String {
        let [m365, doc, issue, post] = match self {
            Self::English => [
                ("Read “", "” in Microsoft 365 first."),
                ("Follow the documentation in “", "”."),
                ("See what was done about the issue “", "” before you go on."),
                ("Ask in the earlier post “", "”."),
            ],
            Self::German => [
                ("Lies zuerst „", "“ in Microsoft 365."),
                ("Folge der Dokumentation in „", "“."),
                ("Sieh nach, was beim Vorgang „", "“ getan wurde, bevor du weitermachst."),
                ("Frag im früheren Beitrag „", "“ nach."),
            ],
            Self::French => [
                ("Lisez d’abord « ", " » dans Microsoft 365."),
                ("Suivez la documentation dans « ", " »."),
                ("Regardez ce qui a été fait pour le ticket « ", " » avant de continuer."),
                ("Posez la question dans la publication « ", " »."),
            ],
            Self::Spanish => [
                ("Lee primero «", "» en Microsoft 365."),
                ("Sigue la documentación en «", "»."),
                ("Mira qué se hizo en la incidencia «", "» antes de seguir."),
                ("Pregunta en la publicación anterior «", "»."),
            ],
            Self::Italian => [
                ("Leggi prima «", "» in Microsoft 365."),
                ("Segui la documentazione in «", "»."),
                ("Guarda che cosa è stato fatto per la segnalazione «", "» prima di continuare."),
                ("Chiedi nel post precedente «", "»."),
            ],
            Self::Dutch => [
                ("Lees eerst “", "” in Microsoft 365."),
                ("Volg de documentatie in “", "”."),
                ("Kijk wat er met de melding “", "” is gedaan voordat je verdergaat."),
                ("Vraag het in het eerdere bericht “", "”."),
            ],
        };
        let (before, after) = match kind {
            SourceType::M365 => m365,
            SourceType::Doc => doc,
            SourceType::Issue => issue,
            SourceType::Post => post,
        };
        format!("{before}{title}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-22: the language of a post is detected by its function words; without any, no language is guessed.
    #[test]
    fn the_language_of_a_post_is_detected() {
        let rows = [
            ("How do I roll back a failed AKS deployment?", Some(Language::English)),
            ("Wie kann ich das Deployment nach einem Fehler zurücksetzen?", Some(Language::German)),
            ("Comment annuler un déploiement qui ne marche pas ?", Some(Language::French)),
            ("¿Cómo puedo volver a la versión anterior del despliegue?", Some(Language::Spanish)),
            ("Come posso annullare il deployment di ieri?", Some(Language::Italian)),
            ("Hoe kan ik een mislukte uitrol terugdraaien?", Some(Language::Dutch)),
            ("kubectl rollout undo", None),
            ("", None),
        ];
        for (text, language) in rows {
            assert_eq!(Language::detect(text), language, "{text}");
        }
        assert_eq!(Language::from_locale("de_AT.UTF-8"), Some(Language::German));
        assert_eq!(Language::from_locale("tlh"), None);
    }
}
