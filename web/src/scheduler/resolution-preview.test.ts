import { expect, it } from "vitest";
import type { EventInstance, NlParserData, PendingInterrupt, ProposedResolution } from "./types";
import { choiceToReply, missingFields, previewResolution, sortedResolutions } from "./resolution-preview";

const soccer: NlParserData = { event_type: "create", title: "Soccer practice", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00", participants: ["emma"] };
const dentist = { event_id: "dentist", title: "Dentist", start: "2026-01-10T14:30:00-05:00", end: "2026-01-10T15:30:00-05:00", is_tentative: false, participants: [{ id: "emma", name: "Emma", is_required: true }] } as EventInstance;
const resolution = (changes: ProposedResolution["changes"], resolution_id = "res_1"): ProposedResolution => ({
  resolution_id, description: "", strategy: "move_event", score: 0.9, changes, conflicts_resolved: [], side_effects: [],
});
const waiting = (more: Partial<PendingInterrupt>): PendingInterrupt => ({ question_id: "q", kind: "resolution", question: "", ...more });
const summary = (preview: ReturnType<typeof previewResolution>) => [preview.previews.map(({ key, start, end }) => [key, start.slice(11, 16), end.slice(11, 16)]), preview.removedIds];

it("sorts the recommended resolution first", () => {
  expect(sortedResolutions(waiting({ resolutions: [resolution([], "res_1"), resolution([], "res_2"), resolution([], "res_3")], recommended: "res_2" })).map(({ resolution_id }) => resolution_id)).toEqual(["res_2", "res_1", "res_3"]);
  expect(sortedResolutions(waiting({}))).toEqual([]);
});

it("previews the requested event", () => {
  expect(summary(previewResolution(soccer, [dentist]))).toEqual([[["requested", "14:00", "15:00"]], []]);
  expect(previewResolution(null, [dentist])).toEqual({ previews: [], removedIds: [] });
  expect(previewResolution({ event_type: "create", title: "Soccer" }, []).previews).toEqual([]);
});

it("previews a moved request, also with only a new start", () => {
  const both = resolution([{ event_id: "new", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "move" }, { event_id: "new", field: "end_time", new_value: "2026-01-10T16:30:00-05:00", action: "move" }]);
  expect(summary(previewResolution(soccer, [dentist], both))).toEqual([[["new", "15:30", "16:30"]], []]);
  const start = resolution([{ event_id: "new", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "move" }]);
  expect(previewResolution(soccer, [dentist], start).previews).toMatchObject([{ start: "2026-01-10T15:30:00-05:00", end: "2026-01-10T16:30:00-05:00" }]);
});

it("marks a moved or cancelled event as removed", () => {
  const move = resolution([{ event_id: "dentist", field: "start_time", new_value: "2026-01-10T16:00:00-05:00", action: "move" }]);
  expect(summary(previewResolution(soccer, [dentist], move))).toEqual([[["requested", "14:00", "15:00"], ["dentist", "16:00", "17:00"]], ["dentist"]]);
  expect(summary(previewResolution(soccer, [dentist], resolution([{ event_id: "dentist", action: "cancel" }])))).toEqual([[["requested", "14:00", "15:00"]], ["dentist"]]);
});

it("previews cancelled and split requests", () => {
  expect(summary(previewResolution(soccer, [dentist], resolution([{ event_id: "new", action: "cancel" }])))).toEqual([[], []]);
  const split = resolution([
    { event_id: "new", field: "end_time", new_value: "2026-01-10T14:30:00-05:00", action: "split" },
    { event_id: "new-2", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "split" },
    { event_id: "new-2", field: "end_time", new_value: "2026-01-10T16:00:00-05:00", action: "split" },
  ]);
  expect(summary(previewResolution(soccer, [dentist], split))).toEqual([[["new", "14:00", "14:30"], ["new-2", "15:30", "16:00"]], []]);
});

it("keeps the times when only resources change", () => {
  expect(summary(previewResolution(soccer, [dentist], resolution([{ event_id: "new", field: "resources", new_value: "van" }])))).toEqual([[["new", "14:00", "15:00"]], []]);
  expect(summary(previewResolution(soccer, [dentist], resolution([{ event_id: "dentist", field: "resources", new_value: "van" }])))).toEqual([[["requested", "14:00", "15:00"]], []]);
});

it("shows a proposal on the calendar only once", () => {
  const proposal = { ...dentist, event_id: "new", title: "Soccer practice", start: "2026-01-10T19:00:00Z", is_tentative: true } as EventInstance;
  expect(summary(previewResolution(soccer, [dentist, proposal]))).toEqual([[["requested", "14:00", "15:00"]], ["new"]]);
});

it("converts choices into resume values", () => {
  const settings = { members: [{ id: "emma", name: "Emma", role: "child" as const }], resources: [{ id: "car", name: "car" }] };
  const reply = (id: string, more: Partial<PendingInterrupt> = {}) => choiceToReply({ id, label: "The label" }, waiting({ kind: "clarification", ...more }), settings);
  expect(reply("dentist", { missing: ["event"] })).toEqual({ fields: { event_id: "dentist" } });
  expect(reply("emma", { understood: { event_type: "create", participants: ["dad"] } })).toEqual({ fields: { participants: ["dad", "emma"] } });
  expect(reply("car")).toEqual({ fields: { resources: ["car"] } });
  expect(reply("2026-01-17T14:00:00-05:00")).toEqual({ fields: { start_time: "2026-01-17T14:00:00-05:00" } });
  expect(reply("yes")).toEqual({ fields: { confirm: true } });
  expect(reply("add:person:Zoe", { missing: ["event"] })).toEqual({ fields: { add: [{ name: "Zoe", kind: "person" }] } });
  expect(reply("add:resource:big: van")).toEqual({ fields: { add: [{ name: "big: van", kind: "resource" }] } });
  expect(reply("something")).toEqual({ text: "The label" });
  expect(missingFields(waiting({ missing: ["date", { part: "time" }, "date"] }))).toEqual(["date", "time"]);
});
