/** How days, times and lengths are said; in the same words as the server's sentences. */
import { plural } from "../shared/strings";
import { addDays, DAY_MINUTES, daysBetween, wallOf, type Day } from "./wall";

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
const FORMATS = {
  weekday: format({ weekday: "short" }),
  weekdayWhole: format({ weekday: "long" }),
  date: format({ day: "numeric", month: "short" }),
  dateWhole: format({ day: "numeric", month: "long" }),
  month: format({ month: "long", year: "numeric" }),
};

export type DayStyle = keyof typeof FORMATS;

export function dayName(day: Day, style: DayStyle): string {
  return FORMATS[style].format(Date.parse(`${day}T00:00:00Z`));
}

/** `Sat 10 Jan`. */
export function dayShort(day: Day): string {
  return `${dayName(day, "weekday")} ${dayName(day, "date")}`;
}

/** `Saturday 10 January`. */
export function dayLong(day: Day): string {
  return `${dayName(day, "weekdayWhole")} ${dayName(day, "dateWhole")}`;
}

/** `2:00 pm`; or, where there is little room, `2 pm`. */
export function clock(minutes: number, isShort = false): string {
  const hour = Math.floor(minutes / 60) % 24;
  const rest = minutes % 60;
  const tail = isShort && rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`;
  return `${hour % 12 === 0 ? 12 : hour % 12}${tail} ${hour < 12 ? "am" : "pm"}`;
}

/** `2 – 3:30 pm`: what both share is said once. */
export function clocks(from: number, to: number): string {
  const [first, last] = [clock(from, true), clock(to, true)];
  const isSameHalf = first.slice(-2) === last.slice(-2);
  return `${isSameHalf ? first.slice(0, -3) : first} – ${last}`;
}

/** `Sat 10 Jan, 2 – 3 pm`, `Sat 10 – Sun 11 Jan`. */
export function stretch(start: string, end: string, isAllDay = false): string {
  const [from, to] = [wallOf(start), wallOf(end)];
  // A day ends where the next begins.
  const lastDay = to.minutes === 0 && to.day > from.day ? addDays(to.day, -1) : to.day;
  if (isAllDay) return from.day >= lastDay ? dayShort(from.day) : `${dayShort(from.day)} – ${dayShort(lastDay)}`;
  if (from.day === lastDay) return `${dayShort(from.day)}, ${clocks(from.minutes, to.day > from.day ? DAY_MINUTES : to.minutes)}`;
  return `${dayShort(from.day)}, ${clock(from.minutes, true)} – ${dayShort(to.day)}, ${clock(to.minutes, true)}`;
}

/** `1 hour 30 minutes`. */
export function length(minutes: number): string {
  const parts = [
    [Math.floor(minutes / DAY_MINUTES), "day"],
    [Math.floor((minutes % DAY_MINUTES) / 60), "hour"],
    [minutes % 60, "minute"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, unit]) => plural(count, unit, `${unit}s`));
  return said.join(" ") || plural(0, "minute", "minutes");
}

/** `Mom, Dad and Emma`. */
export function listed(names: string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** `5 – 11 January 2026`, `29 December – 4 January 2026`. */
export function weekTitle(days: Day[]): string {
  const [first, last] = [days[0]!, days.at(-1)!];
  const isSameMonth = first.slice(0, 7) === last.slice(0, 7);
  const start = isSameMonth ? String(Number(first.slice(8))) : dayName(first, "dateWhole");
  return `${start} – ${Number(last.slice(8))} ${dayName(last, "month")}`;
}

/** `today`, `tomorrow`; nothing for days farther away. */
export function near(day: Day, today: Day): "today" | "tomorrow" | "yesterday" | undefined {
  return ({ 0: "today", 1: "tomorrow", [-1]: "yesterday" } as const)[daysBetween(today, day) as 0 | 1 | -1];
}
