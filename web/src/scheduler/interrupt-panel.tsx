/** Forms that answer an interrupt: clarification, resolution or confirmation. */
import { useState } from "react";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { type ClarificationFormValues, clarificationReply } from "./parsed-chips";
import { formatRange } from "./date-format";
import { Icon } from "./icons";
import { text } from "./strings";
import type { Conflict, EventInstance, PendingInterrupt, ProposedResolution, ResumeValue, Settings } from "./types";
import { choiceToReply, missingFields, sortedResolutions } from "./resolution-preview";

const strings = text.ask;
/** Number keys that select a choice. */
const MAX_SHORTCUTS = 9;

export interface InterruptPanelProps {
  interrupt: PendingInterrupt;
  settings: Settings;
  zone: string;
  events: EventInstance[];
  isSending: boolean;
  reply(answer: ResumeValue): void;
  /** The resolution under the pointer or with the focus. */
  onHover(resolution: ProposedResolution | undefined): void;
}

export function InterruptPanel(props: InterruptPanelProps) {
  const { kind } = props.interrupt;
  useKeyboardShortcuts({ a: () => document.querySelector<HTMLElement>(".question-form button, .question-form input")?.focus() });
  return kind === "resolution" ? <ResolutionPicker {...props} /> : kind === "confirmation" ? <ConfirmationForm {...props} /> : <ClarificationForm {...props} />;
}

function numbered<T>(items: T[], onSelect: (item: T) => void): Record<string, () => void> {
  return Object.fromEntries(items.slice(0, MAX_SHORTCUTS).map((item, index) => [String(index + 1), () => onSelect(item)]));
}

function ShortcutNumber({ index }: { index: number }) {
  return index < MAX_SHORTCUTS ? <kbd aria-hidden="true">{index + 1}</kbd> : null;
}

function ClarificationForm({ interrupt, settings, zone, isSending, reply }: InterruptPanelProps) {
  const [values, setValues] = useState<ClarificationFormValues>({ title: "", day: "", from: "", to: "", words: "" });
  const missing = missingFields(interrupt);
  const choices = interrupt.choices ?? [];
  const answer = clarificationReply(values, interrupt.understood, interrupt.found ?? [], zone);
  const handleInput = (name: keyof ClarificationFormValues) => (event: { currentTarget: HTMLInputElement }) => setValues({ ...values, [name]: event.currentTarget.value });
  const select = (choice: (typeof choices)[number]) => isSending || reply(choiceToReply(choice, interrupt, settings));
  useKeyboardShortcuts(numbered(choices, select));
  const submit = (event: Event) => {
    event.preventDefault();
    if (answer && !isSending) reply(answer);
  };
  return (
    <form class="question-form" onSubmit={submit} noValidate>
      {choices.length > 0 && (
        <ul class="choices">
          {choices.map((choice, index) => (
            <li key={choice.id}>
              <button type="button" data-choice={choice.id} disabled={isSending} onClick={() => select(choice)}>
                <ShortcutNumber index={index} /> <span class="label" dir="auto">{choice.label}</span>
                {choice.detail && <span class="detail" dir="auto">{choice.detail}</span>}
              </button>
            </li>
          ))}
        </ul>
      )}
      {missing.includes("title") && <label>{strings.missing.title}<input id="missing-title" dir="auto" autoComplete="off" value={values.title} onInput={handleInput("title")} /></label>}
      {missing.includes("date") && <label>{strings.missing.date}<input id="missing-date" type="date" value={values.day} onInput={handleInput("day")} /></label>}
      {(missing.includes("time") || values.day !== "") && (
        <div class="field-pair">
          <label>{strings.missing.time}<input id="missing-time" type="time" value={values.from} onInput={handleInput("from")} /></label>
          <label>{strings.missing.until}<input id="missing-until" type="time" value={values.to} onInput={handleInput("to")} /></label>
        </div>
      )}
      <label>{missing.some((part) => ["title", "date", "time"].includes(part)) || choices.length > 0 ? strings.missing.words : strings.words}
        <input id="missing-words" dir="auto" autoComplete="off" value={values.words} onInput={handleInput("words")} />
      </label>
      <div class="row"><button class="primary" disabled={!answer || isSending}>{isSending ? strings.sending : strings.send}</button></div>
    </form>
  );
}

function ConfirmationForm({ interrupt, events, isSending, reply }: InterruptPanelProps) {
  return (
    <div class="question-form">
      {(interrupt.conflicts ?? []).length > 0 && <ConflictList conflicts={interrupt.conflicts!} events={events} />}
      <div class="row">
        <button type="button" class="primary" data-answer="yes" disabled={isSending} onClick={() => reply({ confirm: true })}>{strings.yes}</button>
        <button type="button" data-answer="no" disabled={isSending} onClick={() => reply({ confirm: false })}>{strings.no}</button>
      </div>
    </div>
  );
}

/** The request next to its conflicts, then the resolutions with their side effects. */
function ResolutionPicker({ interrupt, events, isSending, reply, onHover }: InterruptPanelProps) {
  const resolutions = sortedResolutions(interrupt);
  const { understood: requested, conflicts = [], recommended } = interrupt;
  const select = (resolution: ProposedResolution) => isSending || reply({ resolution_id: resolution.resolution_id });
  useKeyboardShortcuts({ ...numbered(resolutions, select), d: () => isSending || reply({ decline: true }) });
  return (
    <div class="question-form">
      <div class="conflict-comparison">
        {requested?.start_time && (
          <div class="conflict-side is-requested">
            <h4>{strings.requested}</h4>
            <p class="name" dir="auto">{requested.title}</p>
            <p class="time">{formatRange(requested.start_time, requested.end_time ?? requested.start_time)}</p>
          </div>
        )}
        <ConflictList conflicts={conflicts} events={events} />
      </div>
      <h4 id="resolutions-title">{strings.resolutions}</h4>
      {resolutions.length === 0 ? <p class="empty">{strings.noResolutions}</p> : <p class="hint preview-hint">{strings.preview}</p>}
      <ol class="resolutions" aria-labelledby="resolutions-title" onMouseLeave={() => onHover(undefined)}>
        {resolutions.map((resolution, index) => (
          <li key={resolution.resolution_id}>
            <button type="button" class={resolution.resolution_id === recommended ? "resolution is-recommended" : "resolution"} data-resolution={resolution.resolution_id} disabled={isSending}
              onClick={() => select(resolution)} onMouseEnter={() => onHover(resolution)} onFocus={() => onHover(resolution)} onBlur={() => onHover(undefined)}>
              <span class="resolution-header"><ShortcutNumber index={index} /> <span class="strategy">{strings.strategy[resolution.strategy] ?? resolution.strategy}</span> {resolution.resolution_id === recommended && <span class="badge">{strings.recommended}</span>}</span>
              <span class="description" dir="auto">{resolution.description}</span>
              <span class="side-effects"><span class="visually-hidden">{strings.sideEffects}: </span>{resolution.side_effects.length > 0 ? resolution.side_effects.join(" ") : strings.noSideEffects}</span>
              {resolution.conflicts_resolved.length < conflicts.length && <span class="side-effects">{strings.resolves(resolution.conflicts_resolved.length, conflicts.length)}</span>}
            </button>
          </li>
        ))}
      </ol>
      <div class="row"><button type="button" data-answer="decline" disabled={isSending} onClick={() => reply({ decline: true })}>{strings.decline} <kbd aria-hidden="true">d</kbd></button></div>
    </div>
  );
}

export function ConflictList({ conflicts, events }: { conflicts: Conflict[]; events: EventInstance[] }) {
  return (
    <div class="conflict-side is-conflicts">
      <h4>{strings.conflictsTitle}</h4>
      <ul>
        {conflicts.map((conflict) => {
          const event = events.find(({ event_id }) => event_id === conflict.conflicting_event_id);
          return (
            <li key={conflict.id} data-conflict={conflict.id}>
              {conflict.conflicting_event_title && <p class="name" dir="auto">{conflict.conflicting_event_title}</p>}
              {event && <p class="time">{formatRange(event.start, event.end, event.is_all_day)}</p>}
              <p class="conflict-details" dir="auto">{conflict.details}</p>
              <p class={`severity is-${conflict.severity}`}><Icon name="conflict" /> {strings.severity[conflict.severity]}</p>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
