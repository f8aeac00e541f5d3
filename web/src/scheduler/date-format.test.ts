import { expect, it } from "vitest";
import { formatDayLong, formatDayShort, formatDuration, formatRange, formatTime, formatTimeRange, formatWeek, joinNames, relativeDay } from "./date-format";
import { daysOfWeek } from "./local-time";

it("formats times like the server", () => {
  expect([formatTime(0), formatTime(845), formatTime(720), formatTime(840, true), formatTime(870, true)]).toEqual(["12:00 am", "2:05 pm", "12:00 pm", "2 pm", "2:30 pm"]);
  expect(formatTimeRange(840, 900)).toBe("2 – 3 pm");
  expect(formatTimeRange(660, 750)).toBe("11 am – 12:30 pm");
  expect(formatTimeRange(23 * 60, 24 * 60)).toBe("11 pm – 12 am");
});

it("formats days and ranges", () => {
  expect([formatDayShort("2026-01-10"), formatDayLong("2026-01-10")]).toEqual(["Sat 10 Jan", "Saturday 10 January"]);
  expect(formatRange("2026-01-10T14:00:00-05:00", "2026-01-10T15:00:00-05:00")).toBe("Sat 10 Jan, 2 – 3 pm");
  expect(formatRange("2026-01-10T22:00:00-05:00", "2026-01-11T00:00:00-05:00")).toBe("Sat 10 Jan, 10 pm – 12 am");
  expect(formatRange("2026-01-10T22:00:00-05:00", "2026-01-11T01:00:00-05:00")).toBe("Sat 10 Jan, 10 pm – Sun 11 Jan, 1 am");
  expect(formatRange("2026-01-10T00:00:00-05:00", "2026-01-11T00:00:00-05:00", true)).toBe("Sat 10 Jan");
  expect(formatRange("2026-01-10T00:00:00-05:00", "2026-01-12T00:00:00-05:00", true)).toBe("Sat 10 Jan – Sun 11 Jan");
  expect(formatWeek(daysOfWeek("2026-01-08", "monday"))).toBe("5 – 11 January 2026");
  expect(formatWeek(daysOfWeek("2026-01-01", "monday"))).toBe("29 December – 4 January 2026");
});

it("formats durations, names and relative days", () => {
  expect([formatDuration(60), formatDuration(90), formatDuration(1440), formatDuration(0)]).toEqual(["1 hour", "1 hour 30 minutes", "1 day", "0 minutes"]);
  expect([joinNames([]), joinNames(["Mom"]), joinNames(["Mom", "Dad", "Emma"])]).toEqual(["", "Mom", "Mom, Dad and Emma"]);
  expect([relativeDay("2026-01-08", "2026-01-08"), relativeDay("2026-01-09", "2026-01-08"), relativeDay("2026-01-20", "2026-01-08")]).toEqual(["today", "tomorrow", undefined]);
});
