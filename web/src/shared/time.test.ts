import { expect, it } from "vitest";
import { formatDuration, formatRelative, toTimestamp } from "./time";

const MINUTE = 60_000;

it("formats relative times in the largest unit", () => {
  const cases: [number, string][] = [
    [30_000, "in less than a minute"], [-30_000, "just now"], [MINUTE, "in 1 minute"], [59 * MINUTE, "in 59 minutes"], [-90 * MINUTE, "1 hour ago"],
    [23 * 60 * MINUTE, "in 23 hours"], [71 * 60 * MINUTE, "in 2 days"], [-7 * 24 * 60 * MINUTE, "7 days ago"],
  ];
  for (const [difference, expected] of cases) expect(formatRelative(1_000_000_000 + difference, 1_000_000_000)).toBe(expected);
});

it("parses times and formats durations", () => {
  expect(toTimestamp("2026-01-01T00:00:00Z")).toBe(1_767_225_600_000);
  for (const time of [null, undefined, "never"]) expect(toTimestamp(time)).toBeUndefined();
  expect([formatDuration(12.4), formatDuration(1_440)]).toEqual(["12 ms", "1.4 s"]);
});
