//! Mail from `.eml` and `.mbox` files.

use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Message, MessageParser};

use superstep_documents::{IndexedItem, SearchFields};

/// The parts of a mail that are searched and displayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) subject: String,
    pub(crate) from: String,
    /// Date of the mail, if it has one.
    pub(crate) date: Option<String>,
    pub(crate) text: String,
}

impl IndexedItem for Mail {
    fn accepts_file(name: &str) -> bool {
        is_mailbox(name) || has_ending(name, "eml")
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        if is_mailbox(name) { mailbox(bytes) } else { mail(bytes).map(|mail| vec![mail]) }
    }

    fn search_fields(&self) -> SearchFields<'_> {
        SearchFields { title: &self.subject, keys: self.from.clone(), text: self.text.clone() }
    }
}

/// Returns true if the file contains several mails.
pub(super) fn is_mailbox(name: &str) -> bool {
    has_ending(name, "mbox")
}

fn has_ending(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case(ending))
}

fn mailbox(bytes: &[u8]) -> Result<Vec<Mail>, String> {
    let mails = MessageIterator::new(bytes).map(|message| {
        let message = message.map_err(|error| format!("it is not a mailbox ({error})"))?;
        mail(message.contents())
    });
    // An unreadable mail does not discard the others; a file without any readable mail is not a mailbox.
    let mails: Vec<Mail> = mails.filter_map(Result::ok).collect();
    if mails.is_empty() { Err("it contains no mail".to_owned()) } else { Ok(mails) }
}

fn mail(bytes: &[u8]) -> Result<Mail, String> {
    let message = MessageParser::default().parse(bytes).ok_or("it is not a mail")?;
    let (subject, text) = (message.subject().unwrap_or_default().trim(), text(&message));
    if subject.is_empty() && text.is_empty() {
        return Err("it is a mail without subject and text".to_owned());
    }
    let subject = if subject.is_empty() { "(no subject)" } else { subject };
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    Ok(Mail { subject: subject.to_owned(), from: from(&message), date, text })
}

/// Returns the plain text body, or else the text of the HTML body.
fn text(message: &Message<'_>) -> String {
    let parts = (0..message.text_body_count()).filter_map(|part| message.body_text(part));
    parts.map(|part| part.replace("\r\n", "\n").trim().to_owned()).collect::<Vec<_>>().join("\n\n")
}

fn from(message: &Message<'_>) -> String {
    let sender = message.from().and_then(|from| from.first());
    let name = sender.and_then(|sender| sender.name().or_else(|| sender.address()));
    name.unwrap_or_default().to_owned()
}
