/** Page state in the URL, so that it can be shared and restored. Pure. */
import { addDays, addMonths, type Day, isDay } from "./local-time";

export type CalendarViewMode = "week" | "month";

export interface UrlState {
  view: CalendarViewMode;
  /** A day in the visible range (default: today). */
  day?: Day;
  /** Id of the open conversation. */
  thread?: string;
}

export function parseUrlState(search: string): UrlState {
  const parameters = new URLSearchParams(search);
  const day = parameters.get("date") ?? "";
  return {
    view: parameters.get("view") === "month" ? "month" : "week",
    day: isDay(day) ? day : undefined,
    thread: parameters.get("thread") || undefined,
  };
}

export function formatUrlState({ view, day, thread }: UrlState): string {
  const parameters = new URLSearchParams();
  if (view !== "week") parameters.set("view", view);
  if (day) parameters.set("date", day);
  if (thread) parameters.set("thread", thread);
  const search = parameters.toString();
  return search ? `/scheduler?${search}` : "/scheduler";
}

/** Returns the day one week or month later or earlier. */
export function shiftDay(view: CalendarViewMode, day: Day, by: 1 | -1): Day {
  return view === "week" ? addDays(day, 7 * by) : addMonths(`${day.slice(0, 7)}-01`, by);
}
