import { expect, it } from "vitest";
import { addressOf, moved, placeOf } from "./place";

it("an address says where one is, and nothing else", () => {
  expect(placeOf("")).toEqual({ view: "week", day: undefined, thread: undefined });
  expect(placeOf("?view=month&date=2026-01-10&thread=conv_1")).toEqual({ view: "month", day: "2026-01-10", thread: "conv_1" });
  expect(placeOf("?view=year&date=2026-02-30")).toEqual({ view: "week", day: undefined, thread: undefined });
  for (const search of ["", "?view=month", "?view=month&date=2026-01-10", "?date=2026-01-10&thread=conv_1"]) expect(addressOf(placeOf(search))).toBe(`/scheduler${search}`);
});

it("goes on by a week or a month", () => {
  expect([moved("week", "2026-01-08", 1), moved("week", "2026-01-01", -1)]).toEqual(["2026-01-15", "2025-12-25"]);
  expect([moved("month", "2026-01-31", 1), moved("month", "2026-01-31", -1)]).toEqual(["2026-02-01", "2025-12-01"]);
});
