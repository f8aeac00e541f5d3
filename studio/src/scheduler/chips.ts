/** What was understood, piece by piece, and what it means to correct a piece. Pure. */
import { clocks, dayShort, length, listed, stretch } from "./said";
import { repeats } from "./repeat";
import type { Answer, CalendarEvent, Fields, Flexibility, Found, Parsed, Patch, Priority, Reply } from "./types";
import { momentOf, timeField, wallOf, written, type Day } from "./wall";

/** In the order in which they are shown. */
export const PARTS = ["intent", "title", "date", "time", "duration", "people", "resources", "recurrence", "priority", "flexibility"] as const;
export type Part = (typeof PARTS)[number];

/** What may be added to an event although nobody spoke of it. */
const MORE: Part[] = ["people", "resources", "recurrence"];

export interface Chip {
  part: string;
  label: string;
  /** The words of the sentence that it comes from. */
  texts: string[];
  /** Nobody spoke of it: it can be added. */
  isMore: boolean;
}

/** How members, things and the choices of a word are called. */
export interface Names {
  of(id: string): string;
  word(part: "intent" | "priority" | "flexibility", value: string): string;
}

export function chipsOf(data: Parsed, found: Found[], names: Names): Chip[] {
  const known = [...PARTS, ...new Set(found.map(({ part }) => part).filter((part) => !isPart(part)))];
  const isEvent = data.event_type === "create" || data.event_type === "modify";
  return known.flatMap((part): Chip[] => {
    const texts = found.filter((one) => one.part === part).map(({ text }) => text).filter(Boolean);
    const isFound = found.some((one) => one.part === part);
    if (!isFound) return isEvent && MORE.includes(part as Part) ? [{ part, label: "", texts, isMore: true }] : [];
    return [{ part, label: labelOf(part, data, names) || texts.join(", ") || String(found.find((one) => one.part === part)?.value ?? ""), texts, isMore: false }];
  });
}

function isPart(part: string): part is Part {
  return (PARTS as readonly string[]).includes(part);
}

function labelOf(part: string, data: Parsed, names: Names): string {
  const { start_time: start, end_time: end } = data;
  switch (part) {
    case "intent": return names.word("intent", data.event_type);
    case "title": return data.title ?? "";
    case "date": return start ? dateLabel(start, end ?? start) : "";
    case "time": return start ? clocks(wallOf(start).minutes, wallOf(end ?? start).minutes) : "";
    case "duration": return start && end ? length((momentOf(end) - momentOf(start)) / 60_000) : "";
    case "people": return listed((data.participants ?? []).map(names.of));
    case "resources": return listed((data.resources ?? []).map(names.of));
    case "recurrence": return data.recurrence_rule ? repeats(data.recurrence_rule) : "";
    case "priority": return data.priority ? names.word("priority", data.priority) : "";
    case "flexibility": return data.flexibility ? names.word("flexibility", data.flexibility) : "";
    default: return "";
  }
}

function dateLabel(start: string, end: string): string {
  const isLong = momentOf(end) - momentOf(start) > 24 * 60 * 60_000;
  return isLong ? stretch(start, end, true) : dayShort(wallOf(start).day);
}

/** What somebody says a piece should be. */
export type Correction =
  | { part: "title"; title: string }
  | { part: "date"; day: Day }
  | { part: "time"; from: number; to?: number }
  | { part: "duration"; minutes: number }
  | { part: "people" | "resources"; ids: string[] }
  | { part: "recurrence"; rule: string }
  | { part: "priority"; priority: Priority }
  | { part: "flexibility"; flexibility: Flexibility }
  | { part: "words"; of: string; words: string };

/** The times that come of it, if enough is known. */
function timesOf(correction: Correction, start: string | null | undefined, end: string | null | undefined, zone: string): { start: string; end?: string } | undefined {
  if (!start) return undefined;
  const { day, minutes } = wallOf(start);
  const lasts = end ? Math.max(0, (momentOf(end) - momentOf(start)) / 60_000) : undefined;
  const from = (on: Day, at: number, long: number | undefined) => ({ start: written(on, at, zone), ...(long === undefined ? {} : { end: written(on, at + long, zone) }) });
  switch (correction.part) {
    case "date": return from(correction.day, minutes, lasts);
    case "time": return from(day, correction.from, correction.to === undefined ? lasts : (correction.to - correction.from + 1_440) % 1_440 || 1_440);
    case "duration": return from(day, minutes, correction.minutes);
    default: return undefined;
  }
}

/** The answer to a clarification that says so: in fields where they can say it, else in words. */
export function replyOf(correction: Correction, data: Parsed, names: Names, zone: string): Reply {
  const times = timesOf(correction, data.start_time, data.end_time, zone);
  if (times) return { fields: { start_time: times.start, ...(times.end ? { end_time: times.end } : {}) } };
  if (correction.part === "title") return { fields: { title: correction.title } };
  if (correction.part === "people") return { fields: { participants: correction.ids } };
  if (correction.part === "resources") return { fields: { resources: correction.ids } };
  return { text: wordsOf(correction, names) };
}

/** The change of an event that is on the calendar already; none when only words can say it. */
export function patchOf(correction: Correction, event: { start?: string; end?: string }, zone: string): Patch | undefined {
  const times = timesOf(correction, event.start, event.end, zone);
  if (times) return times;
  switch (correction.part) {
    case "title": return { title: correction.title };
    case "people": return { participants: correction.ids.map((id) => ({ id, is_required: true })) };
    case "resources": return { resources: correction.ids };
    case "recurrence": return { recurrence_rule: correction.rule || null };
    case "priority": return { priority: correction.priority };
    case "flexibility": return { flexibility: correction.flexibility };
    default: return undefined;
  }
}

/** Which of a series a correction means: all of them, counted from the one that was told. One that was changed by itself is only itself. */
export function scopeOf({ rule, occurrence, isException }: Told): Pick<Patch, "which" | "occurrence"> {
  return rule && occurrence && !isException ? { which: "all", occurrence } : {};
}

/** The piece in words that the parser knows. */
export function wordsOf(correction: Correction, names: Names): string {
  switch (correction.part) {
    case "title": return correction.title;
    case "date": return `on ${correction.day}`;
    case "time": return correction.to === undefined ? `at ${timeField(correction.from)}` : `from ${timeField(correction.from)} to ${timeField(correction.to)}`;
    case "duration": return `for ${correction.minutes} minutes`;
    case "people": return correction.ids.length > 0 ? `for ${listed(correction.ids.map(names.of))}` : "";
    case "resources": return correction.ids.length > 0 ? `with the ${listed(correction.ids.map(names.of))}` : "";
    case "recurrence": return correction.rule ? repeats(correction.rule) : "";
    case "priority": return `${correction.priority} priority`;
    case "flexibility": return correction.flexibility;
    case "words": return correction.words;
  }
}

/** Small words that belong to a piece and go with it. */
const BEFORE: Record<string, string> = { date: "on|for", time: "at|from", duration: "for", people: "for|with", resources: "with(?: the)?|using(?: the)?" };

/** The sentence with a piece said otherwise; what it does not have is added at the end. */
export function corrected(sentence: string, texts: string[], correction: Correction, names: Names): string {
  const part = correction.part === "words" ? correction.of : correction.part;
  const words = wordsOf(correction, names);
  let isPut = false;
  let result = sentence;
  for (const text of texts) {
    const before = BEFORE[part] ? `(?:\\b(?:${BEFORE[part]})\\s+)?` : "";
    const place = new RegExp(`${before}(?<![\\p{L}\\p{N}])${escaped(text)}(?![\\p{L}\\p{N}])`, "iu");
    if (!place.test(result)) continue;
    result = result.replace(place, () => (isPut ? "" : words));
    isPut = true;
  }
  if (!isPut) result = `${result} ${words}`;
  return result.replace(/\s+/g, " ").replace(/ ([,.?!])/g, "$1").trim();
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The event of an answer. */
export interface Told {
  id?: string;
  title: string;
  start?: string;
  end?: string;
  rule?: string | null;
  occurrence?: string | null;
  isException?: boolean;
  participants: string[];
}

/** The event of an answer, whatever its times are called. */
export function eventOf(answer: Answer): Told | undefined {
  const event = answer.result?.event ?? answer.result?.events?.[0];
  if (!event) return undefined;
  const participants = (event.participants ?? []).map((one) => (typeof one === "string" ? one : one.id));
  return {
    id: event.event_id ?? event.id, title: event.title, start: event.start ?? event.start_time, end: event.end ?? event.end_time,
    rule: event.recurrence_rule, occurrence: event.occurrence, isException: event.is_exception, participants,
  };
}

/** The answer as it stands after a piece of its event was changed; `changed` is the event as the calendar has it then. */
export function amended(answer: Answer, correction: Correction, patch: Patch, explanation: string, changed?: CalendarEvent): Answer {
  const { understood, result } = answer;
  const said: Partial<Parsed> = {
    ...(patch.title !== undefined ? { title: patch.title } : {}),
    ...(patch.start ? { start_time: patch.start } : {}),
    ...(patch.end ? { end_time: patch.end } : {}),
    ...(patch.participants ? { participants: patch.participants.map(({ id }) => id) } : {}),
    ...(patch.resources ? { resources: patch.resources } : {}),
    ...(patch.recurrence_rule !== undefined ? { recurrence_rule: patch.recurrence_rule } : {}),
    ...(patch.priority ? { priority: patch.priority } : {}),
    ...(patch.flexibility ? { flexibility: patch.flexibility } : {}),
  };
  const isNew = !understood?.found.some(({ part }) => part === correction.part);
  const isEmpty = ("ids" in correction && correction.ids.length === 0) || ("rule" in correction && correction.rule === "");
  const found = isEmpty ? understood?.found.filter(({ part }) => part !== correction.part) : isNew ? [...(understood?.found ?? []), { part: correction.part, text: "" }] : understood?.found;
  const event = result?.event && {
    ...result.event,
    ...(patch.title !== undefined ? { title: patch.title } : {}),
    ...(patch.start ? { start: patch.start } : {}),
    ...(patch.end ? { end: patch.end } : {}),
    ...(patch.recurrence_rule !== undefined ? { recurrence_rule: patch.recurrence_rule } : {}),
    ...changed,
  };
  return { ...answer, explanation, understood: understood && { ...understood, data: { ...understood.data, ...said }, found: found ?? [] }, result: result && { ...result, event, action: "changed" } };
}

/** What a form for what is missing says. */
export interface Filled {
  title: string;
  day: string;
  from: string;
  to: string;
  words: string;
}

/** The answer that a filled form makes; nothing while it says nothing. */
export function filledReply(filled: Filled, data: Parsed | null | undefined, found: Found[], zone: string): Reply | undefined {
  const { minutes: from } = clockOf(filled.from);
  const { minutes: to } = clockOf(filled.to);
  const known = found.find(({ part, value }) => part === "date" && typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value));
  const day = filled.day || (data?.start_time ? wallOf(data.start_time).day : undefined) || (known ? wallOf(String(known.value)).day : undefined);
  const fields: Fields = {};
  const words: string[] = [];
  if (filled.title.trim()) fields.title = filled.title.trim();
  const start = from ?? (filled.day && data?.start_time ? wallOf(data.start_time).minutes : undefined);
  if (day && start !== undefined) {
    fields.start_time = written(day, start, zone);
    if (to !== undefined) fields.end_time = written(day, to > start ? to : to + 1_440, zone);
  } else {
    if (filled.day) words.push(`on ${filled.day}`);
    if (from !== undefined) words.push(to === undefined ? `at ${filled.from}` : `from ${filled.from} to ${filled.to}`);
  }
  if (filled.words.trim()) words.push(filled.words.trim());
  const reply = { ...(words.length > 0 ? { text: words.join(" ") } : {}), ...(Object.keys(fields).length > 0 ? { fields } : {}) };
  return Object.keys(reply).length > 0 ? reply : undefined;
}

function clockOf(field: string): { minutes?: number } {
  const [, hours, minutes] = /^(\d\d):(\d\d)/.exec(field) ?? [];
  return hours === undefined ? {} : { minutes: Number(hours) * 60 + Number(minutes) };
}
