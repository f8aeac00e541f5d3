//! Cuts a file into its components before anything in them is read, so that a bad one does not spoil the next.

use super::lines::{Line, excerpt};
use super::report::{Problem, Report};

/// How deep components may be in one another below an event.
const DEEPEST: usize = 8;

/// Components that are never part of another one but of the calendar.
const WHOLE: [&str; 6] = ["VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY", "VTIMEZONE", "VAVAILABILITY"];

/// One component of the calendar.
#[derive(Debug)]
pub(super) struct Component {
    /// What it is: `VEVENT`.
    pub(super) name: String,
    /// The line on which it begins.
    pub(super) line: usize,
    /// Its own properties.
    pub(super) own: Vec<Line>,
    /// The components in it, each from BEGIN to END.
    pub(super) nested: Vec<Line>,
    /// Why it cannot be read.
    pub(super) flaw: Option<Problem>,
}

/// The components of a file; nothing when it is no calendar file.
pub(super) fn split(lines: Vec<Line>, report: &mut Report) -> Option<Vec<Component>> {
    let mut splitter =
        Splitter { report, done: Vec::new(), open: None, inside: Vec::new(), calendar: None, found: false };
    for line in lines {
        splitter.take(line);
    }
    splitter.finish()
}

struct Splitter<'a> {
    report: &'a mut Report,
    done: Vec<Component>,
    open: Option<Component>,
    /// Names of the components that are open inside the open one.
    inside: Vec<String>,
    /// The line on which the open calendar begins.
    calendar: Option<usize>,
    /// Whether there was a calendar or an event.
    found: bool,
}

impl Splitter<'_> {
    fn take(&mut self, line: Line) {
        if let Some(name) = marker(&line.text, "BEGIN:") {
            return self.begin(name, line);
        }
        if let Some(name) = marker(&line.text, "END:") {
            return self.end(&name, line);
        }
        match &mut self.open {
            Some(open) if self.inside.is_empty() => open.own.push(line),
            Some(open) => open.nested.push(line),
            // What a calendar says of itself is not about its events.
            None if self.calendar.is_some() && line.text.contains(':') => {}
            None => {
                let message = format!("`{}` belongs to nothing", excerpt(&line.text));
                self.report.note(Problem::new(line.number, "VCALENDAR", message));
            }
        }
    }

    fn begin(&mut self, name: String, line: Line) {
        self.found |= name == "VCALENDAR" || name == "VEVENT";
        if name == "VCALENDAR" {
            self.unfinished();
            self.calendar = Some(line.number);
            return;
        }
        if WHOLE.contains(&name.as_str()) {
            self.unfinished();
        }
        let Some(open) = &mut self.open else {
            let (own, nested) = (Vec::new(), Vec::new());
            self.open = Some(Component { name, line: line.number, own, nested, flaw: None });
            return;
        };
        if self.inside.len() >= DEEPEST {
            let message = format!("is nested deeper than {DEEPEST}");
            open.flaw.get_or_insert_with(|| Problem::new(line.number, &name, message));
        }
        self.inside.push(name);
        open.nested.push(line);
    }

    fn end(&mut self, name: &str, line: Line) {
        let is_innermost = self.inside.last().is_some_and(|inner| inner == name);
        match &mut self.open {
            Some(open) if is_innermost => {
                self.inside.pop();
                open.nested.push(line);
            }
            Some(open) if open.name == name => {
                if let Some(inner) = self.inside.last() {
                    let message = format!("has `{inner}` without its END");
                    open.flaw.get_or_insert_with(|| Problem::new(line.number, name, message));
                }
                self.close();
            }
            _ if name == "VCALENDAR" => {
                self.unfinished();
                self.calendar = None;
            }
            _ => self.report.note(Problem::new(line.number, name, "ends and was never begun")),
        }
    }

    fn close(&mut self) {
        self.inside.clear();
        self.done.extend(self.open.take());
    }

    fn unfinished(&mut self) {
        if let Some(open) = &mut self.open {
            let problem = Problem::new(open.line, &open.name, format!("has no END:{}", open.name));
            open.flaw.get_or_insert(problem);
        }
        self.close();
    }

    fn finish(mut self) -> Option<Vec<Component>> {
        self.unfinished();
        if let Some(line) = self.calendar {
            self.report.note(Problem::new(line, "VCALENDAR", "has no END:VCALENDAR"));
        }
        self.found.then_some(self.done)
    }
}

/// The name after `BEGIN:` or `END:`.
pub(super) fn marker(text: &str, mark: &str) -> Option<String> {
    let (head, name) = text.split_at_checked(mark.len())?;
    head.eq_ignore_ascii_case(mark).then(|| name.trim().to_ascii_uppercase())
}
