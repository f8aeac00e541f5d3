import { expect, it } from "vitest";
import { fromNow, timeOf, took } from "./time";

const MINUTE = 60_000;

it("says how far away a time is, in the largest unit that fits", () => {
  const cases: [number, string][] = [
    [30_000, "in less than a minute"], [-30_000, "just now"], [MINUTE, "in 1 minute"], [59 * MINUTE, "in 59 minutes"], [-90 * MINUTE, "1 hour ago"],
    [23 * 60 * MINUTE, "in 23 hours"], [71 * 60 * MINUTE, "in 2 days"], [-7 * 24 * 60 * MINUTE, "7 days ago"],
  ];
  for (const [away, words] of cases) expect(fromNow(1_000_000_000 + away, 1_000_000_000)).toBe(words);
});

it("reads times and lengths of time", () => {
  expect(timeOf("2026-01-01T00:00:00Z")).toBe(1_767_225_600_000);
  for (const time of [null, undefined, "never"]) expect(timeOf(time)).toBeUndefined();
  expect([took(12.4), took(1_440)]).toEqual(["12 ms", "1.4 s"]);
});
