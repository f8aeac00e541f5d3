//! Messages that need no data: thanks, greetings, and questions about the conversation itself.

use std::sync::LazyLock;

use regex::Regex;

use crate::prompt::TaskPrompt;

/// Intent of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatIntent {
    Thanks,
    Greeting,
    Bye,
    Help,
    /// Statement of users about themselves.
    Statement,
    /// Question about an earlier message: the first or the last one.
    History {
        is_first: bool,
    },
    /// Question about the saved facts.
    Memory,
    DeleteMemory(String),
    Clock,
    Tables,
    Describe(String),
    File(String),
}

/// Builds the intent from a message that matches a pattern.
type IntentParser = fn(&str) -> ChatIntent;

/// Returns the intent of a message that needs no lookup.
pub(super) fn chat_intent(message: &str) -> Option<ChatIntent> {
    static FORMS: LazyLock<Vec<(Regex, IntentParser)>> = LazyLock::new(|| {
        let forms: [(&str, IntentParser); 13] = [
            (
                r"^(?:ok(?:ay)?|great|perfect|super|many)?[,!\s]*(?:thanks|thank you|thx|cheers)\b(?:\W*\w+){0,4}\W*$",
                |_| ChatIntent::Thanks,
            ),
            (r"^(?:ok(?:ay)?|great|perfect|nice|good|got it|i see|understood)\W*$", |_| ChatIntent::Thanks),
            (r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|day))\b(?:\W*\w+){0,2}\W*$", |_| {
                ChatIntent::Greeting
            }),
            (r"^(?:good)?bye\b|^see you\b", |_| ChatIntent::Bye),
            (r"^(?:help|what can (?:you|i) (?:do|ask)|who are you|what are you|how do you work)\b", |_| {
                ChatIntent::Help
            }),
            (
                r"\b(?:did|do|have) (?:i|we) (?:just )?(?:ask|asked|say|said|talk|talked|discuss|discussed|speak|spoken)\b|\b(?:my|our) (?:first|last|previous|earlier) (?:question|message|topic)",
                |text| ChatIntent::History {
                    is_first: !(text.contains("last") || text.contains("just") || text.contains("previous")),
                },
            ),
            (
                r"\bwhat do you (?:know|remember) (?:about|of) me\b|\b(?:know|remember) my name\b|^what(?:'s| is) my name\b",
                |_| ChatIntent::Memory,
            ),
            (r"^(?:please )?forget (?:that |about )?(?P<rest>.+?)\W*$", |_| ChatIntent::DeleteMemory(String::new())),
            (
                r"^(?:please )?remember that\b|^(?:my name is|i (?:live|work) (?:in|at|for|with)|i (?:always )?prefer|i like)\b",
                |_| ChatIntent::Statement,
            ),
            (
                r"\bwhat time is it\b|\bwhat(?:'s| is) the (?:time|date)\b|\bwhat day is (?:it|today)\b|\btoday's date\b|\bwhat(?:'s| is) today\b",
                |_| ChatIntent::Clock,
            ),
            (r"\b(?:which|what|list|show)\b.*\btables\b", |_| ChatIntent::Tables),
            (
                r"\b(?:describe|columns (?:of|in|does|has)|structure of)\b.*\btable\b|\bcolumns\b.*\btable\b|\bdescribe (?:the )?(?:table )?\w+\W*$",
                |_| ChatIntent::Describe(String::new()),
            ),
            (r"\b(?:read|open|show)\b.*\b(?P<rest>[\w./-]+\.(?:md|txt|csv|html))\b", |_| {
                ChatIntent::File(String::new())
            }),
        ];
        forms.into_iter().map(|(form, parse)| (Regex::new(&format!("(?i){form}")).expect("a pattern"), parse)).collect()
    });
    let message = message.trim();
    FORMS.iter().find_map(|(form, parse)| {
        let captures = form.captures(message)?;
        let rest = captures.name("rest").map(|rest| rest.as_str().to_owned()).unwrap_or_default();
        Some(match parse(&message.to_lowercase()) {
            ChatIntent::DeleteMemory(_) => ChatIntent::DeleteMemory(rest),
            ChatIntent::File(_) => ChatIntent::File(rest),
            ChatIntent::Describe(_) => ChatIntent::Describe(message.to_lowercase()),
            intent => intent,
        })
    })
}

/// Quotes an earlier message.
pub(super) fn describe_history(prompt: &TaskPrompt, is_first: bool) -> String {
    let first_topic = prompt.summary.lines().find_map(|line| line.strip_prefix("Began with: ")).map(str::to_owned);
    let mut user_messages =
        prompt.history.iter().filter(|message| message.role == "user").map(|message| message.text.clone());
    let quoted = match is_first {
        true => first_topic.or_else(|| user_messages.next()),
        false => user_messages.next_back().or(first_topic),
    };
    match (quoted, is_first) {
        (Some(text), true) => format!("First you asked: \"{text}\""),
        (Some(text), false) => format!("Before this you asked: \"{text}\""),
        (None, _) => "There are no earlier messages in this conversation.".to_owned(),
    }
}
