//! Interrupts and resume values: resumes a run on its history or on a fork.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{ERROR_HANDLER_ORDINAL_BASE, Machine, interrupt_id};
use crate::checkpoint::{CheckpointSource, Interrupt, PendingEntry, ResumeValue, TaskEntry};
use crate::error::{Diagnostic, Error, ErrorCode, Result};
use crate::id::{InterruptId, TaskId};
use crate::seeded_bugs::{SeededBug, is_enabled};
use crate::types::JsonSchemaValidator as JsonSchema;
use crate::validation_error::ValidationError;

/// Resume values by interrupt id.
pub type ResumeValues = BTreeMap<InterruptId, Value>;

impl Machine {
    /// Resumes open interrupts with values; the values are saved before anything runs.
    ///
    /// # Errors
    /// Returns an error if an interrupt is not open or a value does not fit its schema; nothing is changed then.
    pub fn resume(&mut self, resume: Resume) -> Result<()> {
        self.save_migrated();
        let open = if is_enabled(SeededBug::ResumeTwice) { self.all_interrupts() } else { self.open_interrupts() };
        let resume_values = match resume {
            Resume::Single(value) => vec![(single_open_interrupt(&open)?, value)],
            Resume::ById(resume_values) => resume_values.into_iter().collect(),
        };
        if resume_values.is_empty() {
            return Err(Error::new(ErrorCode::InvalidResume, "no resume values were given")
                .with_help("give a resume value for each interrupt id"));
        }
        let time = self.config.environment.now();
        let mut entries = Vec::new();
        for (id, value) in resume_values {
            let Some(OpenInterrupt { interrupt, pending }) = open.iter().find(|open| open.interrupt.id == id) else {
                return Err(self.interrupt_not_open(id, &open));
            };
            validate_resume_value(interrupt, &value)?;
            let entry = TaskEntry::Resume(ResumeValue { id, value, time });
            entries.push(PendingEntry { entry, ..pending.clone() });
        }
        self.pending.extend(entries.iter().cloned());
        self.save_pending(entries, None);
        self.continue_from_checkpoint()
    }

    /// Makes the next update start a fork, without the pending entries of the tasks.
    pub fn fork_on_next_update(&mut self) {
        self.pending.clear();
        self.position.next_tasks.iter_mut().for_each(|task| task.scheduled_at = None);
        self.forks_history = true;
    }

    /// Starts a fork here, without the pending entries of the tasks.
    pub fn fork(&mut self) {
        self.fork_on_next_update();
        self.forks_history = false;
        self.save_checkpoint(CheckpointSource::Fork, crate::apply::Applied::default());
    }

    /// Starts a fork here with other resume values for interrupts of this checkpoint.
    ///
    /// # Errors
    /// Returns an error if this checkpoint has no such interrupt or a value does not fit; nothing is changed then.
    pub fn fork_with_resume(&mut self, resume: Resume) -> Result<()> {
        let interrupts: Vec<OpenInterrupt> = self.all_interrupts();
        let resume_values = match resume {
            Resume::Single(value) => vec![(single_open_interrupt(&interrupts)?, value)],
            Resume::ById(resume_values) => resume_values.into_iter().collect(),
        };
        let mut resumed = Vec::new();
        for (id, value) in resume_values {
            let Some(OpenInterrupt { interrupt, pending }) = interrupts.iter().find(|open| open.interrupt.id == id)
            else {
                return Err(self.interrupt_not_open(id, &interrupts));
            };
            validate_resume_value(interrupt, &value)?;
            resumed.push((pending.task, interrupt.clone(), value));
        }
        let mut locations = BTreeMap::new();
        for (task, interrupt, _) in &resumed {
            locations.insert(interrupt.id, self.locate_interrupt(*task, interrupt)?);
        }
        self.fork();
        let time = self.config.environment.now();
        let mut entries = Vec::new();
        for (_, interrupt, value) in resumed {
            let (index, ordinal) = locations[&interrupt.id];
            let task = self.task_id(&self.position.next_tasks[index]);
            let (id, Some(checkpoint)) = (interrupt_id(task, ordinal), self.latest_checkpoint) else { continue };
            let pending = |entry| PendingEntry { checkpoint, task, node: interrupt.node.clone(), entry };
            entries.push(pending(TaskEntry::Interrupt(Interrupt { id, ..interrupt.clone() })));
            entries.push(pending(TaskEntry::Resume(ResumeValue { id, value, time })));
        }
        self.pending.clone_from(&entries);
        self.save_pending(entries, None);
        self.continue_from_checkpoint()
    }

    /// Returns the index of the task that raised an interrupt, and the ordinal of the interrupt in that task; on a
    /// fork the same ordinal is the same interrupt.
    fn locate_interrupt(&self, task: TaskId, interrupt: &Interrupt) -> Result<(usize, u32)> {
        let location =
            self.position.next_tasks.iter().position(|scheduled| self.task_id(scheduled) == task).and_then(|index| {
                let mut ordinals = (0..1_000).chain(ERROR_HANDLER_ORDINAL_BASE..ERROR_HANDLER_ORDINAL_BASE + 1_000);
                ordinals.find(|ordinal| interrupt_id(task, *ordinal) == interrupt.id).map(|ordinal| (index, ordinal))
            });
        location.ok_or_else(|| {
            let message = format!(
                "interrupt `{}` was raised in a subgraph or a recorded step of `{}` and cannot be resumed \
                     again from this checkpoint",
                interrupt.name, interrupt.node
            );
            Error::new(ErrorCode::InvalidResume, message)
                .with_help("run from this checkpoint without a resume value; the node interrupts again")
        })
    }

    pub(super) fn collect_resume_values(&mut self) {
        let resume_values = self.pending.iter().filter_map(|entry| match &entry.entry {
            TaskEntry::Resume(resume_value) => Some((resume_value.id, resume_value.value.clone())),
            _ => None,
        });
        let resume_values: ResumeValues = resume_values.collect();
        if !resume_values.is_empty() {
            let mut all = self.resume_values.as_deref().cloned().unwrap_or_default();
            all.extend(resume_values);
            self.resume_values = Some(Arc::new(all));
        }
    }

    /// Sets the resume values that the parent graph holds for this subgraph.
    pub fn set_resume_values(&mut self, values: Option<Arc<ResumeValues>>) {
        self.resume_values = values;
    }

    fn all_interrupts(&self) -> Vec<OpenInterrupt> {
        let interrupts = self.pending.iter().filter_map(|pending| match &pending.entry {
            TaskEntry::Interrupt(interrupt) => {
                Some(OpenInterrupt { interrupt: interrupt.clone(), pending: pending.clone() })
            }
            _ => None,
        });
        interrupts.collect()
    }

    fn open_interrupts(&self) -> Vec<OpenInterrupt> {
        let is_resumed = |id: InterruptId| {
            self.pending
                .iter()
                .any(|entry| matches!(&entry.entry, TaskEntry::Resume(resume_value) if resume_value.id == id))
        };
        let mut interrupts = self.all_interrupts();
        interrupts.retain(|open| !is_resumed(open.interrupt.id));
        interrupts
    }

    /// Returns true if an interrupt is open.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        !self.open_interrupts().is_empty()
    }

    fn interrupt_not_open(&self, id: InterruptId, open: &[OpenInterrupt]) -> Error {
        let resumed_at = self.pending.iter().find_map(|entry| match &entry.entry {
            TaskEntry::Resume(resume_value) if resume_value.id == id => Some(resume_value.time),
            _ => None,
        });
        match resumed_at {
            Some(time) => already_resumed(id, time),
            None => Error::new(ErrorCode::InvalidResume, format!("no open interrupt with id {id}"))
                .with_help(describe_open_interrupts(open)),
        }
    }
}

/// The resume values of a call.
#[derive(Debug, Clone)]
pub enum Resume {
    /// The value for the single open interrupt.
    Single(Value),
    /// Values by interrupt id.
    ById(ResumeValues),
}

/// Returns the error for an interrupt that was already resumed; `time` is in microseconds since 1970.
#[must_use]
pub fn already_resumed(id: InterruptId, time: i64) -> Error {
    let time = crate::time::Time::from_unix_micros(time).map_or_else(|_| time.to_string(), |time| time.to_string());
    Error::new(ErrorCode::InvalidResume, format!("interrupt {id} was already resumed at {time}"))
        .with_help("to resume it again, fork from the checkpoint of the interrupt")
}

struct OpenInterrupt {
    interrupt: Interrupt,
    pending: PendingEntry,
}

fn describe_open_interrupts(open: &[OpenInterrupt]) -> String {
    let interrupts = open.iter().map(|open| &open.interrupt);
    let ids: Vec<String> = interrupts.map(|interrupt| format!("{} (`{}`)", interrupt.id, interrupt.name)).collect();
    if ids.is_empty() { "the thread has no open interrupt".to_owned() } else { format!("open: {}", ids.join(", ")) }
}

fn single_open_interrupt(open: &[OpenInterrupt]) -> Result<InterruptId> {
    match open {
        [one] => Ok(one.interrupt.id),
        [] => Err(Error::new(ErrorCode::InvalidResume, "the thread has no open interrupt")
            .with_help("start it with an input, or call `continue_thread`")),
        several => Err(Error::new(
            ErrorCode::InvalidResume,
            format!("{} interrupts are open; resume by id with `resume_with`", several.len()),
        )
        .with_help(describe_open_interrupts(several))),
    }
}

fn validate_resume_value(interrupt: &Interrupt, value: &Value) -> Result<()> {
    let Some(schema) = &interrupt.resume_schema else { return Ok(()) };
    let errors: Vec<ValidationError> = match JsonSchema::new(schema.clone()) {
        Ok(schema) => crate::types::FieldType::Schema(schema).check(value).err().unwrap_or_default(),
        Err(error) => vec![error],
    };
    if errors.is_empty() {
        return Ok(());
    }
    let message = format!("the resume value for `{}` does not match its schema", interrupt.name);
    Err(Error::with_diagnostics(ErrorCode::InvalidResume, message, errors.into_iter().map(Diagnostic::from).collect())
        .with_help("the interrupt stays open; resume again with a valid value"))
}
