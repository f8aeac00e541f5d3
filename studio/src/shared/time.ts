/** Times as the pages say them. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
export const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
export const when = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export function timeOf(time: string | number | null | undefined): number | undefined {
  if (time === null || time === undefined) return undefined;
  const value = new Date(time).getTime();
  return Number.isNaN(value) ? undefined : value;
}

/** "in 3 hours", "2 days ago"; nothing more exact than the largest unit that fits. */
export function fromNow(time: number, now: number): string {
  const away = time - now;
  const size = Math.abs(away);
  if (size >= DAY) return relative.format(Math.trunc(away / DAY), "day");
  if (size >= HOUR) return relative.format(Math.trunc(away / HOUR), "hour");
  if (size >= MINUTE) return relative.format(Math.trunc(away / MINUTE), "minute");
  return away < 0 ? "just now" : "in less than a minute";
}

/** "120 ms", "1.4 s". */
export function took(milliseconds: number): string {
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}
