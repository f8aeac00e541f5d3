/** What was understood, as chips; each opens a small editor. */
import { useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { Refusal } from "./api";
import { chipsOf, type Chip, type Correction } from "./chips";
import { namesOf } from "./family";
import { repeats, usual } from "./repeat";
import { Letter, Sign } from "./signs";
import { text } from "./strings";
import { FLEXIBILITIES, PRIORITIES, type Flexibility, type Found, type Parsed, type Priority, type Settings } from "./types";
import { isDay, minutesOf, momentOf, timeField, wallOf, type Day } from "./wall";

const words = text.answer;

interface Props {
  data: Parsed;
  found: Found[];
  confidence?: number;
  settings: Settings;
  today: Day;
  /** How a correction is made, for saying so. */
  way: keyof typeof words.corrects;
  /** Fails with a problem when it is not taken. */
  correct(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
}

export function Chips({ data, found, confidence, settings, today, way, correct }: Props) {
  const [open, setOpen] = useState<string>();
  const row = useRef<HTMLUListElement>(null);
  const chips = chipsOf(data, found, namesOf(settings));
  const chosen = chips.find(({ part }) => part === open);
  const close = () => {
    row.current?.querySelector<HTMLElement>(`[data-part="${open}"]`)?.focus();
    setOpen(undefined);
  };
  if (chips.length === 0) return null;
  return (
    <section class="understood" aria-labelledby="understood-title">
      <h3 id="understood-title">{words.understood} {confidence !== undefined && <span class="sure">{words.sure(confidence)}</span>}</h3>
      <ul class="chips" ref={row}>
        {chips.map((chip) => (
          <li key={chip.part}>
            <button type="button" class={chip.isMore ? "chip is-more" : "chip"} data-part={chip.part} aria-expanded={chip.part === open} onClick={() => setOpen(chip.part === open ? undefined : chip.part)}>
              {chip.isMore ? <Sign of="plus" /> : <span class="part">{words.parts[chip.part] ?? chip.part}</span>}
              <span dir="auto">{chip.isMore ? words.add[chip.part] : chip.label}</span>
              {!chip.isMore && <span class="hidden">. {words.put}</span>}
            </button>
          </li>
        ))}
      </ul>
      {chosen && <Editor key={chosen.part} chip={chosen} data={data} settings={settings} today={today} way={way} close={close} correct={correct} />}
    </section>
  );
}

type EditorProps = Pick<Props, "data" | "settings" | "today" | "way" | "correct"> & { chip: Chip; close(): void };

function Editor({ chip, data, settings, today, way, close, correct }: EditorProps) {
  const [draft, setDraft] = useState<Correction | undefined>(() => startOf(chip, data, today));
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select")?.focus(), []);
  const send = async (isForced: boolean) => {
    if (!draft || isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      await correct(chip, draft, isForced);
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
  const blocked = problem instanceof Refusal ? problem.conflicts : [];
  const name = words.parts[chip.part] ?? chip.part;
  return (
    <form class="editor" ref={form} onSubmit={submit} aria-label={name} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <Fields chip={chip} draft={draft} setDraft={setDraft} settings={settings} day={data.start_time ? wallOf(data.start_time).day : today} />
      {problem && (
        <div class="problem" role="alert">
          <p>{problem.message || text.nobodyThere}</p>
          {blocked.length > 0 && <ul>{blocked.map((conflict) => <li key={conflict.id}>{conflict.details}</li>)}</ul>}
        </div>
      )}
      <div class="row">
        <button class="primary" disabled={!draft || isSending}>{words.put}</button>
        {blocked.some(({ type }) => type !== "resource_conflict") && <button type="button" disabled={isSending} onClick={() => void send(true)}>{text.event.force}</button>}
        <button type="button" onClick={close}>{words.keep}</button>
      </div>
      <p class="hint">{words.corrects[way]}</p>
    </form>
  );
}

/** What the editor begins with. */
function startOf(chip: Chip, data: Parsed, today: Day): Correction | undefined {
  const { start_time: start, end_time: end } = data;
  switch (chip.part) {
    case "title": return { part: "title", title: data.title ?? "" };
    case "date": return { part: "date", day: start ? wallOf(start).day : today };
    case "time": return start ? { part: "time", from: wallOf(start).minutes, to: end ? wallOf(end).minutes : undefined } : undefined;
    case "duration": return { part: "duration", minutes: start && end ? (momentOf(end) - momentOf(start)) / 60_000 : 60 };
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

function Fields({ chip, draft, setDraft, settings, day }: FieldsProps) {
  const name = words.parts[chip.part] ?? chip.part;
  switch (chip.part) {
    case "date":
      return <label>{name}<input type="date" value={draft?.part === "date" ? draft.day : ""} onInput={({ currentTarget: { value } }) => setDraft(isDay(value) ? { part: "date", day: value } : undefined)} /></label>;
    case "time":
      return <Times draft={draft?.part === "time" ? draft : undefined} setDraft={setDraft} />;
    case "duration":
      return <label>{words.minutes}<input type="number" min={5} step={5} value={draft?.part === "duration" ? draft.minutes : 60} onInput={({ currentTarget: { value } }) => setDraft(Number(value) > 0 ? { part: "duration", minutes: Number(value) } : undefined)} /></label>;
    case "people":
    case "resources":
      return <Several part={chip.part} draft={draft} setDraft={setDraft} settings={settings} />;
    case "recurrence":
      return <label>{name}<RepeatSelect day={day} rule={draft?.part === "recurrence" ? draft.rule : ""} choose={(rule) => setDraft({ part: "recurrence", rule })} /></label>;
    case "priority":
      return <label>{name}<select value={draft?.part === "priority" ? draft.priority : ""} onChange={({ currentTarget: { value } }) => setDraft({ part: "priority", priority: value as Priority })}>{PRIORITIES.map((one) => <option key={one} value={one}>{text.event.priorities[one]}</option>)}</select></label>;
    case "flexibility":
      return <label>{name}<select value={draft?.part === "flexibility" ? draft.flexibility : ""} onChange={({ currentTarget: { value } }) => setDraft({ part: "flexibility", flexibility: value as Flexibility })}>{FLEXIBILITIES.map((one) => <option key={one} value={one}>{text.event.flexibilities[one]}</option>)}</select></label>;
    case "title":
      return <label>{name}<input dir="auto" autoComplete="off" value={draft?.part === "title" ? draft.title : ""} onInput={({ currentTarget: { value } }) => setDraft({ part: "title", title: value })} /></label>;
    default:
      return <label>{words.inWords}<input dir="auto" autoComplete="off" value={draft?.part === "words" ? draft.words : ""} onInput={({ currentTarget: { value } }) => setDraft({ part: "words", of: chip.part, words: value })} /></label>;
  }
}

function Times({ draft, setDraft }: { draft?: Extract<Correction, { part: "time" }>; setDraft(draft: Correction | undefined): void }) {
  const put = (from: number | undefined, to: number | undefined) => setDraft(from === undefined ? undefined : { part: "time", from, to });
  return (
    <div class="pair">
      <label>{words.from}<input type="time" value={draft ? timeField(draft.from) : ""} onInput={({ currentTarget: { value } }) => {
        const from = minutesOf(value);
        // The end goes with the start: nobody wants to say twice that something is later.
        const to = draft?.to !== undefined && from !== undefined ? (draft.to - draft.from + from + 1_440) % 1_440 : draft?.to;
        put(from, to);
      }} /></label>
      <label>{words.to}<input type="time" value={draft?.to === undefined ? "" : timeField(draft.to % 1_440)} onInput={({ currentTarget: { value } }) => put(draft?.from, minutesOf(value))} /></label>
    </div>
  );
}

function Several({ part, draft, setDraft, settings }: { part: "people" | "resources"; draft?: Correction; setDraft(draft: Correction): void; settings: Settings }) {
  const ids = draft?.part === part ? draft.ids : [];
  const all = part === "people" ? settings.members : (settings.resources ?? []);
  const toggle = (id: string) => setDraft({ part, ids: ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id] });
  return (
    <fieldset>
      <legend>{words.parts[part]}</legend>
      {all.map(({ id, name }) => (
        <label key={id} class="check">
          <input type="checkbox" checked={ids.includes(id)} onChange={() => toggle(id)} />
          {part === "people" && <Letter id={id} name={name} members={settings.members} />} <span dir="auto">{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** The usual rules for a day, and the one that is there already. */
export function RepeatSelect({ day, rule, choose, id }: { day: Day; rule: string; choose(rule: string): void; id?: string }) {
  const rules = usual(day);
  return (
    <select id={id} value={rule} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{text.event.never}</option>
      {(rule && !rules.includes(rule) ? [rule, ...rules] : rules).map((one) => <option key={one} value={one}>{repeats(one)}</option>)}
    </select>
  );
}
