/** State of the event form: values, validation, and the patch to send. Pure. */
import { stripRrulePrefix } from "./recurrence-text";
import type { EventInstance, EventPatch, Flexibility, Priority, SeriesScope } from "./types";
import { addDays, type Day, formatTimeField, isDay, parseTimeField, toIsoWithOffset, toLocalTime } from "./local-time";

export interface EventFormValues {
  title: string;
  startDay: Day;
  startTime: string;
  endDay: Day;
  endTime: string;
  people: { id: string; is_required: boolean }[];
  resources: string[];
  rule: string;
  priority: Priority;
  flexibility: Flexibility;
  location: string;
  notes: string;
}

export function formValuesOf(event: EventInstance): EventFormValues {
  const [start, end] = [toLocalTime(event.start), toLocalTime(event.end)];
  // All-day events show their last day, not the midnight after it.
  const endDay = event.is_all_day && end.minutes === 0 && end.day > start.day ? addDays(end.day, -1) : end.day;
  return {
    title: event.title, startDay: start.day, startTime: formatTimeField(start.minutes), endDay, endTime: formatTimeField(end.minutes),
    people: event.participants.map(({ id, is_required }) => ({ id, is_required })), resources: event.resources.map(({ id }) => id),
    rule: event.recurrence_rule ? stripRrulePrefix(event.recurrence_rule) : "", priority: event.priority ?? "medium", flexibility: event.flexibility ?? "preferred",
    location: event.location ?? "", notes: event.notes ?? "",
  };
}

/** Moves the end with the start. */
export function withStart(values: EventFormValues, day: string, time: string): EventFormValues {
  const [before, after] = [parseTimeField(values.startTime), parseTimeField(time)];
  const end = parseTimeField(values.endTime);
  if (!isDay(day) || !isDay(values.startDay) || !isDay(values.endDay) || before === undefined || after === undefined || end === undefined) return { ...values, startDay: day, startTime: time };
  const newEnd = end + after - before;
  const days = Math.round((Date.parse(day) - Date.parse(values.startDay)) / 86_400_000) + Math.floor(newEnd / 1_440);
  return { ...values, startDay: day, startTime: time, endDay: addDays(values.endDay, days), endTime: formatTimeField(((newEnd % 1_440) + 1_440) % 1_440) };
}

export type FormErrorKey = "noTitle" | "noDay" | "endFirst";

export function validateForm({ title, startDay, startTime, endDay, endTime }: EventFormValues, isAllDay: boolean): FormErrorKey | undefined {
  if (!title.trim()) return "noTitle";
  if (!isDay(startDay) || !isDay(endDay)) return "noDay";
  if (isAllDay) return endDay < startDay ? "endFirst" : undefined;
  if (parseTimeField(startTime) === undefined || parseTimeField(endTime) === undefined) return "noDay";
  return `${endDay}T${endTime}` <= `${startDay}T${startTime}` ? "endFirst" : undefined;
}

/** Returns the changed fields, or nothing. */
export function toEventPatch(event: EventInstance, values: EventFormValues, zone: string): EventPatch | undefined {
  const before = formValuesOf(event);
  const differs = (name: keyof EventFormValues) => JSON.stringify(before[name]) !== JSON.stringify(values[name]);
  const patch: EventPatch = {};
  if (differs("title")) patch.title = values.title.trim();
  if (differs("startDay") || differs("startTime") || differs("endDay") || differs("endTime")) {
    patch.start = toIsoWithOffset(values.startDay, event.is_all_day ? 0 : parseTimeField(values.startTime)!, zone);
    patch.end = event.is_all_day ? toIsoWithOffset(addDays(values.endDay, 1), 0, zone) : toIsoWithOffset(values.endDay, parseTimeField(values.endTime)!, zone);
  }
  if (differs("people")) patch.participants = values.people;
  if (differs("resources")) patch.resources = values.resources;
  if (differs("rule")) patch.recurrence_rule = values.rule || null;
  if (differs("priority")) patch.priority = values.priority;
  if (differs("flexibility")) patch.flexibility = values.flexibility;
  if (differs("location")) patch.location = values.location.trim();
  if (differs("notes")) patch.notes = values.notes.trim();
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Adds the series scope and the occurrence if the event repeats. */
export function withSeriesScope(event: EventInstance, patch: EventPatch, which: SeriesScope): EventPatch {
  return event.recurrence_rule !== null && event.occurrence !== null ? { ...patch, which, occurrence: event.occurrence } : patch;
}
