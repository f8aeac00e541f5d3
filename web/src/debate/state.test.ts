import { describe, expect, it } from "vitest";
import type { NumberedEvent } from "../shared/event-stream";
import { approvalRequest, debateReducer, type DebateViewState, initialState } from "./state";
import type { DebateEvent, DebateSnapshot, FactCheckResult } from "./types";

const model = { name: "local/rules", kind: "rules", label: "rule-based voices, no language model" };
const start: DebateEvent = { type: "debate_start", id: "d", topic: "Tea", maxRounds: 2, model };
const fact: FactCheckResult = { claim: "Tea has 2 leaves.", verdict: "true", sources: ["tea.md#leaves"] };

function applyEvents(debate: DebateViewState, ...events: DebateEvent[]): DebateViewState {
  const from = debate.lastEventId;
  return debateReducer(debate, { type: "events", events: events.map((event, index): NumberedEvent<DebateEvent> => ({ number: from + index + 1, event })) });
}

function snapshot(more: Partial<DebateSnapshot>): DebateSnapshot {
  return {
    id: "d", topic: "Tea", maxRounds: 2, round: 0, status: "running", model, approval: "off", factCheck: "off",
    messages: [{ name: null, content: "Debate topic: Tea" }], factCheckResults: [], tokenUsage: 0, lastEventId: 0, ...more,
  };
}

const turnEvents = (agent: "optimist" | "skeptic" | "moderator", round: number, text: string): DebateEvent[] => [
  { type: "agent_start", agent, round },
  ...text.split(/(?<= )/).map((content): DebateEvent => ({ type: "token", agent, content })),
  { type: "agent_end", agent, round, message: text, tokens: 3 },
];

describe("an approval request", () => {
  it("names the interrupt", () => {
    const waiting = applyEvents(initialState("d"), start, { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 });
    expect(approvalRequest(waiting.question, true, " ")).toEqual({ approved: true, interruptId: "i" });
    expect(approvalRequest(waiting.question, false, " Enough. ")).toEqual({ approved: false, note: "Enough.", interruptId: "i" });
    expect(approvalRequest(undefined, true, "")).toEqual({ approved: true });
  });
});

describe("events", () => {
  it("stream a turn and complete it with its message", () => {
    const partial = applyEvents(initialState("d"), start, ...turnEvents("optimist", 1, "Tea is good.").slice(0, 3));
    expect(partial.turns).toEqual([{ key: "optimist-1", speaker: "optimist", round: 1, text: "Tea is ", isDone: false }]);
    const complete = applyEvents(partial, { type: "agent_end", agent: "optimist", round: 1, message: { content: "Tea is good." }, tokens: 3 });
    expect(complete.turns[0]).toMatchObject({ text: "Tea is good.", isDone: true });
    expect(complete.tokens).toBe(3);
  });

  it("replace the text when a turn restarts", () => {
    const started = applyEvents(initialState("d"), start, ...turnEvents("optimist", 1, "One."), ...turnEvents("skeptic", 1, "Two and a half").slice(0, 3));
    const restarted = applyEvents(started, ...turnEvents("skeptic", 1, "Three."));
    expect(restarted.turns.map((turn) => turn.text)).toEqual(["One.", "Three."]);
  });

  it("ignore tokens without a turn and duplicate events", () => {
    const debate = applyEvents(initialState("d"), start, { type: "token", agent: "skeptic", content: "lost" });
    expect(debate.turns).toEqual([]);
    const later = { ...debate, lastEventId: 40 };
    expect(debateReducer(later, { type: "events", events: [{ number: 39, event: { type: "stopped", round: 1 } }] })).toBe(later);
  });

  it("apply all events with the same id", () => {
    const events: NumberedEvent<DebateEvent>[] = [
      { number: 5, event: { type: "round_complete", round: 1, totalRounds: 2 } },
      { number: 5, event: { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 } },
    ];
    expect(debateReducer(initialState("d"), { type: "events", events })).toMatchObject({ round: 1, status: "waiting", lastEventId: 5 });
  });

  it("close the interrupt after an answer or a new turn", () => {
    const waiting = applyEvents(initialState("d"), start, { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 });
    expect(debateReducer(waiting, { type: "answered" })).toMatchObject({ status: "running", question: undefined });
    expect(applyEvents(waiting, { type: "agent_start", agent: "optimist", round: 2 })).toMatchObject({ status: "running", question: undefined });
  });

  it("keep the transcript after an error and clear the error on resume", () => {
    const failed = applyEvents(initialState("d"), start, ...turnEvents("optimist", 1, "One."), { type: "error", code: "ModelTimeout", message: "late" });
    expect(failed).toMatchObject({ status: "error", failure: { code: "ModelTimeout" } });
    expect(failed.turns).toHaveLength(1);
    expect(applyEvents(failed, { type: "agent_start", agent: "skeptic", round: 1 }).failure).toBeUndefined();
  });

  it("ignore duplicate fact checks", () => {
    const debate = applyEvents(initialState("d"), start, { type: "fact_check", results: [fact] }, { type: "fact_check", results: [fact] });
    expect(debate.facts).toEqual([fact]);
  });

  it("change only the last event id for an unknown event", () => {
    const debate = applyEvents(initialState("d"), { type: "weather", sun: true } as unknown as DebateEvent);
    expect(debate).toEqual({ ...initialState("d"), lastEventId: 1 });
  });
});

describe("snapshots", () => {
  const stored = snapshot({
    status: "completed", round: 1, lastEventId: 100, tokenUsage: 9, factCheckResults: [fact],
    messages: [
      { id: "0", content: "Debate topic: Tea" },
      { id: "1", name: "optimist", content: "One.", round: 1 },
      { id: "2", name: "skeptic", content: "Two.", round: 1 },
      { id: "3", content: "Enough." },
      { id: "4", name: "moderator", content: "Sum.", round: 1 },
    ],
  });

  it("add notes and omit the topic message", () => {
    const debate = debateReducer(initialState("d"), { type: "snapshot", snapshot: stored });
    expect(debate.turns.map(({ speaker, text }) => [speaker, text])).toEqual([
      ["optimist", "One."], ["skeptic", "Two."], ["you", "Enough."], ["moderator", "Sum."],
    ]);
  });

  it("are not changed by replayed events", () => {
    const loaded = debateReducer(initialState("d"), { type: "snapshot", snapshot: stored });
    const partial = applyEvents(loaded, start, { type: "agent_start", agent: "optimist", round: 1 });
    expect(partial).toMatchObject({ status: "completed", tokens: 9 });
    expect(partial.turns).toEqual(loaded.turns);
    const replayed = applyEvents(partial, ...turnEvents("skeptic", 1, "Two."), { type: "fact_check", results: [fact] }, ...turnEvents("moderator", 2, "Sum."));
    expect({ ...replayed, lastEventId: 0 }).toEqual(loaded);
  });

  it("that are older than the events keep the streaming turn and the status", () => {
    const live = applyEvents(initialState("d"), start, ...turnEvents("optimist", 1, "One."), ...turnEvents("skeptic", 1, "Two and").slice(0, 2));
    const merged = debateReducer(live, { type: "snapshot", snapshot: snapshot({ status: "stopped", lastEventId: 1 }) });
    expect(merged.status).toBe("running");
    expect(merged.turns.map((turn) => turn.text)).toEqual(["One.", "Two "]);
  });

  it("after the end of the stream are authoritative", () => {
    const live = applyEvents(initialState("d"), start, ...turnEvents("optimist", 1, "One two").slice(0, 2));
    const merged = debateReducer(live, { type: "snapshot", isLast: true, snapshot: snapshot({ status: "stopped", lastEventId: 1 }) });
    expect(merged).toMatchObject({ status: "stopped", turns: [{ text: "One ", isDone: false }] });
  });

  it("set the duration", () => {
    const times = snapshot({ startTime: "2026-01-01T00:00:00Z", endTime: "2026-01-01T00:00:02.500Z" });
    expect(debateReducer(initialState("d"), { type: "snapshot", snapshot: times }).durationMs).toBe(2500);
  });
});
