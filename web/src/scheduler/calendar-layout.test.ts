import { expect, it } from "vitest";
import { dayRange, type DaySegment, isAllDayOrLonger, itemsOnDay, layoutColumns, layoutLanes, type PositionedSegment, segmentsOnDay, visibleHours } from "./calendar-layout";

const at = (name: string, start: string, end: string, is_all_day = false) => ({ name, start: `2026-01-${start}:00-05:00`, end: `2026-01-${end}:00-05:00`, is_all_day });
const segment = (item: string, from: number, to: number): DaySegment<string> => ({ item, day: "2026-01-10", from: from * 60, to: to * 60, isFirst: true, isLast: true });
const shape = (segments: DaySegment<string>[]) => Object.fromEntries(layoutColumns(segments).map(({ item, column, columns, span }) => [item, [column, columns, span]]));

it("puts an event that ends at midnight only on its first day", () => {
  const party = at("party", "10T20:00", "11T00:00");
  expect(dayRange(party)).toEqual(["2026-01-10", "2026-01-10"]);
  expect(segmentsOnDay([party], "2026-01-10")).toMatchObject([{ from: 1200, to: 1440, isFirst: true, isLast: true }]);
  expect(segmentsOnDay([party], "2026-01-11")).toEqual([]);
});

it("splits an event over midnight into two segments", () => {
  const night = at("night", "10T22:00", "11T02:00");
  expect(segmentsOnDay([night], "2026-01-10")).toMatchObject([{ from: 1320, to: 1440, isFirst: true, isLast: false }]);
  expect(segmentsOnDay([night], "2026-01-11")).toMatchObject([{ from: 0, to: 120, isFirst: false, isLast: true }]);
});

it("never returns a negative length when clocks are set back", () => {
  const change = { start: "2026-11-01T01:45:00-04:00", end: "2026-11-01T01:15:00-05:00" };
  expect(segmentsOnDay([change], "2026-11-01")).toMatchObject([{ from: 105, to: 105 }]);
  expect(layoutColumns(segmentsOnDay([change], "2026-11-01"))).toHaveLength(1);
});

it("gives segments that do not overlap the full width", () => {
  expect(shape([segment("a", 9, 10), segment("b", 10, 11)])).toEqual({ a: [0, 1, 1], b: [0, 1, 1] });
});

it("places overlapping segments side by side and fills free columns", () => {
  expect(shape([segment("soccer", 14, 15), segment("dentist", 14.5, 15.5)])).toEqual({ soccer: [0, 2, 1], dentist: [1, 2, 1] });
  // Three overlap; the fourth has two free columns.
  expect(shape([segment("long", 9, 12), segment("b", 9, 10), segment("c", 9, 10), segment("d", 10, 11)])).toEqual({ long: [0, 3, 1], b: [1, 3, 1], c: [2, 3, 1], d: [1, 3, 2] });
});

it("reserves the minimum height for short segments", () => {
  expect(shape([segment("call", 9, 9.1), segment("mail", 9.25, 10)])).toEqual({ call: [0, 2, 1], mail: [1, 2, 1] });
});

it("never overlaps two segments", () => {
  let seed = 7;
  const random = (limit: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % limit;
  for (let round = 0; round < 200; round++) {
    const segments = Array.from({ length: 12 }, (_, index) => {
      const from = random(96) * 15;
      return { item: String(index), day: "2026-01-10", from, to: Math.min(1440, from + 15 + random(12) * 15), isFirst: true, isLast: true };
    });
    const positioned = layoutColumns(segments);
    expect(positioned).toHaveLength(segments.length);
    const overlaps = (one: PositionedSegment<string>, other: PositionedSegment<string>) =>
      one !== other && one.from < other.to && other.from < one.to && !(one.columns === other.columns && (one.column + one.span <= other.column || other.column + other.span <= one.column));
    expect(positioned.filter((one) => positioned.some((other) => overlaps(one, other)) || one.column + one.span > one.columns)).toEqual([]);
  }
});

it("places long items in lanes", () => {
  const trip = at("trip", "07T00:00", "10T00:00", true);
  const fair = at("fair", "09T09:00", "11T09:00");
  const day = at("day", "10T00:00", "11T00:00", true);
  expect([trip, fair, day, at("soccer", "10T14:00", "10T15:00")].map(isAllDayOrLonger)).toEqual([true, true, true, false]);
  const lanes = layoutLanes([day, fair, trip], ["2026-01-08", "2026-01-09", "2026-01-10"]);
  expect(lanes.map(({ item, day: on, lane, isFirst, isLast }) => [item.name, on.slice(8), lane, isFirst, isLast])).toEqual([
    ["trip", "08", 0, false, false], ["trip", "09", 0, false, true],
    ["fair", "09", 1, true, false], ["fair", "10", 1, false, false],
    ["day", "10", 0, true, true],
  ]);
});

it("sorts the items of a day by length, then by time", () => {
  const all = [at("late", "10T18:00", "10T19:00"), at("early", "10T09:00", "10T10:00"), at("day", "10T00:00", "11T00:00", true), at("other", "11T09:00", "11T10:00")];
  expect(itemsOnDay(all, "2026-01-10").map(({ name }) => name)).toEqual(["day", "early", "late"]);
});

it("extends the default hours to include all segments", () => {
  expect(visibleHours([])).toEqual([8, 20]);
  expect(visibleHours([{ from: 390, to: 420 }, { from: 1290, to: 1350 }])).toEqual([6, 23]);
  expect(visibleHours([{ from: 1430, to: 1440 }])).toEqual([8, 24]);
});
