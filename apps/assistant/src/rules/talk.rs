//! What is said to the assistant and needs no data: thanks, greetings, and questions about the conversation itself.

use std::sync::LazyLock;

use regex::Regex;

use crate::prompt::Ask;

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Talk {
    Thanks,
    Greeting,
    Bye,
    Help,
    /// The user tells something about themselves.
    Told,
    /// What was said before; the first of it, or the last.
    Said {
        is_first: bool,
    },
    /// What is known about the user.
    Memory,
    Forget(String),
    Clock,
    Tables,
    Describe(String),
    File(String),
}

/// What a message that fits a form is, by the message.
type Tell = fn(&str) -> Talk;

/// What a message is, where it is nothing to look up.
pub(super) fn talk(message: &str) -> Option<Talk> {
    static FORMS: LazyLock<Vec<(Regex, Tell)>> = LazyLock::new(|| {
        let forms: [(&str, Tell); 13] = [
            (
                r"^(?:ok(?:ay)?|great|perfect|super|many)?[,!\s]*(?:thanks|thank you|thx|cheers)\b(?:\W*\w+){0,4}\W*$",
                |_| Talk::Thanks,
            ),
            (r"^(?:ok(?:ay)?|great|perfect|nice|good|got it|i see|understood)\W*$", |_| Talk::Thanks),
            (r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|day))\b(?:\W*\w+){0,2}\W*$", |_| Talk::Greeting),
            (r"^(?:good)?bye\b|^see you\b", |_| Talk::Bye),
            (r"^(?:help|what can (?:you|i) (?:do|ask)|who are you|what are you|how do you work)\b", |_| Talk::Help),
            (
                r"\b(?:did|do|have) (?:i|we) (?:just )?(?:ask|asked|say|said|talk|talked|discuss|discussed|speak|spoken)\b|\b(?:my|our) (?:first|last|previous|earlier) (?:question|message|topic)",
                |text| Talk::Said {
                    is_first: !(text.contains("last") || text.contains("just") || text.contains("previous")),
                },
            ),
            (
                r"\bwhat do you (?:know|remember) (?:about|of) me\b|\b(?:know|remember) my name\b|^what(?:'s| is) my name\b",
                |_| Talk::Memory,
            ),
            (r"^(?:please )?forget (?:that |about )?(?P<rest>.+?)\W*$", |_| Talk::Forget(String::new())),
            (
                r"^(?:please )?remember that\b|^(?:my name is|i (?:live|work) (?:in|at|for|with)|i (?:always )?prefer|i like)\b",
                |_| Talk::Told,
            ),
            (
                r"\bwhat time is it\b|\bwhat(?:'s| is) the (?:time|date)\b|\bwhat day is (?:it|today)\b|\btoday's date\b|\bwhat(?:'s| is) today\b",
                |_| Talk::Clock,
            ),
            (r"\b(?:which|what|list|show)\b.*\btables\b", |_| Talk::Tables),
            (
                r"\b(?:describe|columns (?:of|in|does|has)|structure of)\b.*\btable\b|\bcolumns\b.*\btable\b|\bdescribe (?:the )?(?:table )?\w+\W*$",
                |_| Talk::Describe(String::new()),
            ),
            (r"\b(?:read|open|show)\b.*\b(?P<rest>[\w./-]+\.(?:md|txt|csv|html))\b", |_| Talk::File(String::new())),
        ];
        forms.into_iter().map(|(form, talk)| (Regex::new(&format!("(?i){form}")).expect("a pattern"), talk)).collect()
    });
    let message = message.trim();
    FORMS.iter().find_map(|(form, talk)| {
        let found = form.captures(message)?;
        let rest = found.name("rest").map(|rest| rest.as_str().to_owned()).unwrap_or_default();
        Some(match talk(&message.to_lowercase()) {
            Talk::Forget(_) => Talk::Forget(rest),
            Talk::File(_) => Talk::File(rest),
            Talk::Describe(_) => Talk::Describe(message.to_lowercase()),
            talk => talk,
        })
    })
}

/// What was said before, in words.
pub(super) fn said(ask: &Ask, is_first: bool) -> String {
    let began = ask.summary.lines().find_map(|line| line.strip_prefix("Began with: ")).map(str::to_owned);
    let mut mine = ask.history.iter().filter(|said| said.role == "user").map(|said| said.text.clone());
    let found = match is_first {
        true => began.or_else(|| mine.next()),
        false => mine.next_back().or(began),
    };
    match (found, is_first) {
        (Some(text), true) => format!("First you asked: \"{text}\""),
        (Some(text), false) => format!("Before this you asked: \"{text}\""),
        (None, _) => "Nothing was said before in this conversation.".to_owned(),
    }
}
