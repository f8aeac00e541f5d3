import { expect, it } from "vitest";
import { changesOf, editedOf, ofSeries, withStart, wrongOf } from "./edited";
import type { Instance } from "./types";

const ZONE = "America/New_York";
const soccer: Instance = {
  event_id: "soccer", title: "Soccer", start: "2026-03-07T14:00:00-05:00", end: "2026-03-07T15:00:00-05:00", is_all_day: false, is_busy: false, is_tentative: false, status: "confirmed",
  participants: [{ id: "emma", name: "Emma", is_required: true }], resources: [{ id: "car", name: "car" }], location: null, notes: "", recurrence_rule: "RRULE:FREQ=WEEKLY;BYDAY=SA",
  occurrence: "2026-03-07T14:00:00", priority: "medium", flexibility: null, may_change: true,
};
const holiday: Instance = { ...soccer, title: "Holiday", start: "2026-03-07T00:00:00-05:00", end: "2026-03-09T00:00:00-04:00", is_all_day: true };

it("sends only what is different", () => {
  const edited = editedOf(soccer);
  expect(changesOf(soccer, edited, ZONE)).toBeUndefined();
  expect(changesOf(soccer, { ...edited, title: " Football ", notes: "Boots" }, ZONE)).toEqual({ title: "Football", notes: "Boots" });
  expect(changesOf(soccer, { ...edited, rule: "" }, ZONE)).toEqual({ recurrence_rule: null });
  expect(changesOf(soccer, { ...edited, people: [], resources: ["van"] }, ZONE)).toEqual({ participants: [], resources: ["van"] });
});

it("a new day has the offset that it has, not that of the old one", () => {
  expect(changesOf(soccer, withStart(editedOf(soccer), "2026-03-08", "14:00"), ZONE)).toEqual({ start: "2026-03-08T14:00:00-04:00", end: "2026-03-08T15:00:00-04:00" });
});

it("the end goes along with the start, also over midnight", () => {
  expect(withStart(editedOf(soccer), "2026-03-07", "23:30")).toMatchObject({ endDay: "2026-03-08", endTime: "00:30" });
  const late = withStart(editedOf(soccer), "2026-03-07", "23:30");
  expect(withStart(late, "2026-03-07", "14:00")).toMatchObject({ endDay: "2026-03-07", endTime: "15:00" });
  expect(withStart(editedOf(soccer), "", "14:00")).toMatchObject({ startDay: "", endDay: "2026-03-07" });
});

it("days end on their last day", () => {
  expect(editedOf(holiday)).toMatchObject({ startDay: "2026-03-07", endDay: "2026-03-08" });
  expect(changesOf(holiday, { ...editedOf(holiday), endDay: "2026-03-09" }, ZONE)).toEqual({ start: "2026-03-07T00:00:00-05:00", end: "2026-03-10T00:00:00-04:00" });
  expect(changesOf(holiday, editedOf(holiday), ZONE)).toBeUndefined();
});

it("says what is wrong before anything is sent", () => {
  const edited = editedOf(soccer);
  expect(wrongOf(edited, false)).toBeUndefined();
  expect(wrongOf({ ...edited, title: " " }, false)).toBe("noTitle");
  expect(wrongOf({ ...edited, startDay: "" }, false)).toBe("noDay");
  expect(wrongOf({ ...edited, endTime: "14:00" }, false)).toBe("endFirst");
  expect(wrongOf({ ...editedOf(holiday), endDay: "2026-03-06" }, true)).toBe("endFirst");
});

it("names which of a series is meant, and only there", () => {
  expect(ofSeries(soccer, { title: "x" }, "following")).toEqual({ title: "x", which: "following", occurrence: "2026-03-07T14:00:00" });
  expect(ofSeries({ ...soccer, recurrence_rule: null, occurrence: null }, { title: "x" }, "this")).toEqual({ title: "x" });
});
