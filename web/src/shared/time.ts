/** Formats times and durations. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
export const dateFormat = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
export const dateTimeFormat = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export function toTimestamp(time: string | number | null | undefined): number | undefined {
  if (time === null || time === undefined) return undefined;
  const value = new Date(time).getTime();
  return Number.isNaN(value) ? undefined : value;
}

/** "in 3 hours", "2 days ago": only the largest unit. */
export function formatRelative(time: number, now: number): string {
  const difference = time - now;
  const size = Math.abs(difference);
  if (size >= DAY) return relative.format(Math.trunc(difference / DAY), "day");
  if (size >= HOUR) return relative.format(Math.trunc(difference / HOUR), "hour");
  if (size >= MINUTE) return relative.format(Math.trunc(difference / MINUTE), "minute");
  return difference < 0 ? "just now" : "in less than a minute";
}

/** "120 ms", "1.4 s". */
export function formatDuration(milliseconds: number): string {
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}
