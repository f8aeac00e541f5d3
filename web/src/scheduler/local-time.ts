/**
 * Local dates and times, parsed from the ISO strings of the server. Pure.
 *
 * A day is `2026-01-10`, a time of day is minutes since midnight. The time zone of the browser is never used. Only
 * `toIsoWithOffset` uses time zones, because the server needs an offset.
 */
import type { WeekStart } from "./types";

/** `2026-01-10`. */
export type Day = string;

export interface LocalTime {
  day: Day;
  minutes: number;
}

export const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
const FIRST_WEEKDAY: Record<WeekStart, number> = { sunday: 0, monday: 1, saturday: 6 };

/** Returns the local time of an ISO string. The server has already applied the offset. */
export function toLocalTime(time: string): LocalTime {
  const [, day = "1970-01-01", hours = "0", minutes = "0"] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d))?/.exec(time) ?? [];
  return { day, minutes: Number(hours) * 60 + Number(minutes) };
}

/** Returns the timestamp, for comparisons and durations. */
export function toTimestamp(time: string): number {
  return Date.parse(time);
}

/** Returns the local time after a number of milliseconds. */
export function addElapsed(time: string, milliseconds: number): LocalTime {
  const { day, minutes } = toLocalTime(time);
  return localTimeAt(utc(day) + minutes * MINUTE_MS + secondsOf(time) * 1_000 + milliseconds);
}

export function addDays(day: Day, count: number): Day {
  return new Date(utc(day) + count * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the same day after some months, or the last day of a shorter month. */
export function addMonths(day: Day, count: number): Day {
  const [year, month, date] = day.split("-").map(Number) as [number, number, number];
  const last = new Date(Date.UTC(year, month - 1 + count + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + count, Math.min(date, last))).toISOString().slice(0, 10);
}

export function daysBetween(from: Day, to: Day): number {
  return Math.round((utc(to) - utc(from)) / DAY_MS);
}

/** 0 for Sunday to 6 for Saturday. */
export function weekdayOf(day: Day): number {
  return new Date(utc(day)).getUTCDay();
}

export function daysOfWeek(day: Day, start: WeekStart): Day[] {
  const daysBack = (weekdayOf(day) - FIRST_WEEKDAY[start] + 7) % 7;
  return Array.from({ length: 7 }, (_, index) => addDays(day, index - daysBack));
}

/** Returns all weeks that overlap a month. */
export function weeksOfMonth(day: Day, start: WeekStart): Day[][] {
  const first = `${day.slice(0, 7)}-01`;
  const next = addMonths(first, 1);
  const weeks = [daysOfWeek(first, start)];
  while (addDays(weeks.at(-1)![0]!, 7) < next) weeks.push(daysOfWeek(addDays(weeks.at(-1)![0]!, 7), start));
  return weeks;
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(utc(text)) && addDays(text, 0) === text;
}

/** `14:05`, the format of time inputs. */
export function formatTimeField(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

export function parseTimeField(field: string): number | undefined {
  const [, hours, minutes] = /^(\d\d):(\d\d)/.exec(field) ?? [];
  return hours === undefined || minutes === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** Returns an ISO string with the offset of the time zone. A skipped time moves forward by the gap; a repeated one is the first. */
export function toIsoWithOffset(day: Day, minutes: number, zone: string): string {
  const local = utc(day) + minutes * MINUTE_MS;
  const [before, after] = [offsetAt(local - DAY_MS, zone), offsetAt(local + DAY_MS, zone)];
  const candidates = [before, after].map((offset) => local - offset).filter((timestamp) => local - timestamp === offsetAt(timestamp, zone));
  const timestamp = candidates.length > 0 ? Math.min(...candidates) : local - before;
  const offset = offsetAt(timestamp, zone);
  return `${new Date(timestamp + offset).toISOString().slice(0, 19)}${offsetText(offset)}`;
}

function offsetText(offset: number): string {
  return `${offset < 0 ? "-" : "+"}${formatTimeField(Math.abs(offset) / MINUTE_MS)}`;
}

/** Returns the UTC offset of a time zone at a timestamp, in milliseconds. */
function offsetAt(timestamp: number, zone: string): number {
  const minuteStart = Math.floor(timestamp / MINUTE_MS) * MINUTE_MS;
  const parts = Object.fromEntries(partsIn(zone).formatToParts(minuteStart).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!) - minuteStart;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function partsIn(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" });
    formats.set(zone, format);
  }
  return format;
}

function localTimeAt(local: number): LocalTime {
  const text = new Date(local).toISOString();
  return toLocalTime(text);
}

function secondsOf(time: string): number {
  return Number(/T\d\d:\d\d:(\d\d)/.exec(time)?.[1] ?? 0);
}

/** Returns the day as a timestamp, for arithmetic only. */
function utc(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}
