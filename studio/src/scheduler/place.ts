/** Where on the calendar one is, as the address says it, so that it can be shared and gone back to. Pure. */
import { addDays, addMonths, isDay, type Day } from "./wall";

export type View = "week" | "month";

export interface Place {
  view: View;
  /** A day of what is shown; none is today. */
  day?: Day;
  /** The conversation that is open. */
  thread?: string;
}

export function placeOf(search: string): Place {
  const parameters = new URLSearchParams(search);
  const day = parameters.get("date") ?? "";
  return {
    view: parameters.get("view") === "month" ? "month" : "week",
    day: isDay(day) ? day : undefined,
    thread: parameters.get("thread") || undefined,
  };
}

export function addressOf({ view, day, thread }: Place): string {
  const parameters = new URLSearchParams();
  if (view !== "week") parameters.set("view", view);
  if (day) parameters.set("date", day);
  if (thread) parameters.set("thread", thread);
  const search = parameters.toString();
  return search ? `/scheduler?${search}` : "/scheduler";
}

/** One week or one month on, or back. */
export function moved(view: View, day: Day, by: 1 | -1): Day {
  return view === "week" ? addDays(day, 7 * by) : addMonths(`${day.slice(0, 7)}-01`, by);
}
