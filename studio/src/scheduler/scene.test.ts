import { expect, it } from "vitest";
import { isGhost, keyOf } from "./block";
import { sceneOf } from "./scene";
import type { Answer, Instance, Member, Parsed, Shown } from "./types";

const members: Member[] = [{ id: "emma", name: "Emma", role: "child" }];
const dentist = { event_id: "dentist", title: "Dentist", start: "2026-01-10T14:30:00-05:00", end: "2026-01-10T15:30:00-05:00", is_tentative: false, occurrence: null, participants: [{ id: "emma" }] } as Instance;
const shown: Shown = { events: [dentist], conflicts: [{ id: "c0", type: "resource_conflict", severity: "high", conflicting_event_id: "groceries", details: "" }] };
const soccer: Parsed = { event_type: "create", title: "Soccer", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00", participants: ["emma"] };
const asks = (understood: Parsed) =>
  ({ workflow_id: "conv_1", status: "awaiting_user", waiting: { question_id: "q", kind: "resolution", question: "", understood, conflicts: [{ id: "c1", conflicting_event_id: "dentist" }] } }) as Answer;
const given = { shown, hidden: [], members, open: () => {} };
const ghosts = (answer?: Answer) => sceneOf({ ...given, answer }).items.filter(isGhost).map(keyOf);

it("shows what is there, with what clashes", () => {
  const { items, scene } = sceneOf(given);
  expect(items).toEqual([dentist]);
  expect([scene.clashing, scene.marked, scene.gone]).toEqual([["groceries"], [], []]);
  expect(sceneOf({ ...given, shown: undefined }).items).toEqual([]);
});

it("a question adds what is wanted and marks what stands in its way", () => {
  expect(ghosts(asks(soccer))).toEqual(["ghost/wanted"]);
  expect(sceneOf({ ...given, answer: asks(soccer) }).scene.clashing).toEqual(["groceries", "dentist"]);
  for (const event_type of ["query", "cancel"] as const) expect(ghosts(asks({ ...soccer, event_type }))).toEqual([]);
});

it("one's own proposal gives way to its preview, and hidden members stay hidden", () => {
  const own = { ...dentist, event_id: "new", title: "Soccer", start: soccer.start_time!, end: soccer.end_time!, is_tentative: true };
  const { items } = sceneOf({ ...given, shown: { ...shown, events: [dentist, own] }, answer: asks(soccer) });
  expect(items.map(keyOf)).toEqual([keyOf(dentist), "ghost/wanted"]);
  expect(sceneOf({ ...given, hidden: ["emma"] }).items).toEqual([]);
});

it("marks the events of an answer", () => {
  const answer = { workflow_id: "conv_1", status: "completed", result: { action: "created", event: { event_id: "dentist", title: "" }, events: [{ id: "other", title: "" }] } } as Answer;
  expect(sceneOf({ ...given, answer }).scene.marked).toEqual(["dentist", "other"]);
});
