/** The form of an event: what stands in it, what is wrong with it, and what of it is a change. Pure. */
import { bare } from "./repeat";
import type { Flexibility, Instance, Patch, Priority, Which } from "./types";
import { addDays, isDay, minutesOf, timeField, wallOf, written, type Day } from "./wall";

export interface Edited {
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

export function editedOf(event: Instance): Edited {
  const [start, end] = [wallOf(event.start), wallOf(event.end)];
  // Who looks at an event of a day reads its last day, not the midnight after it.
  const endDay = event.is_all_day && end.minutes === 0 && end.day > start.day ? addDays(end.day, -1) : end.day;
  return {
    title: event.title, startDay: start.day, startTime: timeField(start.minutes), endDay, endTime: timeField(end.minutes),
    people: event.participants.map(({ id, is_required }) => ({ id, is_required })), resources: event.resources.map(({ id }) => id),
    rule: event.recurrence_rule ? bare(event.recurrence_rule) : "", priority: event.priority ?? "medium", flexibility: event.flexibility ?? "preferred",
    location: event.location ?? "", notes: event.notes ?? "",
  };
}

/** The end goes along when the start is put elsewhere. */
export function withStart(edited: Edited, day: string, time: string): Edited {
  const [before, after] = [minutesOf(edited.startTime), minutesOf(time)];
  const end = minutesOf(edited.endTime);
  if (!isDay(day) || !isDay(edited.startDay) || !isDay(edited.endDay) || before === undefined || after === undefined || end === undefined) return { ...edited, startDay: day, startTime: time };
  const moved = end + after - before;
  const days = Math.round((Date.parse(day) - Date.parse(edited.startDay)) / 86_400_000) + Math.floor(moved / 1_440);
  return { ...edited, startDay: day, startTime: time, endDay: addDays(edited.endDay, days), endTime: timeField(((moved % 1_440) + 1_440) % 1_440) };
}

export type Wrong = "noTitle" | "noDay" | "endFirst";

export function wrongOf({ title, startDay, startTime, endDay, endTime }: Edited, isAllDay: boolean): Wrong | undefined {
  if (!title.trim()) return "noTitle";
  if (!isDay(startDay) || !isDay(endDay)) return "noDay";
  if (isAllDay) return endDay < startDay ? "endFirst" : undefined;
  if (minutesOf(startTime) === undefined || minutesOf(endTime) === undefined) return "noDay";
  return `${endDay}T${endTime}` <= `${startDay}T${startTime}` ? "endFirst" : undefined;
}

/** Only what is different; nothing when nothing is. */
export function changesOf(event: Instance, edited: Edited, zone: string): Patch | undefined {
  const before = editedOf(event);
  const is = (name: keyof Edited) => JSON.stringify(before[name]) !== JSON.stringify(edited[name]);
  const patch: Patch = {};
  if (is("title")) patch.title = edited.title.trim();
  if (is("startDay") || is("startTime") || is("endDay") || is("endTime")) {
    patch.start = written(edited.startDay, event.is_all_day ? 0 : minutesOf(edited.startTime)!, zone);
    patch.end = event.is_all_day ? written(addDays(edited.endDay, 1), 0, zone) : written(edited.endDay, minutesOf(edited.endTime)!, zone);
  }
  if (is("people")) patch.participants = edited.people;
  if (is("resources")) patch.resources = edited.resources;
  if (is("rule")) patch.recurrence_rule = edited.rule || null;
  if (is("priority")) patch.priority = edited.priority;
  if (is("flexibility")) patch.flexibility = edited.flexibility;
  if (is("location")) patch.location = edited.location.trim();
  if (is("notes")) patch.notes = edited.notes.trim();
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Names which of a series is meant; what is no series has no need to. */
export function ofSeries(event: Instance, patch: Patch, which: Which): Patch {
  return event.recurrence_rule !== null && event.occurrence !== null ? { ...patch, which, occurrence: event.occurrence } : patch;
}
