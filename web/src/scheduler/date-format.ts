/** Formats days, times and durations like the sentences of the server. */
import { plural } from "../shared/strings";
import { addDays, type Day, DAY_MINUTES, daysBetween, toLocalTime } from "./local-time";

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
const FORMATS = {
  weekday: format({ weekday: "short" }),
  weekdayLong: format({ weekday: "long" }),
  date: format({ day: "numeric", month: "short" }),
  dateLong: format({ day: "numeric", month: "long" }),
  month: format({ month: "long", year: "numeric" }),
};

export type DayStyle = keyof typeof FORMATS;

export function formatDay(day: Day, style: DayStyle): string {
  return FORMATS[style].format(Date.parse(`${day}T00:00:00Z`));
}

/** `Sat 10 Jan`. */
export function formatDayShort(day: Day): string {
  return `${formatDay(day, "weekday")} ${formatDay(day, "date")}`;
}

/** `Saturday 10 January`. */
export function formatDayLong(day: Day): string {
  return `${formatDay(day, "weekdayLong")} ${formatDay(day, "dateLong")}`;
}

/** `2:00 pm`, or `2 pm` if short. */
export function formatTime(minutes: number, isShort = false): string {
  const hour = Math.floor(minutes / 60) % 24;
  const rest = minutes % 60;
  const suffix = isShort && rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`;
  return `${hour % 12 === 0 ? 12 : hour % 12}${suffix} ${hour < 12 ? "am" : "pm"}`;
}

/** `2 – 3:30 pm`: a common suffix appears once. */
export function formatTimeRange(from: number, to: number): string {
  const [first, last] = [formatTime(from, true), formatTime(to, true)];
  const isSameHalf = first.slice(-2) === last.slice(-2);
  return `${isSameHalf ? first.slice(0, -3) : first} – ${last}`;
}

/** `Sat 10 Jan, 2 – 3 pm`, `Sat 10 – Sun 11 Jan`. */
export function formatRange(start: string, end: string, isAllDay = false): string {
  const [from, to] = [toLocalTime(start), toLocalTime(end)];
  // A day ends at midnight of the next day.
  const lastDay = to.minutes === 0 && to.day > from.day ? addDays(to.day, -1) : to.day;
  if (isAllDay) return from.day >= lastDay ? formatDayShort(from.day) : `${formatDayShort(from.day)} – ${formatDayShort(lastDay)}`;
  if (from.day === lastDay) return `${formatDayShort(from.day)}, ${formatTimeRange(from.minutes, to.day > from.day ? DAY_MINUTES : to.minutes)}`;
  return `${formatDayShort(from.day)}, ${formatTime(from.minutes, true)} – ${formatDayShort(to.day)}, ${formatTime(to.minutes, true)}`;
}

/** `1 hour 30 minutes`. */
export function formatDuration(minutes: number): string {
  const parts = [
    [Math.floor(minutes / DAY_MINUTES), "day"],
    [Math.floor((minutes % DAY_MINUTES) / 60), "hour"],
    [minutes % 60, "minute"],
  ] as const;
  const texts = parts.filter(([count]) => count > 0).map(([count, unit]) => plural(count, unit, `${unit}s`));
  return texts.join(" ") || plural(0, "minute", "minutes");
}

/** `Mom, Dad and Emma`. */
export function joinNames(names: string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** `5 – 11 January 2026`, `29 December – 4 January 2026`. */
export function formatWeek(days: Day[]): string {
  const [first, last] = [days[0]!, days.at(-1)!];
  const isSameMonth = first.slice(0, 7) === last.slice(0, 7);
  const start = isSameMonth ? String(Number(first.slice(8))) : formatDay(first, "dateLong");
  return `${start} – ${Number(last.slice(8))} ${formatDay(last, "month")}`;
}

/** `today`, `tomorrow`, `yesterday`, or nothing. */
export function relativeDay(day: Day, today: Day): "today" | "tomorrow" | "yesterday" | undefined {
  return ({ 0: "today", 1: "tomorrow", [-1]: "yesterday" } as const)[daysBetween(today, day) as 0 | 1 | -1];
}
