/** The parsed request as chips, and how a correction becomes a request. Pure. */
import { formatDayShort, formatDuration, formatRange, formatTimeRange, joinNames } from "./date-format";
import { describeRule } from "./recurrence-text";
import type { CalendarEvent, ClarificationFields, EventPatch, Flexibility, NlParserData, ParsedSpan, Priority, ResumeValue, WorkflowResponse } from "./types";
import { type Day, formatTimeField, toIsoWithOffset, toLocalTime, toTimestamp } from "./local-time";

/** In display order. */
export const CHIP_PARTS = ["intent", "title", "date", "time", "duration", "people", "resources", "recurrence", "priority", "flexibility"] as const;
export type ChipPart = (typeof CHIP_PARTS)[number];

/** Parts that can be added although the sentence does not have them. */
const ADDABLE_PARTS: ChipPart[] = ["people", "resources", "recurrence"];

export interface Chip {
  part: string;
  label: string;
  /** The matched words of the sentence. */
  texts: string[];
  /** The part is not in the sentence and can be added. */
  isAddable: boolean;
}

/** Names of members, resources and enum values. */
export interface NameLookup {
  of(id: string): string;
  word(part: "intent" | "priority" | "flexibility", value: string): string;
}

export function toChips(data: NlParserData, spans: ParsedSpan[], names: NameLookup): Chip[] {
  const parts = [...CHIP_PARTS, ...new Set(spans.map(({ part }) => part).filter((part) => !isPart(part)))];
  const isEvent = data.event_type === "create" || data.event_type === "modify";
  return parts.flatMap((part): Chip[] => {
    const texts = spans.filter((item) => item.part === part).map(({ text }) => text).filter(Boolean);
    const hasSpan = spans.some((item) => item.part === part);
    if (!hasSpan) return isEvent && ADDABLE_PARTS.includes(part as ChipPart) ? [{ part, label: "", texts, isAddable: true }] : [];
    return [{ part, label: labelOf(part, data, names) || texts.join(", ") || String(spans.find((item) => item.part === part)?.value ?? ""), texts, isAddable: false }];
  });
}

function isPart(part: string): part is ChipPart {
  return (CHIP_PARTS as readonly string[]).includes(part);
}

function labelOf(part: string, data: NlParserData, names: NameLookup): string {
  const { start_time: start, end_time: end } = data;
  switch (part) {
    case "intent": return names.word("intent", data.event_type);
    case "title": return data.title ?? "";
    case "date": return start ? dateLabel(start, end ?? start) : "";
    case "time": return start ? formatTimeRange(toLocalTime(start).minutes, toLocalTime(end ?? start).minutes) : "";
    case "duration": return start && end ? formatDuration((toTimestamp(end) - toTimestamp(start)) / 60_000) : "";
    case "people": return joinNames((data.participants ?? []).map(names.of));
    case "resources": return joinNames((data.resources ?? []).map(names.of));
    case "recurrence": return data.recurrence_rule ? describeRule(data.recurrence_rule) : "";
    case "priority": return data.priority ? names.word("priority", data.priority) : "";
    case "flexibility": return data.flexibility ? names.word("flexibility", data.flexibility) : "";
    default: return "";
  }
}

function dateLabel(start: string, end: string): string {
  const isLong = toTimestamp(end) - toTimestamp(start) > 24 * 60 * 60_000;
  return isLong ? formatRange(start, end, true) : formatDayShort(toLocalTime(start).day);
}

/** A corrected value of one part. */
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

/** Returns the corrected times if the start is known. */
function timesOf(correction: Correction, start: string | null | undefined, end: string | null | undefined, zone: string): { start: string; end?: string } | undefined {
  if (!start) return undefined;
  const { day, minutes } = toLocalTime(start);
  const length = end ? Math.max(0, (toTimestamp(end) - toTimestamp(start)) / 60_000) : undefined;
  const from = (on: Day, at: number, minutesLong: number | undefined) => ({ start: toIsoWithOffset(on, at, zone), ...(minutesLong === undefined ? {} : { end: toIsoWithOffset(on, at + minutesLong, zone) }) });
  switch (correction.part) {
    case "date": return from(correction.day, minutes, length);
    case "time": return from(day, correction.from, correction.to === undefined ? length : (correction.to - correction.from + 1_440) % 1_440 || 1_440);
    case "duration": return from(day, minutes, correction.minutes);
    default: return undefined;
  }
}

/** Converts a correction into a resume value: fields if possible, else text. */
export function correctionToReply(correction: Correction, data: NlParserData, names: NameLookup, zone: string): ResumeValue {
  const times = timesOf(correction, data.start_time, data.end_time, zone);
  if (times) return { fields: { start_time: times.start, ...(times.end ? { end_time: times.end } : {}) } };
  if (correction.part === "title") return { fields: { title: correction.title } };
  if (correction.part === "people") return { fields: { participants: correction.ids } };
  if (correction.part === "resources") return { fields: { resources: correction.ids } };
  return { text: correctionToText(correction, names) };
}

/** Converts a correction into a patch of an existing event, if possible. */
export function correctionToPatch(correction: Correction, event: { start?: string; end?: string }, zone: string): EventPatch | undefined {
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

/** Returns the scope of a correction: the whole series, or only the event if it is an exception. */
export function correctionScope({ rule, occurrence, isException }: ResponseEvent): Pick<EventPatch, "which" | "occurrence"> {
  return rule && occurrence && !isException ? { which: "all", occurrence } : {};
}

/** Returns the correction as text for the parser. */
export function correctionToText(correction: Correction, names: NameLookup): string {
  switch (correction.part) {
    case "title": return correction.title;
    case "date": return `on ${correction.day}`;
    case "time": return correction.to === undefined ? `at ${formatTimeField(correction.from)}` : `from ${formatTimeField(correction.from)} to ${formatTimeField(correction.to)}`;
    case "duration": return `for ${correction.minutes} minutes`;
    case "people": return correction.ids.length > 0 ? `for ${joinNames(correction.ids.map(names.of))}` : "";
    case "resources": return correction.ids.length > 0 ? `with the ${joinNames(correction.ids.map(names.of))}` : "";
    case "recurrence": return correction.rule ? describeRule(correction.rule) : "";
    case "priority": return `${correction.priority} priority`;
    case "flexibility": return correction.flexibility;
    case "words": return correction.words;
  }
}

/** Prepositions that are replaced with the part. */
const BEFORE: Record<string, string> = { date: "on|for", time: "at|from", duration: "for", people: "for|with", resources: "with(?: the)?|using(?: the)?" };

/** Replaces a part of the sentence. A missing part is appended. */
export function correctSentence(sentence: string, texts: string[], correction: Correction, names: NameLookup): string {
  const part = correction.part === "words" ? correction.of : correction.part;
  const words = correctionToText(correction, names);
  let isReplaced = false;
  let result = sentence;
  for (const text of texts) {
    const prefix = BEFORE[part] ? `(?:\\b(?:${BEFORE[part]})\\s+)?` : "";
    const pattern = new RegExp(`${prefix}(?<![\\p{L}\\p{N}])${escapeRegExp(text)}(?![\\p{L}\\p{N}])`, "iu");
    if (!pattern.test(result)) continue;
    result = result.replace(pattern, () => (isReplaced ? "" : words));
    isReplaced = true;
  }
  if (!isReplaced) result = `${result} ${words}`;
  return result.replace(/\s+/g, " ").replace(/ ([,.?!])/g, "$1").trim();
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The event of a response. */
export interface ResponseEvent {
  id?: string;
  title: string;
  start?: string;
  end?: string;
  rule?: string | null;
  occurrence?: string | null;
  isException?: boolean;
  participants: string[];
}

/** Returns the event of a response; field names differ between responses. */
export function responseEvent(answer: WorkflowResponse): ResponseEvent | undefined {
  const event = answer.result?.event ?? answer.result?.events?.[0];
  if (!event) return undefined;
  const participants = (event.participants ?? []).map((item) => (typeof item === "string" ? item : item.id));
  return {
    id: event.event_id ?? event.id, title: event.title, start: event.start ?? event.start_time, end: event.end ?? event.end_time,
    rule: event.recurrence_rule, occurrence: event.occurrence, isException: event.is_exception, participants,
  };
}

/** Returns the response after its event was patched. `changed` is the event on the calendar. */
export function applyPatchToResponse(answer: WorkflowResponse, correction: Correction, patch: EventPatch, explanation: string, changed?: CalendarEvent): WorkflowResponse {
  const { understood, result } = answer;
  const changes: Partial<NlParserData> = {
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
  const spans = isEmpty ? understood?.found.filter(({ part }) => part !== correction.part) : isNew ? [...(understood?.found ?? []), { part: correction.part, text: "" }] : understood?.found;
  const event = result?.event && {
    ...result.event,
    ...(patch.title !== undefined ? { title: patch.title } : {}),
    ...(patch.start ? { start: patch.start } : {}),
    ...(patch.end ? { end: patch.end } : {}),
    ...(patch.recurrence_rule !== undefined ? { recurrence_rule: patch.recurrence_rule } : {}),
    ...changed,
  };
  return { ...answer, explanation, understood: understood && { ...understood, data: { ...understood.data, ...changes }, found: spans ?? [] }, result: result && { ...result, event, action: "changed" } };
}

/** Values of the clarification form. */
export interface ClarificationFormValues {
  title: string;
  day: string;
  from: string;
  to: string;
  words: string;
}

/** Returns the resume value of the form, or nothing while it is empty. */
export function clarificationReply(values: ClarificationFormValues, data: NlParserData | null | undefined, spans: ParsedSpan[], zone: string): ResumeValue | undefined {
  const { minutes: from } = parseClock(values.from);
  const { minutes: to } = parseClock(values.to);
  const dateSpan = spans.find(({ part, value }) => part === "date" && typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value));
  const day = values.day || (data?.start_time ? toLocalTime(data.start_time).day : undefined) || (dateSpan ? toLocalTime(String(dateSpan.value)).day : undefined);
  const fields: ClarificationFields = {};
  const words: string[] = [];
  if (values.title.trim()) fields.title = values.title.trim();
  const start = from ?? (values.day && data?.start_time ? toLocalTime(data.start_time).minutes : undefined);
  if (day && start !== undefined) {
    fields.start_time = toIsoWithOffset(day, start, zone);
    if (to !== undefined) fields.end_time = toIsoWithOffset(day, to > start ? to : to + 1_440, zone);
  } else {
    if (values.day) words.push(`on ${values.day}`);
    if (from !== undefined) words.push(to === undefined ? `at ${values.from}` : `from ${values.from} to ${values.to}`);
  }
  if (values.words.trim()) words.push(values.words.trim());
  const reply = { ...(words.length > 0 ? { text: words.join(" ") } : {}), ...(Object.keys(fields).length > 0 ? { fields } : {}) };
  return Object.keys(reply).length > 0 ? reply : undefined;
}

function parseClock(field: string): { minutes?: number } {
  const [, hours, minutes] = /^(\d\d):(\d\d)/.exec(field) ?? [];
  return hours === undefined ? {} : { minutes: Number(hours) * 60 + Number(minutes) };
}
