/** Calendar layout: columns for overlapping events, lanes for multi-day events. Pure. */
import { addDays, type Day, DAY_MINUTES, daysBetween, toLocalTime, toTimestamp } from "./local-time";

/** An item with a start and an end. */
export interface TimedItem {
  start: string;
  end: string;
  is_all_day?: boolean;
}

/** The part of an item on one day, in minutes since midnight. */
export interface DaySegment<T> {
  item: T;
  day: Day;
  from: number;
  to: number;
  /** The item starts (`isFirst`) or ends (`isLast`) on this day. */
  isFirst: boolean;
  isLast: boolean;
}

/** A segment in one of several equal columns. It spans free columns to its right. */
export interface PositionedSegment<T> extends DaySegment<T> {
  column: number;
  columns: number;
  span: number;
}

/** A segment in a lane, which is the same on all days. */
export interface LaneSegment<T> {
  item: T;
  day: Day;
  lane: number;
  isFirst: boolean;
  isLast: boolean;
}

/** Shorter events are drawn with this length, so that they can be read and clicked. */
export const MIN_DRAWN_MINUTES = 30;
const [DEFAULT_START, DEFAULT_END] = [8 * 60, 20 * 60];

/** Returns the first and last day. An event that ends at midnight ends on the day before. */
export function dayRange({ start, end }: TimedItem): [Day, Day] {
  const [from, to] = [toLocalTime(start), toLocalTime(end)];
  const last = to.minutes === 0 && to.day > from.day ? addDays(to.day, -1) : to.day;
  return [from.day, last < from.day ? from.day : last];
}

/** Returns whether the event is shown above the hours. */
export function isAllDayOrLonger(item: TimedItem): boolean {
  return item.is_all_day === true || toTimestamp(item.end) - toTimestamp(item.start) >= DAY_MINUTES * 60_000;
}

/** Returns the items of a day: long ones first, then by time. */
export function itemsOnDay<T extends TimedItem>(all: T[], day: Day): T[] {
  const matching = all.filter((candidate) => {
    const [first, last] = dayRange(candidate);
    return first <= day && day <= last;
  });
  return matching.sort((a, b) => Number(isAllDayOrLonger(b)) - Number(isAllDayOrLonger(a)) || toTimestamp(a.start) - toTimestamp(b.start) || toTimestamp(b.end) - toTimestamp(a.end));
}

export function segmentsOnDay<T extends TimedItem>(all: T[], day: Day): DaySegment<T>[] {
  return all.filter((candidate) => !isAllDayOrLonger(candidate)).flatMap((item) => {
    const [first, last] = dayRange(item);
    if (day < first || day > last) return [];
    const [isFirst, isLast] = [day === first, day === last];
    const from = isFirst ? toLocalTime(item.start).minutes : 0;
    const to = !isLast || toLocalTime(item.end).day > day ? DAY_MINUTES : toLocalTime(item.end).minutes;
    // When clocks are set back, the local end can be before the start.
    return [{ item, day, from, to: Math.max(from, to), isFirst, isLast }];
  });
}

/** Places overlapping segments side by side: the earliest on the left, each as wide as possible. */
export function layoutColumns<T>(segments: DaySegment<T>[]): PositionedSegment<T>[] {
  const sorted = [...segments].sort((a, b) => a.from - b.from || b.to - a.to);
  const positioned: PositionedSegment<T>[] = [];
  let group: PositionedSegment<T>[] = [];
  let groupEnd = -1;
  for (const segment of sorted) {
    if (segment.from >= groupEnd) {
      positioned.push(...assignWidths(group));
      group = [];
    }
    const usedColumns = new Set(group.filter((other) => drawnEnd(other) > segment.from).map(({ column }) => column));
    let column = 0;
    while (usedColumns.has(column)) column++;
    group.push({ ...segment, column, columns: 1, span: 1 });
    groupEnd = Math.max(groupEnd, drawnEnd(segment));
  }
  return [...positioned, ...assignWidths(group)];
}

function assignWidths<T>(group: PositionedSegment<T>[]): PositionedSegment<T>[] {
  const columns = Math.max(1, ...group.map(({ column }) => column + 1));
  return group.map((candidate) => {
    const right = group.filter((other) => other.column > candidate.column && other.from < drawnEnd(candidate) && candidate.from < drawnEnd(other));
    return { ...candidate, columns, span: Math.min(columns, ...right.map(({ column }) => column)) - candidate.column };
  });
}

function drawnEnd({ from, to }: { from: number; to: number }): number {
  return Math.max(to, from + MIN_DRAWN_MINUTES);
}

/** Assigns long items to lanes, the longest on top. */
export function layoutLanes<T extends TimedItem>(all: T[], days: Day[]): LaneSegment<T>[] {
  const [first, last] = [days[0]!, days.at(-1)!];
  const visible = all
    .filter(isAllDayOrLonger)
    .map((item) => ({ item, days: dayRange(item) }))
    .filter(({ days: [from, to] }) => from <= last && to >= first)
    .sort((a, b) => (a.days[0] < b.days[0] ? -1 : a.days[0] > b.days[0] ? 1 : daysBetween(...b.days) - daysBetween(...a.days)));
  const ends: Day[] = [];
  return visible.flatMap(({ item, days: [from, to] }) => {
    const free = ends.findIndex((end) => end < from);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = to;
    return days.filter((day) => from <= day && day <= to).map((day) => ({ item, day, lane, isFirst: day === from, isLast: day === to }));
  });
}

/** Returns the visible hours: the default range, extended to include all segments. */
export function visibleHours(segments: { from: number; to: number }[]): [number, number] {
  const from = Math.min(DEFAULT_START, ...segments.map((segment) => segment.from));
  const to = Math.max(DEFAULT_END, ...segments.map(drawnEnd));
  return [Math.floor(from / 60), Math.min(24, Math.ceil(to / 60))];
}
