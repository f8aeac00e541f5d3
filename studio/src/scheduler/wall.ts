/**
 * Days and times as they stand on the wall, taken from the text that the server writes.
 *
 * Pure, and never in the zone of the browser: a day is `2026-01-10`, a time of the day is minutes since midnight. Only `written` knows
 * about zones, because what is sent to the server needs an offset.
 */
import type { WeekStart } from "./types";

/** `2026-01-10`. */
export type Day = string;

export interface Wall {
  day: Day;
  minutes: number;
}

export const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
const FIRST: Record<WeekStart, number> = { sunday: 0, monday: 1, saturday: 6 };

/** What the wall shows at a time such as `2026-01-10T14:00:00-05:00`; the offset has been used by whoever wrote it. */
export function wallOf(time: string): Wall {
  const [, day = "1970-01-01", hours = "0", minutes = "0"] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d))?/.exec(time) ?? [];
  return { day, minutes: Number(hours) * 60 + Number(minutes) };
}

/** The moment that is meant, to compare and to measure. */
export function momentOf(time: string): number {
  return Date.parse(time);
}

/** What the wall shows so long after the server said what time it is. */
export function later(time: string, milliseconds: number): Wall {
  const { day, minutes } = wallOf(time);
  return wallAt(utc(day) + minutes * MINUTE_MS + secondsOf(time) * 1_000 + milliseconds);
}

export function addDays(day: Day, count: number): Day {
  return new Date(utc(day) + count * DAY_MS).toISOString().slice(0, 10);
}

/** The same day so many months on; the last of the month where there is none. */
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

export function weekOf(day: Day, start: WeekStart): Day[] {
  const back = (weekdayOf(day) - FIRST[start] + 7) % 7;
  return Array.from({ length: 7 }, (_, index) => addDays(day, index - back));
}

/** The weeks that a month touches. */
export function monthOf(day: Day, start: WeekStart): Day[][] {
  const first = `${day.slice(0, 7)}-01`;
  const next = addMonths(first, 1);
  const weeks = [weekOf(first, start)];
  while (addDays(weeks.at(-1)![0]!, 7) < next) weeks.push(weekOf(addDays(weeks.at(-1)![0]!, 7), start));
  return weeks;
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(utc(text)) && addDays(text, 0) === text;
}

/** `14:05`, as fields of forms want it. */
export function timeField(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

export function minutesOf(field: string): number | undefined {
  const [, hours, minutes] = /^(\d\d):(\d\d)/.exec(field) ?? [];
  return hours === undefined || minutes === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** The time with its offset, as a clock in that zone would be written. A time that does not exist moves on by the gap, one that is there twice is the first. */
export function written(day: Day, minutes: number, zone: string): string {
  const wall = utc(day) + minutes * MINUTE_MS;
  const [before, after] = [offsetAt(wall - DAY_MS, zone), offsetAt(wall + DAY_MS, zone)];
  const moments = [before, after].map((offset) => wall - offset).filter((moment) => wall - moment === offsetAt(moment, zone));
  const moment = moments.length > 0 ? Math.min(...moments) : wall - before;
  const offset = offsetAt(moment, zone);
  return `${new Date(moment + offset).toISOString().slice(0, 19)}${offsetText(offset)}`;
}

function offsetText(offset: number): string {
  return `${offset < 0 ? "-" : "+"}${timeField(Math.abs(offset) / MINUTE_MS)}`;
}

/** How far the wall of a zone is ahead of UTC at a moment. */
function offsetAt(moment: number, zone: string): number {
  const whole = Math.floor(moment / MINUTE_MS) * MINUTE_MS;
  const parts = Object.fromEntries(partsIn(zone).formatToParts(whole).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!) - whole;
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

function wallAt(wall: number): Wall {
  const text = new Date(wall).toISOString();
  return wallOf(text);
}

function secondsOf(time: string): number {
  return Number(/T\d\d:\d\d:(\d\d)/.exec(time)?.[1] ?? 0);
}

/** A day as a number, for counting only. */
function utc(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}
