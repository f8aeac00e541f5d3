import { expect, it } from "vitest";
import { addDays, addElapsed, addMonths, daysBetween, daysOfWeek, formatTimeField, isDay, parseTimeField, toIsoWithOffset, toLocalTime, toTimestamp, weekdayOf, weeksOfMonth } from "./local-time";

it("parses local times independent of the browser's time zone", () => {
  expect(toLocalTime("2026-01-10T14:05:00-05:00")).toEqual({ day: "2026-01-10", minutes: 845 });
  expect(toLocalTime("2026-01-10T23:30:00+13:45")).toEqual({ day: "2026-01-10", minutes: 1410 });
  expect(toLocalTime("2026-01-10T14:05")).toEqual({ day: "2026-01-10", minutes: 845 });
  expect(toLocalTime("2026-01-10")).toEqual({ day: "2026-01-10", minutes: 0 });
  expect(toTimestamp("2026-01-10T14:00:00-05:00")).toBe(toTimestamp("2026-01-10T19:00:00Z"));
});

it("adds days across months, leap years and clock changes", () => {
  expect(addDays("2026-01-31", 1)).toBe("2026-02-01");
  expect(addDays("2028-02-28", 1)).toBe("2028-02-29");
  expect(addDays("2026-03-08", 1)).toBe("2026-03-09");
  expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
  expect(daysBetween("2026-03-01", "2026-04-01")).toBe(31);
  expect(addMonths("2026-01-31", 1)).toBe("2026-02-28");
  expect(addMonths("2026-01-15", -1)).toBe("2025-12-15");
  expect(addMonths("2026-11-30", 3)).toBe("2027-02-28");
});

it("starts weeks on the configured weekday", () => {
  expect(weekdayOf("2026-01-10")).toBe(6);
  expect(daysOfWeek("2026-01-08", "monday")).toEqual(["05", "06", "07", "08", "09", "10", "11"].map((date) => `2026-01-${date}`));
  expect(daysOfWeek("2026-01-08", "sunday")[0]).toBe("2026-01-04");
  expect(daysOfWeek("2026-01-08", "saturday")[0]).toBe("2026-01-03");
  expect(daysOfWeek("2026-01-04", "sunday")[0]).toBe("2026-01-04");
});

it("returns the weeks that overlap a month", () => {
  const january = weeksOfMonth("2026-01-08", "monday");
  expect([january[0]![0], january.at(-1)!.at(-1), january.length]).toEqual(["2025-12-29", "2026-02-01", 5]);
  // 28 days that start on the first day of a week.
  expect(weeksOfMonth("2027-02-10", "monday")).toHaveLength(4);
  expect(weeksOfMonth("2026-08-10", "monday")).toHaveLength(6);
});

it("adds elapsed time", () => {
  expect(addElapsed("2026-01-08T15:30:50-05:00", 15_000)).toEqual({ day: "2026-01-08", minutes: 931 });
  expect(addElapsed("2026-01-08T23:59:00-05:00", 60_000)).toEqual({ day: "2026-01-09", minutes: 0 });
});

it("parses and formats days and time fields", () => {
  expect(["2026-02-28", "2026-02-30", "2026-2-3", "", "x"].map(isDay)).toEqual([true, false, false, false, false]);
  expect([formatTimeField(0), formatTimeField(845)]).toEqual(["00:00", "14:05"]);
  expect([parseTimeField("14:05"), parseTimeField(""), parseTimeField("7:1")]).toEqual([845, undefined, undefined]);
});

it("formats a time with the offset of its time zone", () => {
  expect(toIsoWithOffset("2026-03-03", 17 * 60, "America/New_York")).toBe("2026-03-03T17:00:00-05:00");
  expect(toIsoWithOffset("2026-03-10", 17 * 60, "America/New_York")).toBe("2026-03-10T17:00:00-04:00");
  expect(toIsoWithOffset("2026-01-10", 0, "Asia/Kolkata")).toBe("2026-01-10T00:00:00+05:30");
  expect(toIsoWithOffset("2026-01-10", 90, "UTC")).toBe("2026-01-10T01:30:00+00:00");
  // A skipped time moves forward by the gap. A repeated time is the first one.
  expect(toIsoWithOffset("2026-03-08", 150, "America/New_York")).toBe("2026-03-08T03:30:00-04:00");
  expect(toIsoWithOffset("2026-11-01", 90, "America/New_York")).toBe("2026-11-01T01:30:00-04:00");
  // Close to the change.
  expect(toIsoWithOffset("2026-11-01", 180, "America/New_York")).toBe("2026-11-01T03:00:00-05:00");
  expect(toIsoWithOffset("2026-03-08", 60, "America/New_York")).toBe("2026-03-08T01:00:00-05:00");
  // A day next to one that the time zone skipped.
  expect(toIsoWithOffset("2011-12-31", 600, "Pacific/Apia")).toBe("2011-12-31T10:00:00+14:00");
});
