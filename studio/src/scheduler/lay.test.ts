import { expect, it } from "vitest";
import { daysOf, hoursShown, inLanes, isLong, onDay, piecesOn, sideBySide, type Piece, type Placed } from "./lay";

const at = (name: string, start: string, end: string, is_all_day = false) => ({ name, start: `2026-01-${start}:00-05:00`, end: `2026-01-${end}:00-05:00`, is_all_day });
const piece = (of: string, from: number, to: number): Piece<string> => ({ of, day: "2026-01-10", from: from * 60, to: to * 60, isFirst: true, isLast: true });
const shape = (pieces: Piece<string>[]) => Object.fromEntries(sideBySide(pieces).map(({ of, column, columns, over }) => [of, [column, columns, over]]));

it("an event that ends at midnight is not on the next day", () => {
  const party = at("party", "10T20:00", "11T00:00");
  expect(daysOf(party)).toEqual(["2026-01-10", "2026-01-10"]);
  expect(piecesOn([party], "2026-01-10")).toMatchObject([{ from: 1200, to: 1440, isFirst: true, isLast: true }]);
  expect(piecesOn([party], "2026-01-11")).toEqual([]);
});

it("an event over midnight has a piece on both days", () => {
  const night = at("night", "10T22:00", "11T02:00");
  expect(piecesOn([night], "2026-01-10")).toMatchObject([{ from: 1320, to: 1440, isFirst: true, isLast: false }]);
  expect(piecesOn([night], "2026-01-11")).toMatchObject([{ from: 0, to: 120, isFirst: false, isLast: true }]);
});

it("a clock that goes back makes no event of negative length", () => {
  const change = { start: "2026-11-01T01:45:00-04:00", end: "2026-11-01T01:15:00-05:00" };
  expect(piecesOn([change], "2026-11-01")).toMatchObject([{ from: 105, to: 105 }]);
  expect(sideBySide(piecesOn([change], "2026-11-01"))).toHaveLength(1);
});

it("what does not overlap has the whole width; ends and starts may touch", () => {
  expect(shape([piece("a", 9, 10), piece("b", 10, 11)])).toEqual({ a: [0, 1, 1], b: [0, 1, 1] });
});

it("what overlaps lies side by side, each as wide as there is room", () => {
  expect(shape([piece("soccer", 14, 15), piece("dentist", 14.5, 15.5)])).toEqual({ soccer: [0, 2, 1], dentist: [1, 2, 1] });
  // Three at once, then one that finds two columns free.
  expect(shape([piece("long", 9, 12), piece("b", 9, 10), piece("c", 9, 10), piece("d", 10, 11)])).toEqual({ long: [0, 3, 1], b: [1, 3, 1], c: [2, 3, 1], d: [1, 3, 2] });
});

it("what is very short still keeps the room that it is drawn in", () => {
  expect(shape([piece("call", 9, 9.1), piece("mail", 9.25, 10)])).toEqual({ call: [0, 2, 1], mail: [1, 2, 1] });
});

it("never draws two of them over each other", () => {
  let seed = 7;
  const random = (most: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % most;
  for (let round = 0; round < 200; round++) {
    const pieces = Array.from({ length: 12 }, (_, index) => {
      const from = random(96) * 15;
      return { of: String(index), day: "2026-01-10", from, to: Math.min(1440, from + 15 + random(12) * 15), isFirst: true, isLast: true };
    });
    const placed = sideBySide(pieces);
    expect(placed).toHaveLength(pieces.length);
    const isOver = (one: Placed<string>, other: Placed<string>) =>
      one !== other && one.from < other.to && other.from < one.to && !(one.columns === other.columns && (one.column + one.over <= other.column || other.column + other.over <= one.column));
    expect(placed.filter((one) => placed.some((other) => isOver(one, other)) || one.column + one.over > one.columns)).toEqual([]);
  }
});

it("what lasts a day or longer stands above the hours, in one lane", () => {
  const trip = at("trip", "07T00:00", "10T00:00", true);
  const fair = at("fair", "09T09:00", "11T09:00");
  const day = at("day", "10T00:00", "11T00:00", true);
  expect([trip, fair, day, at("soccer", "10T14:00", "10T15:00")].map(isLong)).toEqual([true, true, true, false]);
  const laned = inLanes([day, fair, trip], ["2026-01-08", "2026-01-09", "2026-01-10"]);
  expect(laned.map(({ of, day: on, lane, isFirst, isLast }) => [of.name, on.slice(8), lane, isFirst, isLast])).toEqual([
    ["trip", "08", 0, false, false], ["trip", "09", 0, false, true],
    ["fair", "09", 1, true, false], ["fair", "10", 1, false, false],
    ["day", "10", 0, true, true],
  ]);
});

it("lists a day with what is long first, then by time", () => {
  const all = [at("late", "10T18:00", "10T19:00"), at("early", "10T09:00", "10T10:00"), at("day", "10T00:00", "11T00:00", true), at("other", "11T09:00", "11T10:00")];
  expect(onDay(all, "2026-01-10").map(({ name }) => name)).toEqual(["day", "early", "late"]);
});

it("shows the hours of a usual day, and more where something lies outside", () => {
  expect(hoursShown([])).toEqual([8, 20]);
  expect(hoursShown([{ from: 390, to: 420 }, { from: 1290, to: 1350 }])).toEqual([6, 23]);
  expect(hoursShown([{ from: 1430, to: 1440 }])).toEqual([8, 24]);
});
