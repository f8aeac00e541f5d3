import { expect, it } from "vitest";
import { amended, chipsOf, corrected, eventOf, filledReply, patchOf, replyOf, scopeOf, type Names } from "./chips";
import type { Answer, Found, Parsed } from "./types";

const ZONE = "America/New_York";
const names: Names = { of: (id) => ({ emma: "Emma", dad: "Dad", car: "car" })[id] ?? id, word: (_, value) => value };
const soccer: Parsed = {
  event_type: "create", title: "Soccer practice", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00",
  participants: ["emma"], resources: ["car"],
};
const SAID = "Schedule soccer practice for Emma Saturday at 2pm with the car";
const found: Found[] = [
  { part: "intent", text: "Schedule", value: "create" }, { part: "title", text: "soccer practice", value: "Soccer practice" },
  { part: "people", text: "Emma", value: "emma" }, { part: "date", text: "Saturday", value: "2026-01-10" },
  { part: "time", text: "at 2pm", value: "14:00" }, { part: "resources", text: "car", value: "car" },
];

it("shows what was understood in one order, with what may be added", () => {
  expect(chipsOf(soccer, found, names).map(({ part, label, isMore }) => [part, label, isMore])).toEqual([
    ["intent", "create", false], ["title", "Soccer practice", false], ["date", "Sat 10 Jan", false], ["time", "2 – 3 pm", false],
    ["people", "Emma", false], ["resources", "car", false], ["recurrence", "", true],
  ]);
});

it("a question has nothing to add, and its days are a stretch", () => {
  const query: Parsed = { event_type: "query", start_time: "2026-01-10T00:00:00-05:00", end_time: "2026-01-12T00:00:00-05:00" };
  expect(chipsOf(query, [{ part: "date", text: "this weekend" }], names).map(({ label }) => label)).toEqual(["Sat 10 Jan – Sun 11 Jan"]);
});

it("what it does not know is shown as it was said", () => {
  expect(chipsOf({ event_type: "cancel" }, [{ part: "scope", text: "all of them" }], names)).toEqual([{ part: "scope", label: "all of them", texts: ["all of them"], isMore: false }]);
});

it("a correction becomes the fields of a clarification", () => {
  expect(replyOf({ part: "date", day: "2026-01-11" }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-11T14:00:00-05:00", end_time: "2026-01-11T15:00:00-05:00" } });
  expect(replyOf({ part: "time", from: 930 }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-10T15:30:00-05:00", end_time: "2026-01-10T16:30:00-05:00" } });
  expect(replyOf({ part: "time", from: 1_380, to: 60 }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-10T23:00:00-05:00", end_time: "2026-01-11T01:00:00-05:00" } });
  expect(replyOf({ part: "people", ids: ["dad"] }, soccer, names, ZONE)).toEqual({ fields: { participants: ["dad"] } });
  // Without a day a time can only be said.
  expect(replyOf({ part: "time", from: 930 }, { event_type: "create" }, names, ZONE)).toEqual({ text: "at 15:30" });
  expect(replyOf({ part: "recurrence", rule: "FREQ=WEEKLY;BYDAY=TU" }, soccer, names, ZONE)).toEqual({ text: "every Tuesday" });
});

it("a correction becomes a change of the event that is there", () => {
  const event = { start: soccer.start_time!, end: soccer.end_time! };
  expect(patchOf({ part: "duration", minutes: 90 }, event, ZONE)).toEqual({ start: "2026-01-10T14:00:00-05:00", end: "2026-01-10T15:30:00-05:00" });
  // A day after the clock changed has another offset.
  expect(patchOf({ part: "date", day: "2026-03-10" }, event, ZONE)).toEqual({ start: "2026-03-10T14:00:00-04:00", end: "2026-03-10T15:00:00-04:00" });
  expect(patchOf({ part: "recurrence", rule: "" }, event, ZONE)).toEqual({ recurrence_rule: null });
  expect(patchOf({ part: "words", of: "intent", words: "cancel" }, event, ZONE)).toBeUndefined();
});

it("a correction becomes a changed sentence", () => {
  const with_ = (texts: string[], correction: Parameters<typeof corrected>[2]) => corrected(SAID, texts, correction, names);
  expect(with_(["Saturday"], { part: "date", day: "2026-01-11" })).toBe("Schedule soccer practice for Emma on 2026-01-11 at 2pm with the car");
  expect(with_(["2pm"], { part: "time", from: 930, to: 990 })).toBe("Schedule soccer practice for Emma Saturday from 15:30 to 16:30 with the car");
  expect(with_(["at 2pm"], { part: "time", from: 930 })).toBe("Schedule soccer practice for Emma Saturday at 15:30 with the car");
  expect(with_(["Emma"], { part: "people", ids: ["emma", "dad"] })).toBe("Schedule soccer practice for Emma and Dad Saturday at 2pm with the car");
  expect(with_(["car"], { part: "resources", ids: [] })).toBe("Schedule soccer practice for Emma Saturday at 2pm");
  expect(with_([], { part: "recurrence", rule: "FREQ=DAILY" })).toBe(`${SAID} every day`);
  // Words that only stand inside of others are left alone.
  expect(corrected("Cartoons with the car", ["car"], { part: "resources", ids: ["dad"] }, names)).toBe("Cartoons with the Dad");
  expect(corrected("Lunch (if possible)? $1", ["(if possible)?"], { part: "words", of: "flexibility", words: "$& fixed" }, names)).toBe("Lunch $& fixed $1");
});

it("a filled form becomes an answer, in fields where they can say it", () => {
  const none = { title: "", day: "", from: "", to: "", words: "" };
  expect(filledReply(none, null, [], ZONE)).toBeUndefined();
  expect(filledReply({ ...none, day: "2026-01-11", from: "18:00", title: " Dinner " }, null, [], ZONE)).toEqual({ fields: { title: "Dinner", start_time: "2026-01-11T18:00:00-05:00" } });
  expect(filledReply({ ...none, from: "22:00", to: "01:00" }, soccer, [], ZONE)).toEqual({ fields: { start_time: "2026-01-10T22:00:00-05:00", end_time: "2026-01-11T01:00:00-05:00" } });
  expect(filledReply({ ...none, from: "18:00" }, { event_type: "create" }, [{ part: "date", text: "Sunday", value: "2026-01-11" }], ZONE)).toEqual({ fields: { start_time: "2026-01-11T18:00:00-05:00" } });
  expect(filledReply({ ...none, day: "2026-01-11" }, soccer, [], ZONE)).toEqual({ fields: { start_time: "2026-01-11T14:00:00-05:00" } });
  expect(filledReply({ ...none, day: "2026-01-11", words: "dinner with grandma" }, null, [], ZONE)).toEqual({ text: "on 2026-01-11 dinner with grandma" });
});

it("finds the event of an answer", () => {
  const answer = (event: unknown) => ({ workflow_id: "conv_1", status: "completed", result: { event, action: "created" } }) as Answer;
  expect(eventOf(answer({ event_id: "e1", title: "Soccer", start: "a", end: "b", participants: [{ id: "emma" }] }))).toMatchObject({ id: "e1", start: "a", end: "b", participants: ["emma"] });
  expect(eventOf(answer({ id: "e1", title: "Soccer", start_time: "a", end_time: "b", participants: ["emma"] }))).toMatchObject({ id: "e1", start: "a", participants: ["emma"] });
  expect(eventOf(answer(null))).toBeUndefined();
});

it("a correction is of all of a series, or of the one that was changed by itself", () => {
  const told = (more: object) => scopeOf({ title: "Choir", participants: [], ...more });
  expect(told({})).toEqual({});
  const weekly = { rule: "FREQ=WEEKLY", occurrence: "2026-03-07T14:00:00" };
  expect(told({ ...weekly, isException: false })).toEqual({ which: "all", occurrence: "2026-03-07T14:00:00" });
  expect(told({ ...weekly, isException: true })).toEqual({});
});

it("an answer says what its event has become", () => {
  const answer = {
    workflow_id: "conv_1", status: "completed", explanation: "Planned.", understood: { data: soccer, confidence: 0.95, found },
    result: { event: { event_id: "e1", title: "Soccer practice", start: soccer.start_time, end: soccer.end_time }, action: "created" },
  } as Answer;
  const later = amended(answer, { part: "date", day: "2026-01-11" }, { start: "2026-01-11T14:00:00-05:00", end: "2026-01-11T15:00:00-05:00" }, "Changed.");
  expect(later).toMatchObject({ explanation: "Changed.", result: { action: "changed" }, understood: { data: { start_time: "2026-01-11T14:00:00-05:00", title: "Soccer practice" } } });
  expect(eventOf(later)?.start).toBe("2026-01-11T14:00:00-05:00");
  const series = { title: "Soccer practice", start: "c", recurrence_rule: "FREQ=DAILY", occurrence: "d", is_exception: false };
  const told = eventOf(amended(answer, { part: "recurrence", rule: "FREQ=DAILY" }, { recurrence_rule: "FREQ=DAILY" }, "", series));
  expect(told).toMatchObject({ id: "e1", start: "c", rule: "FREQ=DAILY", occurrence: "d", isException: false });
  const weekly = amended(answer, { part: "recurrence", rule: "FREQ=DAILY" }, { recurrence_rule: "FREQ=DAILY" }, "");
  expect(chipsOf(weekly.understood!.data, weekly.understood!.found, names).at(-1)).toMatchObject({ part: "recurrence", label: "every day", isMore: false });
  const alone = amended(answer, { part: "people", ids: [] }, { participants: [] }, "");
  expect(chipsOf(alone.understood!.data, alone.understood!.found, names).find(({ part }) => part === "people")?.isMore).toBe(true);
});
