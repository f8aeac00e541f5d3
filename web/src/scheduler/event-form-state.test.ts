import { expect, it } from "vitest";
import { formValuesOf, toEventPatch, validateForm, withSeriesScope, withStart } from "./event-form-state";
import type { EventInstance } from "./types";

const ZONE = "America/New_York";
const soccer: EventInstance = {
  event_id: "soccer", title: "Soccer", start: "2026-03-07T14:00:00-05:00", end: "2026-03-07T15:00:00-05:00", is_all_day: false, is_busy: false, is_tentative: false, status: "confirmed",
  participants: [{ id: "emma", name: "Emma", is_required: true }], resources: [{ id: "car", name: "car" }], location: null, notes: "", recurrence_rule: "RRULE:FREQ=WEEKLY;BYDAY=SA",
  occurrence: "2026-03-07T14:00:00", priority: "medium", flexibility: null, may_change: true,
};
const holiday: EventInstance = { ...soccer, title: "Holiday", start: "2026-03-07T00:00:00-05:00", end: "2026-03-09T00:00:00-04:00", is_all_day: true };

it("sends only changed fields", () => {
  const values = formValuesOf(soccer);
  expect(toEventPatch(soccer, values, ZONE)).toBeUndefined();
  expect(toEventPatch(soccer, { ...values, title: " Football ", notes: "Boots" }, ZONE)).toEqual({ title: "Football", notes: "Boots" });
  expect(toEventPatch(soccer, { ...values, rule: "" }, ZONE)).toEqual({ recurrence_rule: null });
  expect(toEventPatch(soccer, { ...values, people: [], resources: ["van"] }, ZONE)).toEqual({ participants: [], resources: ["van"] });
});

it("uses the offset of the new day", () => {
  expect(toEventPatch(soccer, withStart(formValuesOf(soccer), "2026-03-08", "14:00"), ZONE)).toEqual({ start: "2026-03-08T14:00:00-04:00", end: "2026-03-08T15:00:00-04:00" });
});

it("moves the end with the start, also over midnight", () => {
  expect(withStart(formValuesOf(soccer), "2026-03-07", "23:30")).toMatchObject({ endDay: "2026-03-08", endTime: "00:30" });
  const late = withStart(formValuesOf(soccer), "2026-03-07", "23:30");
  expect(withStart(late, "2026-03-07", "14:00")).toMatchObject({ endDay: "2026-03-07", endTime: "15:00" });
  expect(withStart(formValuesOf(soccer), "", "14:00")).toMatchObject({ startDay: "", endDay: "2026-03-07" });
});

it("shows the last day of an all-day event as its end", () => {
  expect(formValuesOf(holiday)).toMatchObject({ startDay: "2026-03-07", endDay: "2026-03-08" });
  expect(toEventPatch(holiday, { ...formValuesOf(holiday), endDay: "2026-03-09" }, ZONE)).toEqual({ start: "2026-03-07T00:00:00-05:00", end: "2026-03-10T00:00:00-04:00" });
  expect(toEventPatch(holiday, formValuesOf(holiday), ZONE)).toBeUndefined();
});

it("validates the form", () => {
  const values = formValuesOf(soccer);
  expect(validateForm(values, false)).toBeUndefined();
  expect(validateForm({ ...values, title: " " }, false)).toBe("noTitle");
  expect(validateForm({ ...values, startDay: "" }, false)).toBe("noDay");
  expect(validateForm({ ...values, endTime: "14:00" }, false)).toBe("endFirst");
  expect(validateForm({ ...formValuesOf(holiday), endDay: "2026-03-06" }, true)).toBe("endFirst");
});

it("adds the series scope only to recurring events", () => {
  expect(withSeriesScope(soccer, { title: "x" }, "following")).toEqual({ title: "x", which: "following", occurrence: "2026-03-07T14:00:00" });
  expect(withSeriesScope({ ...soccer, recurrence_rule: null, occurrence: null }, { title: "x" }, "this")).toEqual({ title: "x" });
});
