/** Where events lie on the calendar: side by side when they overlap, in lanes when they are a matter of days. Pure. */
import { addDays, DAY_MINUTES, daysBetween, momentOf, wallOf, type Day } from "./wall";

/** What has a time. */
export interface Timed {
  start: string;
  end: string;
  is_all_day?: boolean;
}

/** The part of an event that lies on one day; minutes since its midnight. */
export interface Piece<T> {
  of: T;
  day: Day;
  from: number;
  to: number;
  /** Whether it begins here, and whether it ends here. */
  isFirst: boolean;
  isLast: boolean;
}

/** A piece in one of several columns of equal width, over as many of them as are free. */
export interface Placed<T> extends Piece<T> {
  column: number;
  columns: number;
  over: number;
}

/** A piece in a lane that is the same on all its days. */
export interface Laned<T> {
  of: T;
  day: Day;
  lane: number;
  isFirst: boolean;
  isLast: boolean;
}

/** What is shorter is still drawn so long, or nobody could read or press it. */
export const LEAST_MINUTES = 30;
const [EARLY, LATE] = [8 * 60, 20 * 60];

/** The first and the last day of an event; it ends before the midnight at which it ends. */
export function daysOf({ start, end }: Timed): [Day, Day] {
  const [from, to] = [wallOf(start), wallOf(end)];
  const last = to.minutes === 0 && to.day > from.day ? addDays(to.day, -1) : to.day;
  return [from.day, last < from.day ? from.day : last];
}

/** Whether it stands above the hours: all day, or a day and longer. */
export function isLong(timed: Timed): boolean {
  return timed.is_all_day === true || momentOf(timed.end) - momentOf(timed.start) >= DAY_MINUTES * 60_000;
}

/** What happens on a day, what is long first, then by time. */
export function onDay<T extends Timed>(all: T[], day: Day): T[] {
  const here = all.filter((one) => {
    const [first, last] = daysOf(one);
    return first <= day && day <= last;
  });
  return here.sort((a, b) => Number(isLong(b)) - Number(isLong(a)) || momentOf(a.start) - momentOf(b.start) || momentOf(b.end) - momentOf(a.end));
}

export function piecesOn<T extends Timed>(all: T[], day: Day): Piece<T>[] {
  return all.filter((one) => !isLong(one)).flatMap((of) => {
    const [first, last] = daysOf(of);
    if (day < first || day > last) return [];
    const [isFirst, isLast] = [day === first, day === last];
    const from = isFirst ? wallOf(of.start).minutes : 0;
    const to = !isLast || wallOf(of.end).day > day ? DAY_MINUTES : wallOf(of.end).minutes;
    // Where the clock goes back, an end may stand before its start.
    return [{ of, day, from, to: Math.max(from, to), isFirst, isLast }];
  });
}

/** Puts what overlaps beside each other: the earliest to the left, each as wide as there is room. */
export function sideBySide<T>(pieces: Piece<T>[]): Placed<T>[] {
  const sorted = [...pieces].sort((a, b) => a.from - b.from || b.to - a.to);
  const placed: Placed<T>[] = [];
  let group: Placed<T>[] = [];
  let groupEnd = -1;
  for (const piece of sorted) {
    if (piece.from >= groupEnd) {
      placed.push(...widened(group));
      group = [];
    }
    const taken = new Set(group.filter((other) => drawnEnd(other) > piece.from).map(({ column }) => column));
    let column = 0;
    while (taken.has(column)) column++;
    group.push({ ...piece, column, columns: 1, over: 1 });
    groupEnd = Math.max(groupEnd, drawnEnd(piece));
  }
  return [...placed, ...widened(group)];
}

function widened<T>(group: Placed<T>[]): Placed<T>[] {
  const columns = Math.max(1, ...group.map(({ column }) => column + 1));
  return group.map((one) => {
    const right = group.filter((other) => other.column > one.column && other.from < drawnEnd(one) && one.from < drawnEnd(other));
    return { ...one, columns, over: Math.min(columns, ...right.map(({ column }) => column)) - one.column };
  });
}

function drawnEnd({ from, to }: { from: number; to: number }): number {
  return Math.max(to, from + LEAST_MINUTES);
}

/** What is long, day by day; the longest on top, nothing in a lane that is taken. */
export function inLanes<T extends Timed>(all: T[], days: Day[]): Laned<T>[] {
  const [first, last] = [days[0]!, days.at(-1)!];
  const shown = all
    .filter(isLong)
    .map((of) => ({ of, days: daysOf(of) }))
    .filter(({ days: [from, to] }) => from <= last && to >= first)
    .sort((a, b) => (a.days[0] < b.days[0] ? -1 : a.days[0] > b.days[0] ? 1 : daysBetween(...b.days) - daysBetween(...a.days)));
  const ends: Day[] = [];
  return shown.flatMap(({ of, days: [from, to] }) => {
    const free = ends.findIndex((end) => end < from);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = to;
    return days.filter((day) => from <= day && day <= to).map((day) => ({ of, day, lane, isFirst: day === from, isLast: day === to }));
  });
}

/** The hours that are shown: a day as most have it, and more where something lies outside. */
export function hoursShown(pieces: { from: number; to: number }[]): [number, number] {
  const from = Math.min(EARLY, ...pieces.map((piece) => piece.from));
  const to = Math.max(LATE, ...pieces.map(drawnEnd));
  return [Math.floor(from / 60), Math.min(24, Math.ceil(to / 60))];
}
