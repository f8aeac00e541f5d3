import { expect, it } from "vitest";
import type { Instance, Parsed, ProposedResolution, Waiting } from "./types";
import { missingOf, previewOf, replyOfChoice, waysOf } from "./ways";

const soccer: Parsed = { event_type: "create", title: "Soccer practice", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00", participants: ["emma"] };
const dentist = { event_id: "dentist", title: "Dentist", start: "2026-01-10T14:30:00-05:00", end: "2026-01-10T15:30:00-05:00", is_tentative: false, participants: [{ id: "emma", name: "Emma", is_required: true }] } as Instance;
const way = (changes: ProposedResolution["changes"], resolution_id = "res_1"): ProposedResolution => ({
  resolution_id, description: "", strategy: "move_event", score: 0.9, changes, conflicts_resolved: [], side_effects: [],
});
const waiting = (more: Partial<Waiting>): Waiting => ({ question_id: "q", kind: "resolution", question: "", ...more });
const shown = (preview: ReturnType<typeof previewOf>) => [preview.ghosts.map(({ key, start, end }) => [key, start.slice(11, 16), end.slice(11, 16)]), preview.gone];

it("the recommended way comes first", () => {
  expect(waysOf(waiting({ resolutions: [way([], "res_1"), way([], "res_2"), way([], "res_3")], recommended: "res_2" })).map(({ resolution_id }) => resolution_id)).toEqual(["res_2", "res_1", "res_3"]);
  expect(waysOf(waiting({}))).toEqual([]);
});

it("what is wanted is shown where it would be", () => {
  expect(shown(previewOf(soccer, [dentist]))).toEqual([[["wanted", "14:00", "15:00"]], []]);
  expect(previewOf(null, [dentist])).toEqual({ ghosts: [], gone: [] });
  expect(previewOf({ event_type: "create", title: "Soccer" }, []).ghosts).toEqual([]);
});

it("moving it shows it at the new time, also when only the start is said", () => {
  const both = way([{ event_id: "new", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "move" }, { event_id: "new", field: "end_time", new_value: "2026-01-10T16:30:00-05:00", action: "move" }]);
  expect(shown(previewOf(soccer, [dentist], both))).toEqual([[["new", "15:30", "16:30"]], []]);
  const start = way([{ event_id: "new", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "move" }]);
  expect(previewOf(soccer, [dentist], start).ghosts).toMatchObject([{ start: "2026-01-10T15:30:00-05:00", end: "2026-01-10T16:30:00-05:00" }]);
});

it("moving or cancelling the other one takes it away from where it is", () => {
  const move = way([{ event_id: "dentist", field: "start_time", new_value: "2026-01-10T16:00:00-05:00", action: "move" }]);
  expect(shown(previewOf(soccer, [dentist], move))).toEqual([[["wanted", "14:00", "15:00"], ["dentist", "16:00", "17:00"]], ["dentist"]]);
  expect(shown(previewOf(soccer, [dentist], way([{ event_id: "dentist", action: "cancel" }])))).toEqual([[["wanted", "14:00", "15:00"]], ["dentist"]]);
});

it("giving up shows nothing new, splitting shows both parts, shortening a shorter one", () => {
  expect(shown(previewOf(soccer, [dentist], way([{ event_id: "new", action: "cancel" }])))).toEqual([[], []]);
  const split = way([
    { event_id: "new", field: "end_time", new_value: "2026-01-10T14:30:00-05:00", action: "split" },
    { event_id: "new-2", field: "start_time", new_value: "2026-01-10T15:30:00-05:00", action: "split" },
    { event_id: "new-2", field: "end_time", new_value: "2026-01-10T16:00:00-05:00", action: "split" },
  ]);
  expect(shown(previewOf(soccer, [dentist], split))).toEqual([[["new", "14:00", "14:30"], ["new-2", "15:30", "16:00"]], []]);
});

it("another thing or a broken rule leaves the times as they are", () => {
  expect(shown(previewOf(soccer, [dentist], way([{ event_id: "new", field: "resources", new_value: "van" }])))).toEqual([[["new", "14:00", "15:00"]], []]);
  expect(shown(previewOf(soccer, [dentist], way([{ event_id: "dentist", field: "resources", new_value: "van" }])))).toEqual([[["wanted", "14:00", "15:00"]], []]);
});

it("a proposal that stands on the calendar already is not shown twice", () => {
  const own = { ...dentist, event_id: "new", title: "Soccer practice", start: "2026-01-10T19:00:00Z", is_tentative: true } as Instance;
  expect(shown(previewOf(soccer, [dentist, own]))).toEqual([[["wanted", "14:00", "15:00"]], ["new"]]);
});

it("a choice answers with what it is", () => {
  const settings = { members: [{ id: "emma", name: "Emma", role: "child" as const }], resources: [{ id: "car", name: "car" }] };
  const reply = (id: string, more: Partial<Waiting> = {}) => replyOfChoice({ id, label: "The label" }, waiting({ kind: "clarification", ...more }), settings);
  expect(reply("dentist", { missing: ["event"] })).toEqual({ fields: { event_id: "dentist" } });
  expect(reply("emma", { understood: { event_type: "create", participants: ["dad"] } })).toEqual({ fields: { participants: ["dad", "emma"] } });
  expect(reply("car")).toEqual({ fields: { resources: ["car"] } });
  expect(reply("2026-01-17T14:00:00-05:00")).toEqual({ fields: { start_time: "2026-01-17T14:00:00-05:00" } });
  expect(reply("yes")).toEqual({ fields: { confirm: true } });
  expect(reply("add:person:Zoe", { missing: ["event"] })).toEqual({ fields: { add: [{ name: "Zoe", kind: "person" }] } });
  expect(reply("add:resource:big: van")).toEqual({ fields: { add: [{ name: "big: van", kind: "resource" }] } });
  expect(reply("something")).toEqual({ text: "The label" });
  expect(missingOf(waiting({ missing: ["date", { part: "time" }, "date"] }))).toEqual(["date", "time"]);
});
