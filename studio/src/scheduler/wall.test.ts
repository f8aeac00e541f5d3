import { expect, it } from "vitest";
import { addDays, addMonths, daysBetween, isDay, later, minutesOf, momentOf, monthOf, timeField, wallOf, weekdayOf, weekOf, written } from "./wall";

it("takes the wall from the text, whatever zone the browser is in", () => {
  expect(wallOf("2026-01-10T14:05:00-05:00")).toEqual({ day: "2026-01-10", minutes: 845 });
  expect(wallOf("2026-01-10T23:30:00+13:45")).toEqual({ day: "2026-01-10", minutes: 1410 });
  expect(wallOf("2026-01-10T14:05")).toEqual({ day: "2026-01-10", minutes: 845 });
  expect(wallOf("2026-01-10")).toEqual({ day: "2026-01-10", minutes: 0 });
  expect(momentOf("2026-01-10T14:00:00-05:00")).toBe(momentOf("2026-01-10T19:00:00Z"));
});

it("counts days over months, leap years and changes of the clock", () => {
  expect(addDays("2026-01-31", 1)).toBe("2026-02-01");
  expect(addDays("2028-02-28", 1)).toBe("2028-02-29");
  expect(addDays("2026-03-08", 1)).toBe("2026-03-09");
  expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
  expect(daysBetween("2026-03-01", "2026-04-01")).toBe(31);
  expect(addMonths("2026-01-31", 1)).toBe("2026-02-28");
  expect(addMonths("2026-01-15", -1)).toBe("2025-12-15");
  expect(addMonths("2026-11-30", 3)).toBe("2027-02-28");
});

it("weeks start as the family says", () => {
  expect(weekdayOf("2026-01-10")).toBe(6);
  expect(weekOf("2026-01-08", "monday")).toEqual(["05", "06", "07", "08", "09", "10", "11"].map((date) => `2026-01-${date}`));
  expect(weekOf("2026-01-08", "sunday")[0]).toBe("2026-01-04");
  expect(weekOf("2026-01-08", "saturday")[0]).toBe("2026-01-03");
  expect(weekOf("2026-01-04", "sunday")[0]).toBe("2026-01-04");
});

it("a month has the weeks that it touches and no more", () => {
  const january = monthOf("2026-01-08", "monday");
  expect([january[0]![0], january.at(-1)!.at(-1), january.length]).toEqual(["2025-12-29", "2026-02-01", 5]);
  // 28 days that begin with the week.
  expect(monthOf("2027-02-10", "monday")).toHaveLength(4);
  expect(monthOf("2026-08-10", "monday")).toHaveLength(6);
});

it("tells what the wall shows a while later", () => {
  expect(later("2026-01-08T15:30:50-05:00", 15_000)).toEqual({ day: "2026-01-08", minutes: 931 });
  expect(later("2026-01-08T23:59:00-05:00", 60_000)).toEqual({ day: "2026-01-09", minutes: 0 });
});

it("knows days and times of forms", () => {
  expect(["2026-02-28", "2026-02-30", "2026-2-3", "", "x"].map(isDay)).toEqual([true, false, false, false, false]);
  expect([timeField(0), timeField(845)]).toEqual(["00:00", "14:05"]);
  expect([minutesOf("14:05"), minutesOf(""), minutesOf("7:1")]).toEqual([845, undefined, undefined]);
});

it("writes a time with the offset that its zone has then", () => {
  expect(written("2026-03-03", 17 * 60, "America/New_York")).toBe("2026-03-03T17:00:00-05:00");
  expect(written("2026-03-10", 17 * 60, "America/New_York")).toBe("2026-03-10T17:00:00-04:00");
  expect(written("2026-01-10", 0, "Asia/Kolkata")).toBe("2026-01-10T00:00:00+05:30");
  expect(written("2026-01-10", 90, "UTC")).toBe("2026-01-10T01:30:00+00:00");
  // Does not exist: on by the gap. There twice: the first.
  expect(written("2026-03-08", 150, "America/New_York")).toBe("2026-03-08T03:30:00-04:00");
  expect(written("2026-11-01", 90, "America/New_York")).toBe("2026-11-01T01:30:00-04:00");
  // Right beside the change.
  expect(written("2026-11-01", 180, "America/New_York")).toBe("2026-11-01T03:00:00-05:00");
  expect(written("2026-03-08", 60, "America/New_York")).toBe("2026-03-08T01:00:00-05:00");
  // A day that a zone left out altogether.
  expect(written("2011-12-31", 600, "Pacific/Apia")).toBe("2011-12-31T10:00:00+14:00");
});
