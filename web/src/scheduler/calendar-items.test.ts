import { expect, it } from "vitest";
import { isPreview, itemKey } from "./event-block";
import { buildCalendarItems } from "./calendar-items";
import type { EventInstance, EventsResponse, Member, NlParserData, WorkflowResponse } from "./types";

const members: Member[] = [{ id: "emma", name: "Emma", role: "child" }];
const dentist = { event_id: "dentist", title: "Dentist", start: "2026-01-10T14:30:00-05:00", end: "2026-01-10T15:30:00-05:00", is_tentative: false, occurrence: null, participants: [{ id: "emma" }] } as EventInstance;
const calendar: EventsResponse = { events: [dentist], conflicts: [{ id: "c0", type: "resource_conflict", severity: "high", conflicting_event_id: "groceries", details: "" }] };
const soccer: NlParserData = { event_type: "create", title: "Soccer", start_time: "2026-01-10T14:00:00-05:00", end_time: "2026-01-10T15:00:00-05:00", participants: ["emma"] };
const awaiting = (understood: NlParserData) =>
  ({ workflow_id: "conv_1", status: "awaiting_user", waiting: { question_id: "q", kind: "resolution", question: "", understood, conflicts: [{ id: "c1", conflicting_event_id: "dentist" }] } }) as WorkflowResponse;
const input = { calendar, hidden: [], members, open: () => {} };
const previewKeys = (answer?: WorkflowResponse) => buildCalendarItems({ ...input, answer }).items.filter(isPreview).map(itemKey);

it("returns events and conflicts", () => {
  const { items, scene } = buildCalendarItems(input);
  expect(items).toEqual([dentist]);
  expect([scene.conflictingIds, scene.highlightedIds, scene.removedIds]).toEqual([["groceries"], [], []]);
  expect(buildCalendarItems({ ...input, calendar: undefined }).items).toEqual([]);
});

it("adds the preview of a request and marks its conflicts", () => {
  expect(previewKeys(awaiting(soccer))).toEqual(["preview/requested"]);
  expect(buildCalendarItems({ ...input, answer: awaiting(soccer) }).scene.conflictingIds).toEqual(["groceries", "dentist"]);
  for (const event_type of ["query", "cancel"] as const) expect(previewKeys(awaiting({ ...soccer, event_type }))).toEqual([]);
});

it("replaces a proposal by its preview and hides hidden members", () => {
  const proposal = { ...dentist, event_id: "new", title: "Soccer", start: soccer.start_time!, end: soccer.end_time!, is_tentative: true };
  const { items } = buildCalendarItems({ ...input, calendar: { ...calendar, events: [dentist, proposal] }, answer: awaiting(soccer) });
  expect(items.map(itemKey)).toEqual([itemKey(dentist), "preview/requested"]);
  expect(buildCalendarItems({ ...input, hidden: ["emma"] }).items).toEqual([]);
});

it("highlights the events of a response", () => {
  const answer = { workflow_id: "conv_1", status: "completed", result: { action: "created", event: { event_id: "dentist", title: "" }, events: [{ id: "other", title: "" }] } } as WorkflowResponse;
  expect(buildCalendarItems({ ...input, answer }).scene.highlightedIds).toEqual(["dentist", "other"]);
});
