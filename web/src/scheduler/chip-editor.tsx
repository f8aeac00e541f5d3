/** The parsed request as chips. Each chip opens an editor. */
import { useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { ConflictProblem } from "./api";
import { type Chip, type Correction, toChips } from "./parsed-chips";
import { nameLookup } from "./members";
import { commonRules, describeRule } from "./recurrence-text";
import { Icon, MemberBadge } from "./icons";
import { text } from "./strings";
import { FLEXIBILITIES, type Flexibility, type NlParserData, type ParsedSpan, PRIORITIES, type Priority, type Settings } from "./types";
import { type Day, formatTimeField, isDay, parseTimeField, toLocalTime, toTimestamp } from "./local-time";

const strings = text.answer;

interface Props {
  data: NlParserData;
  spans: ParsedSpan[];
  confidence?: number;
  settings: Settings;
  today: Day;
  /** Effect of a correction; decides the hint. */
  method: keyof typeof strings.correctionHints;
  /** Rejects with a `Problem` if the correction fails. */
  onCorrect(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
}

export function ParsedChips({ data, spans, confidence, settings, today, method, onCorrect }: Props) {
  const [openPart, setOpenPart] = useState<string>();
  const listRef = useRef<HTMLUListElement>(null);
  const chips = toChips(data, spans, nameLookup(settings));
  const selected = chips.find(({ part }) => part === openPart);
  const close = () => {
    listRef.current?.querySelector<HTMLElement>(`[data-part="${openPart}"]`)?.focus();
    setOpenPart(undefined);
  };
  if (chips.length === 0) return null;
  return (
    <section class="parsed-request" aria-labelledby="parsed-request-title">
      <h3 id="parsed-request-title">{strings.understood} {confidence !== undefined && <span class="confidence">{strings.confidence(confidence)}</span>}</h3>
      <ul class="chips" ref={listRef}>
        {chips.map((chip) => (
          <li key={chip.part}>
            <button type="button" class={chip.isAddable ? "chip is-addable" : "chip"} data-part={chip.part} aria-expanded={chip.part === openPart} onClick={() => setOpenPart(chip.part === openPart ? undefined : chip.part)}>
              {chip.isAddable ? <Icon name="plus" /> : <span class="chip-part">{strings.parts[chip.part] ?? chip.part}</span>}
              <span dir="auto">{chip.isAddable ? strings.add[chip.part] : chip.label}</span>
              {!chip.isAddable && <span class="visually-hidden">. {strings.apply}</span>}
            </button>
          </li>
        ))}
      </ul>
      {selected && <ChipEditor key={selected.part} chip={selected} data={data} settings={settings} today={today} method={method} close={close} onCorrect={onCorrect} />}
    </section>
  );
}

type EditorProps = Pick<Props, "data" | "settings" | "today" | "method" | "onCorrect"> & { chip: Chip; close(): void };

function ChipEditor({ chip, data, settings, today, method, close, onCorrect }: EditorProps) {
  const [draft, setDraft] = useState<Correction | undefined>(() => initialDraft(chip, data, today));
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select")?.focus(), []);
  const send = async (isForced: boolean) => {
    if (!draft || isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      await onCorrect(chip, draft, isForced);
      close();
    } catch (cause) {
      setProblem(cause as Problem);
    } finally {
      setSending(false);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void send(false);
  };
  const conflicts = problem instanceof ConflictProblem ? problem.conflicts : [];
  const name = strings.parts[chip.part] ?? chip.part;
  return (
    <form class="editor" ref={form} onSubmit={submit} aria-label={name} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <ChipFields chip={chip} draft={draft} setDraft={setDraft} settings={settings} day={data.start_time ? toLocalTime(data.start_time).day : today} />
      {problem && (
        <div class="problem" role="alert">
          <p>{problem.message || text.unreachable}</p>
          {conflicts.length > 0 && <ul>{conflicts.map((conflict) => <li key={conflict.id}>{conflict.details}</li>)}</ul>}
        </div>
      )}
      <div class="row">
        <button class="primary" disabled={!draft || isSending}>{strings.apply}</button>
        {conflicts.some(({ type }) => type !== "resource_conflict") && <button type="button" disabled={isSending} onClick={() => void send(true)}>{text.event.force}</button>}
        <button type="button" onClick={close}>{strings.cancelCorrection}</button>
      </div>
      <p class="hint">{strings.correctionHints[method]}</p>
    </form>
  );
}

/** Returns the initial value of the editor. */
function initialDraft(chip: Chip, data: NlParserData, today: Day): Correction | undefined {
  const { start_time: start, end_time: end } = data;
  switch (chip.part) {
    case "title": return { part: "title", title: data.title ?? "" };
    case "date": return { part: "date", day: start ? toLocalTime(start).day : today };
    case "time": return start ? { part: "time", from: toLocalTime(start).minutes, to: end ? toLocalTime(end).minutes : undefined } : undefined;
    case "duration": return { part: "duration", minutes: start && end ? (toTimestamp(end) - toTimestamp(start)) / 60_000 : 60 };
    case "people": return { part: "people", ids: data.participants ?? [] };
    case "resources": return { part: "resources", ids: data.resources ?? [] };
    case "recurrence": return { part: "recurrence", rule: data.recurrence_rule ?? "" };
    case "priority": return { part: "priority", priority: data.priority ?? "medium" };
    case "flexibility": return { part: "flexibility", flexibility: data.flexibility ?? "preferred" };
    default: return { part: "words", of: chip.part, words: chip.texts[0] ?? chip.label };
  }
}

interface FieldsProps {
  chip: Chip;
  draft?: Correction;
  setDraft(draft: Correction | undefined): void;
  settings: Settings;
  day: Day;
}

function ChipFields({ chip, draft, setDraft, settings, day }: FieldsProps) {
  const name = strings.parts[chip.part] ?? chip.part;
  switch (chip.part) {
    case "date":
      return <label>{name}<input type="date" value={draft?.part === "date" ? draft.day : ""} onInput={({ currentTarget: { value } }) => setDraft(isDay(value) ? { part: "date", day: value } : undefined)} /></label>;
    case "time":
      return <TimeFields draft={draft?.part === "time" ? draft : undefined} setDraft={setDraft} />;
    case "duration":
      return <label>{strings.minutes}<input type="number" min={5} step={5} value={draft?.part === "duration" ? draft.minutes : 60} onInput={({ currentTarget: { value } }) => setDraft(Number(value) > 0 ? { part: "duration", minutes: Number(value) } : undefined)} /></label>;
    case "people":
    case "resources":
      return <MultiSelect part={chip.part} draft={draft} setDraft={setDraft} settings={settings} />;
    case "recurrence":
      return <label>{name}<RecurrenceSelect day={day} rule={draft?.part === "recurrence" ? draft.rule : ""} onSelect={(rule) => setDraft({ part: "recurrence", rule })} /></label>;
    case "priority":
      return <label>{name}<select value={draft?.part === "priority" ? draft.priority : ""} onChange={({ currentTarget: { value } }) => setDraft({ part: "priority", priority: value as Priority })}>{PRIORITIES.map((option) => <option key={option} value={option}>{text.event.priorities[option]}</option>)}</select></label>;
    case "flexibility":
      return <label>{name}<select value={draft?.part === "flexibility" ? draft.flexibility : ""} onChange={({ currentTarget: { value } }) => setDraft({ part: "flexibility", flexibility: value as Flexibility })}>{FLEXIBILITIES.map((option) => <option key={option} value={option}>{text.event.flexibilities[option]}</option>)}</select></label>;
    case "title":
      return <label>{name}<input dir="auto" autoComplete="off" value={draft?.part === "title" ? draft.title : ""} onInput={({ currentTarget: { value } }) => setDraft({ part: "title", title: value })} /></label>;
    default:
      return <label>{strings.inWords}<input dir="auto" autoComplete="off" value={draft?.part === "words" ? draft.words : ""} onInput={({ currentTarget: { value } }) => setDraft({ part: "words", of: chip.part, words: value })} /></label>;
  }
}

function TimeFields({ draft, setDraft }: { draft?: Extract<Correction, { part: "time" }>; setDraft(draft: Correction | undefined): void }) {
  const update = (from: number | undefined, to: number | undefined) => setDraft(from === undefined ? undefined : { part: "time", from, to });
  return (
    <div class="field-pair">
      <label>{strings.from}<input type="time" value={draft ? formatTimeField(draft.from) : ""} onInput={({ currentTarget: { value } }) => {
        const from = parseTimeField(value);
        // The end moves with the start, so that the duration stays.
        const to = draft?.to !== undefined && from !== undefined ? (draft.to - draft.from + from + 1_440) % 1_440 : draft?.to;
        update(from, to);
      }} /></label>
      <label>{strings.to}<input type="time" value={draft?.to === undefined ? "" : formatTimeField(draft.to % 1_440)} onInput={({ currentTarget: { value } }) => update(draft?.from, parseTimeField(value))} /></label>
    </div>
  );
}

function MultiSelect({ part, draft, setDraft, settings }: { part: "people" | "resources"; draft?: Correction; setDraft(draft: Correction): void; settings: Settings }) {
  const ids = draft?.part === part ? draft.ids : [];
  const options = part === "people" ? settings.members : (settings.resources ?? []);
  const toggle = (id: string) => setDraft({ part, ids: ids.includes(id) ? ids.filter((option) => option !== id) : [...ids, id] });
  return (
    <fieldset>
      <legend>{strings.parts[part]}</legend>
      {options.map(({ id, name }) => (
        <label key={id} class="check">
          <input type="checkbox" checked={ids.includes(id)} onChange={() => toggle(id)} />
          {part === "people" && <MemberBadge id={id} name={name} members={settings.members} />} <span dir="auto">{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Select of common rules and the current rule. */
export function RecurrenceSelect({ day, rule, onSelect, id }: { day: Day; rule: string; onSelect(rule: string): void; id?: string }) {
  const rules = commonRules(day);
  return (
    <select id={id} value={rule} onChange={(event) => onSelect(event.currentTarget.value)}>
      <option value="">{text.event.doesNotRepeat}</option>
      {(rule && !rules.includes(rule) ? [rule, ...rules] : rules).map((option) => <option key={option} value={option}>{describeRule(option)}</option>)}
    </select>
  );
}
