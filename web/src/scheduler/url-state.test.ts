import { expect, it } from "vitest";
import { formatUrlState, parseUrlState, shiftDay } from "./url-state";

it("parses and formats the URL state", () => {
  expect(parseUrlState("")).toEqual({ view: "week", day: undefined, thread: undefined });
  expect(parseUrlState("?view=month&date=2026-01-10&thread=conv_1")).toEqual({ view: "month", day: "2026-01-10", thread: "conv_1" });
  expect(parseUrlState("?view=year&date=2026-02-30")).toEqual({ view: "week", day: undefined, thread: undefined });
  for (const search of ["", "?view=month", "?view=month&date=2026-01-10", "?date=2026-01-10&thread=conv_1"]) expect(formatUrlState(parseUrlState(search))).toBe(`/scheduler${search}`);
});

it("shifts by a week or a month", () => {
  expect([shiftDay("week", "2026-01-08", 1), shiftDay("week", "2026-01-01", -1)]).toEqual(["2026-01-15", "2025-12-25"]);
  expect([shiftDay("month", "2026-01-31", 1), shiftDay("month", "2026-01-31", -1)]).toEqual(["2026-02-01", "2025-12-01"]);
});
