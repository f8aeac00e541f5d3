//! Splits a file into components before their properties are parsed, so that an invalid component does not affect
//! the next one.

use super::content_line::{ContentLine, excerpt};
use super::report::{ImportProblem, ImportReport};

/// Maximum nesting depth of components in a top-level component.
const MAX_DEPTH: usize = 8;

/// Components that are always top-level in the calendar.
const TOP_LEVEL: [&str; 6] = ["VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY", "VTIMEZONE", "VAVAILABILITY"];

/// A top-level component of the calendar.
#[derive(Debug)]
pub(super) struct Component {
    /// Component name, such as `VEVENT`.
    pub(super) name: String,
    /// Number of the line on which the component begins.
    pub(super) line: usize,
    /// Properties of the component itself.
    pub(super) lines: Vec<ContentLine>,
    /// Lines of the nested components, from BEGIN to END.
    pub(super) nested: Vec<ContentLine>,
    /// Reason why the component cannot be read.
    pub(super) problem: Option<ImportProblem>,
}

/// Splits a file into components. Returns `None` if the file is not a calendar file.
pub(super) fn split(lines: Vec<ContentLine>, report: &mut ImportReport) -> Option<Vec<Component>> {
    let mut splitter = ComponentSplitter {
        report,
        components: Vec::new(),
        open: None,
        nested_names: Vec::new(),
        calendar: None,
        has_content: false,
    };
    for line in lines {
        splitter.push(line);
    }
    splitter.finish()
}

struct ComponentSplitter<'a> {
    report: &'a mut ImportReport,
    components: Vec<Component>,
    open: Option<Component>,
    /// Names of the open components nested in the open top-level one.
    nested_names: Vec<String>,
    /// Line on which the open calendar begins.
    calendar: Option<usize>,
    /// True if the file has a calendar or an event.
    has_content: bool,
}

impl ComponentSplitter<'_> {
    fn push(&mut self, line: ContentLine) {
        if let Some(name) = component_name(&line.text, "BEGIN:") {
            return self.begin(name, line);
        }
        if let Some(name) = component_name(&line.text, "END:") {
            return self.end(&name, line);
        }
        match &mut self.open {
            Some(open) if self.nested_names.is_empty() => open.lines.push(line),
            Some(open) => open.nested.push(line),
            // Properties of the calendar itself are ignored.
            None if self.calendar.is_some() && line.text.contains(':') => {}
            None => {
                let message = format!("`{}` is outside of a component", excerpt(&line.text));
                self.report.add_problem(ImportProblem::new(line.number, "VCALENDAR", message));
            }
        }
    }

    fn begin(&mut self, name: String, line: ContentLine) {
        self.has_content |= name == "VCALENDAR" || name == "VEVENT";
        if name == "VCALENDAR" {
            self.close_unfinished();
            self.calendar = Some(line.number);
            return;
        }
        if TOP_LEVEL.contains(&name.as_str()) {
            self.close_unfinished();
        }
        let Some(open) = &mut self.open else {
            let (lines, nested) = (Vec::new(), Vec::new());
            self.open = Some(Component { name, line: line.number, lines, nested, problem: None });
            return;
        };
        if self.nested_names.len() >= MAX_DEPTH {
            let message = format!("is nested deeper than {MAX_DEPTH}");
            open.problem.get_or_insert_with(|| ImportProblem::new(line.number, &name, message));
        }
        self.nested_names.push(name);
        open.nested.push(line);
    }

    fn end(&mut self, name: &str, line: ContentLine) {
        let is_innermost = self.nested_names.last().is_some_and(|inner| inner == name);
        match &mut self.open {
            Some(open) if is_innermost => {
                self.nested_names.pop();
                open.nested.push(line);
            }
            Some(open) if open.name == name => {
                if let Some(inner) = self.nested_names.last() {
                    let message = format!("has `{inner}` without its END");
                    open.problem.get_or_insert_with(|| ImportProblem::new(line.number, name, message));
                }
                self.close();
            }
            _ if name == "VCALENDAR" => {
                self.close_unfinished();
                self.calendar = None;
            }
            _ => self.report.add_problem(ImportProblem::new(line.number, name, "has an END without a BEGIN")),
        }
    }

    fn close(&mut self) {
        self.nested_names.clear();
        self.components.extend(self.open.take());
    }

    fn close_unfinished(&mut self) {
        if let Some(open) = &mut self.open {
            let problem = ImportProblem::new(open.line, &open.name, format!("has no END:{}", open.name));
            open.problem.get_or_insert(problem);
        }
        self.close();
    }

    fn finish(mut self) -> Option<Vec<Component>> {
        self.close_unfinished();
        if let Some(line) = self.calendar {
            self.report.add_problem(ImportProblem::new(line, "VCALENDAR", "has no END:VCALENDAR"));
        }
        self.has_content.then_some(self.components)
    }
}

/// Returns the component name after `BEGIN:` or `END:`.
pub(super) fn component_name(text: &str, prefix: &str) -> Option<String> {
    let (head, name) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| name.trim().to_ascii_uppercase())
}
