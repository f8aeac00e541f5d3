import { expect, it } from "vitest";
import { applyPatchToResponse, clarificationReply, correctionScope, correctionToPatch, correctionToReply, correctSentence, type NameLookup, responseEvent, toChips } from "./parsed-chips";
import type { NlParserData, ParsedSpan, WorkflowResponse } from "./types";

const ZONE = "America/New_York";
const names: NameLookup = { of: (id) => ({ emma: "Emma", dad: "Dad", car: "car" })[id] ?? id, word: (_, value) => value };
const soccer: NlParserData = {
  event_type: "create", title: "Soccer practice", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00",
  participants: ["emma"], resources: ["car"],
};
const SENTENCE = "Schedule soccer practice for Emma Saturday at 2pm with the car";
const found: ParsedSpan[] = [
  { part: "intent", text: "Schedule", value: "create" }, { part: "title", text: "soccer practice", value: "Soccer practice" },
  { part: "people", text: "Emma", value: "emma" }, { part: "date", text: "Saturday", value: "2026-01-10" },
  { part: "time", text: "at 2pm", value: "14:00" }, { part: "resources", text: "car", value: "car" },
];

it("returns chips in a fixed order, including addable parts", () => {
  expect(toChips(soccer, found, names).map(({ part, label, isAddable: isMore }) => [part, label, isMore])).toEqual([
    ["intent", "create", false], ["title", "Soccer practice", false], ["date", "Sat 10 Jan", false], ["time", "2 – 3 pm", false],
    ["people", "Emma", false], ["resources", "car", false], ["recurrence", "", true],
  ]);
});

it("returns no addable parts for a query and formats its date range", () => {
  const query: NlParserData = { event_type: "query", start_time: "2026-01-10T00:00:00-05:00", end_time: "2026-01-12T00:00:00-05:00" };
  expect(toChips(query, [{ part: "date", text: "this weekend" }], names).map(({ label }) => label)).toEqual(["Sat 10 Jan – Sun 11 Jan"]);
});

it("keeps the words of unknown parts", () => {
  expect(toChips({ event_type: "cancel" }, [{ part: "scope", text: "all of them" }], names)).toEqual([{ part: "scope", label: "all of them", texts: ["all of them"], isAddable: false }]);
});

it("converts a correction into clarification fields", () => {
  expect(correctionToReply({ part: "date", day: "2026-01-11" }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-11T14:00:00-05:00", end_time: "2026-01-11T15:00:00-05:00" } });
  expect(correctionToReply({ part: "time", from: 930 }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-10T15:30:00-05:00", end_time: "2026-01-10T16:30:00-05:00" } });
  expect(correctionToReply({ part: "time", from: 1_380, to: 60 }, soccer, names, ZONE)).toEqual({ fields: { start_time: "2026-01-10T23:00:00-05:00", end_time: "2026-01-11T01:00:00-05:00" } });
  expect(correctionToReply({ part: "people", ids: ["dad"] }, soccer, names, ZONE)).toEqual({ fields: { participants: ["dad"] } });
  // Without a day, a time can only be sent as text.
  expect(correctionToReply({ part: "time", from: 930 }, { event_type: "create" }, names, ZONE)).toEqual({ text: "at 15:30" });
  expect(correctionToReply({ part: "recurrence", rule: "FREQ=WEEKLY;BYDAY=TU" }, soccer, names, ZONE)).toEqual({ text: "every Tuesday" });
});

it("converts a correction into a patch of an event", () => {
  const event = { start: soccer.start_time!, end: soccer.end_time! };
  expect(correctionToPatch({ part: "duration", minutes: 90 }, event, ZONE)).toEqual({ start: "2026-01-10T14:00:00-05:00", end: "2026-01-10T15:30:00-05:00" });
  // After the clock change the offset differs.
  expect(correctionToPatch({ part: "date", day: "2026-03-10" }, event, ZONE)).toEqual({ start: "2026-03-10T14:00:00-04:00", end: "2026-03-10T15:00:00-04:00" });
  expect(correctionToPatch({ part: "recurrence", rule: "" }, event, ZONE)).toEqual({ recurrence_rule: null });
  expect(correctionToPatch({ part: "words", of: "intent", words: "cancel" }, event, ZONE)).toBeUndefined();
});

it("converts a correction into a new sentence", () => {
  const correct = (texts: string[], correction: Parameters<typeof correctSentence>[2]) => correctSentence(SENTENCE, texts, correction, names);
  expect(correct(["Saturday"], { part: "date", day: "2026-01-11" })).toBe("Schedule soccer practice for Emma on 2026-01-11 at 2pm with the car");
  expect(correct(["2pm"], { part: "time", from: 930, to: 990 })).toBe("Schedule soccer practice for Emma Saturday from 15:30 to 16:30 with the car");
  expect(correct(["at 2pm"], { part: "time", from: 930 })).toBe("Schedule soccer practice for Emma Saturday at 15:30 with the car");
  expect(correct(["Emma"], { part: "people", ids: ["emma", "dad"] })).toBe("Schedule soccer practice for Emma and Dad Saturday at 2pm with the car");
  expect(correct(["car"], { part: "resources", ids: [] })).toBe("Schedule soccer practice for Emma Saturday at 2pm");
  expect(correct([], { part: "recurrence", rule: "FREQ=DAILY" })).toBe(`${SENTENCE} every day`);
  // Parts of words are not replaced.
  expect(correctSentence("Cartoons with the car", ["car"], { part: "resources", ids: ["dad"] }, names)).toBe("Cartoons with the Dad");
  expect(correctSentence("Lunch (if possible)? $1", ["(if possible)?"], { part: "words", of: "flexibility", words: "$& fixed" }, names)).toBe("Lunch $& fixed $1");
});

it("converts form values into a resume value", () => {
  const none = { title: "", day: "", from: "", to: "", words: "" };
  expect(clarificationReply(none, null, [], ZONE)).toBeUndefined();
  expect(clarificationReply({ ...none, day: "2026-01-11", from: "18:00", title: " Dinner " }, null, [], ZONE)).toEqual({ fields: { title: "Dinner", start_time: "2026-01-11T18:00:00-05:00" } });
  expect(clarificationReply({ ...none, from: "22:00", to: "01:00" }, soccer, [], ZONE)).toEqual({ fields: { start_time: "2026-01-10T22:00:00-05:00", end_time: "2026-01-11T01:00:00-05:00" } });
  expect(clarificationReply({ ...none, from: "18:00" }, { event_type: "create" }, [{ part: "date", text: "Sunday", value: "2026-01-11" }], ZONE)).toEqual({ fields: { start_time: "2026-01-11T18:00:00-05:00" } });
  expect(clarificationReply({ ...none, day: "2026-01-11" }, soccer, [], ZONE)).toEqual({ fields: { start_time: "2026-01-11T14:00:00-05:00" } });
  expect(clarificationReply({ ...none, day: "2026-01-11", words: "dinner with grandma" }, null, [], ZONE)).toEqual({ text: "on 2026-01-11 dinner with grandma" });
});

it("finds the event of a response", () => {
  const answer = (event: unknown) => ({ workflow_id: "conv_1", status: "completed", result: { event, action: "created" } }) as WorkflowResponse;
  expect(responseEvent(answer({ event_id: "e1", title: "Soccer", start: "a", end: "b", participants: [{ id: "emma" }] }))).toMatchObject({ id: "e1", start: "a", end: "b", participants: ["emma"] });
  expect(responseEvent(answer({ id: "e1", title: "Soccer", start_time: "a", end_time: "b", participants: ["emma"] }))).toMatchObject({ id: "e1", start: "a", participants: ["emma"] });
  expect(responseEvent(answer(null))).toBeUndefined();
});

it("applies a correction to the whole series or to an exception", () => {
  const actual = (more: object) => correctionScope({ title: "Choir", participants: [], ...more });
  expect(actual({})).toEqual({});
  const weekly = { rule: "FREQ=WEEKLY", occurrence: "2026-03-07T14:00:00" };
  expect(actual({ ...weekly, isException: false })).toEqual({ which: "all", occurrence: "2026-03-07T14:00:00" });
  expect(actual({ ...weekly, isException: true })).toEqual({});
});

it("applies a patch to a response", () => {
  const answer = {
    workflow_id: "conv_1", status: "completed", explanation: "Planned.", understood: { data: soccer, confidence: 0.95, found },
    result: { event: { event_id: "e1", title: "Soccer practice", start: soccer.start_time, end: soccer.end_time }, action: "created" },
  } as WorkflowResponse;
  const updated = applyPatchToResponse(answer, { part: "date", day: "2026-01-11" }, { start: "2026-01-11T14:00:00-05:00", end: "2026-01-11T15:00:00-05:00" }, "Changed.");
  expect(updated).toMatchObject({ explanation: "Changed.", result: { action: "changed" }, understood: { data: { start_time: "2026-01-11T14:00:00-05:00", title: "Soccer practice" } } });
  expect(responseEvent(updated)?.start).toBe("2026-01-11T14:00:00-05:00");
  const series = { title: "Soccer practice", start: "c", recurrence_rule: "FREQ=DAILY", occurrence: "d", is_exception: false };
  const actual = responseEvent(applyPatchToResponse(answer, { part: "recurrence", rule: "FREQ=DAILY" }, { recurrence_rule: "FREQ=DAILY" }, "", series));
  expect(actual).toMatchObject({ id: "e1", start: "c", rule: "FREQ=DAILY", occurrence: "d", isException: false });
  const weekly = applyPatchToResponse(answer, { part: "recurrence", rule: "FREQ=DAILY" }, { recurrence_rule: "FREQ=DAILY" }, "");
  expect(toChips(weekly.understood!.data, weekly.understood!.found, names).at(-1)).toMatchObject({ part: "recurrence", label: "every day", isAddable: false });
  const alone = applyPatchToResponse(answer, { part: "people", ids: [] }, { participants: [] }, "");
  expect(toChips(alone.understood!.data, alone.understood!.found, names).find(({ part }) => part === "people")?.isAddable).toBe(true);
});
