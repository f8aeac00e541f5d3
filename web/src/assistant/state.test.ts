import { describe, expect, it } from "vitest";
import type { NumberedEvent } from "../shared/event-stream";
import { initialState, isTerminalEvent, sessionReducer, type SessionViewState, turnsFromMessages } from "./state";
import type { RunEvent, SessionSnapshot } from "./types";

const model = { name: "local/rules", kind: "rules", label: "rule-based, no language model" };
const graphEvent = (type: string, data: Record<string, unknown> = {}): RunEvent => ({ type, name: "assistant", run_id: "r", parent_ids: [], data });
const nodeEvent = (node: string, type: string, data: Record<string, unknown> = {}, more: Partial<RunEvent> = {}): RunEvent => ({
  type, name: node, run_id: `${node}-run`, parent_ids: ["r"], metadata: { langgraph_node: node }, data, ...more,
});
const start = (message: string) => graphEvent("on_chain_start", { input: { messages: [{ role: "user", content: message }] } });
const plan = (...calls: [string, string, unknown][]) =>
  nodeEvent("planner", "on_chain_end", { output: { next_step: "tool_use", tool_calls: calls.map(([id, tool, args]) => ({ id, tool, args, depends_on: [], why: `because ${id}` })) } });
const tool = (run_id: string, type: string, data: Record<string, unknown>) => nodeEvent("tool_executor", type, data, { run_id, name: "bq_query" });
const answerEvents = (...chunks: string[]) => [nodeEvent("generator", "on_chat_model_start"), ...chunks.map((chunk) => nodeEvent("generator", "on_chat_model_stream", { chunk }))];
const lateQuery = { sql: "SELECT count(*) FROM orders WHERE status = 'LATE'" };
const dueQuery = { sql: "SELECT count(*) FROM orders WHERE shipped_at > due_at" };

function applyEvents(session: SessionViewState, ...events: RunEvent[]): SessionViewState {
  const from = session.lastEventId;
  return sessionReducer(session, { type: "events", events: events.map((event, index): NumberedEvent<RunEvent> => ({ number: from + index + 1, event })) });
}

function snapshot(more: Partial<SessionSnapshot>): SessionSnapshot {
  return { sessionId: "s", userId: "u", status: "running", messages: [], plan: [], waiting: null, summary: "", model, lastEventId: 0, ...more };
}

const firstTry = [
  start("How many late?"),
  plan(["a", "bq_query", lateQuery], ["b", "search_docs", { query: "late order" }]),
  tool("1", "on_tool_start", { tool: "bq_query", input: lateQuery, tool_call_id: "a" }),
  tool("2", "on_tool_start", { tool: "search_docs", input: { query: "late order" }, tool_call_id: "b" }),
  tool("1", "on_tool_end", { output: { columns: ["n"], rows: [], count: 0 }, duration_ms: 12 }),
  tool("2", "on_tool_end", { output: "{\"passages\":[{\"text\":\"x\"}]}", duration_ms: 30 }),
];
const secondTry = [
  nodeEvent("verifier", "on_custom_event", { status: "planning_retry", reason: "empty", attempt: 1, tried: [{ tool: "bq_query", args: lateQuery }] }),
  plan(["c", "bq_query", dueQuery]),
  tool("3", "on_tool_start", { tool: "bq_query", input: dueQuery, tool_call_id: "c" }),
  tool("3", "on_tool_end", { output: { columns: ["n"], rows: [[7]], count: 1 }, duration_ms: 9 }),
  nodeEvent("verifier", "on_custom_event", { status: "verified" }),
];

describe("events", () => {
  it("update the plan while tools run", () => {
    const states = (events: RunEvent[]) => applyEvents(initialState("s"), ...events).turns[0]!.steps.map(({ tool, state, durationMs }) => [tool, state, durationMs]);
    expect(states(firstTry.slice(0, 2))).toEqual([["bq_query", "pending", undefined], ["search_docs", "pending", undefined]]);
    expect(states(firstTry.slice(0, 4))).toEqual([["bq_query", "running", undefined], ["search_docs", "running", undefined]]);
    expect(states(firstTry)).toEqual([["bq_query", "empty", 12], ["search_docs", "done", 30]]);
  });

  it("record the second plan and the calls of the first", () => {
    const turn = applyEvents(initialState("s"), ...firstTry, ...secondTry).turns[0]!;
    expect(turn.notes).toEqual([
      { attempt: 1, status: "planning_retry", reason: "empty", calls: ["status = 'LATE'"] },
      { attempt: 2, status: "verified", reason: "", calls: ["shipped_at > due_at"] },
    ]);
    expect(turn.steps.map(({ id, attempt, state }) => [id, attempt, state])).toEqual([["a", 1, "empty"], ["b", 1, "done"], ["c", 2, "done"]]);
  });

  it("stream the answer; a restart replaces it, the end completes it", () => {
    const partial = applyEvents(initialState("s"), ...firstTry, ...answerEvents("Seven ", "ord"));
    expect(partial.turns[0]).toMatchObject({ userMessages: ["How many late?"], text: "Seven ord", phase: "generate" });
    const again = applyEvents(partial, ...answerEvents("Seven "), nodeEvent("generator", "on_chat_model_end", { output: { content: "Seven orders [1]." } }));
    expect(again.turns[0]!.text).toBe("Seven orders [1].");
    expect(applyEvents(again, graphEvent("on_chain_end", { output: {} }))).toMatchObject({ status: "completed", turns: [{ status: "completed" }] });
  });

  it("take an answer without a model call from the end of its node", () => {
    const refused = applyEvents(initialState("s"), start("x"), nodeEvent("generator", "on_chain_end", { output: { messages: [{ content: "Not allowed: rule 3." }] } }));
    expect(refused.turns[0]!.text).toBe("Not allowed: rule 3.");
  });

  it("ignore text of other nodes and unknown events", () => {
    const before = applyEvents(initialState("s"), start("x"));
    const after = applyEvents(before, nodeEvent("planner", "on_chat_model_stream", { chunk: "{" }), nodeEvent("summarizer", "on_chat_model_end", { output: { content: "no" } }), graphEvent("on_weather"));
    expect(after.turns).toEqual(before.turns);
  });

  it("distinguish failed, retried and rejected tool calls", () => {
    const failing = applyEvents(initialState("s"), ...firstTry.slice(0, 3), tool("1", "on_tool_error", { error: { code: "timeout", message: "10 s" }, will_retry: true }));
    expect(failing.turns[0]!.steps[0]).toMatchObject({ state: "retrying", error: "10 s" });
    const succeeded = applyEvents(failing, firstTry[4]!);
    expect(succeeded.turns[0]!.steps[0]).not.toHaveProperty("error");
    const failed = applyEvents(failing, tool("1", "on_tool_error", { error: "10 s", will_retry: false }));
    expect(failed.turns[0]!.steps[0]).toMatchObject({ state: "failed", error: "10 s" });
    const rejected = applyEvents(failed, nodeEvent("tool_executor", "on_chain_end", { output: { tool_outputs: [{ tool_call_id: "b", status: "error", content: "forbidden: docs" }] } }));
    expect(rejected.turns[0]!.steps[1]).toMatchObject({ state: "failed", error: "forbidden: docs" });
  });

  it("open an interrupt and continue the same turn after the answer", () => {
    const value = { kind: "clarification", question: "Which Miller?", choices: ["Anna", "Bo"] };
    const interrupted = applyEvents(initialState("s"), start("Orders of Miller"), graphEvent("on_interrupt", { interrupts: [{ id: "i", value }] }), graphEvent("on_chain_end", { output: { __interrupt__: [{ id: "i", value }] } }));
    expect(interrupted).toMatchObject({ status: "waiting", question: { id: "i", question: "Which Miller?" }, turns: [{ status: "waiting" }] });
    const withoutEvent = applyEvents(initialState("s"), start("Orders of Miller"), graphEvent("on_chain_end", { output: { __interrupt__: [{ id: "j", value }] } }));
    expect(withoutEvent).toMatchObject({ status: "waiting", question: { id: "j" } });
    const answered = sessionReducer(interrupted, { type: "answered", answer: "Anna" });
    expect(answered).toMatchObject({ status: "running", question: undefined, turns: [{ userMessages: ["Orders of Miller", "Anna"], status: "running" }] });
    expect(applyEvents(answered, graphEvent("on_chain_start", { input: null }), plan(["a", "bq_query", lateQuery])).turns).toHaveLength(1);
  });

  it("skip pending steps when the run is stopped or fails", () => {
    const stopped = applyEvents(initialState("s"), ...firstTry.slice(0, 3), graphEvent("on_chain_error", { error: { code: "SS0401 Cancelled", message: "stopped" } }));
    expect(stopped).toMatchObject({ status: "stopped" });
    expect(stopped.turns[0]!.steps.map(({ state }) => state)).toEqual(["skipped", "skipped"]);
    const failed = applyEvents(initialState("s"), start("x"), graphEvent("on_chain_error", { error: { code: "ModelUnavailable", message: "gone", hint: "set a key" } }));
    expect(failed.turns[0]).toMatchObject({ status: "error", failure: { message: "gone", hint: "set a key" } });
  });

  it("do not end the run at the end of a node", () => {
    expect(isTerminalEvent(nodeEvent("planner", "on_chain_end"))).toBe(false);
    expect(isTerminalEvent(graphEvent("on_chain_end"))).toBe(true);
    expect(isTerminalEvent(graphEvent("on_chain_error"))).toBe(true);
  });
});

describe("snapshots", () => {
  const references = [{ n: 1, tool: "bq_query", source: "orders", query: dueQuery.sql }];
  const messages = [
    { role: "user", text: "How many late?" }, { role: "assistant", text: "Seven [1].", references },
    { role: "user", text: "Orders of Miller" }, { role: "user", text: "Anna" }, { role: "assistant", text: "Two." },
  ];

  it("group messages into turns", () => {
    expect(turnsFromMessages(messages).map(({ userMessages: interrupted, text }) => [interrupted, text])).toEqual([[["How many late?"], "Seven [1]."], [["Orders of Miller", "Anna"], "Two."]]);
  });

  it("get plans from replayed events and keep their texts", () => {
    const loaded = sessionReducer(initialState("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages, lastEventId: 100, plan: [{ id: "z", tool: "bq_query", why: "" }] }) });
    expect(loaded.turns[1]!.steps).toMatchObject([{ id: "z", state: "done" }]);
    const events = [...firstTry, ...secondTry, ...answerEvents("Old ", "words"), graphEvent("on_chain_end", { output: {} }), start("Orders of Miller"), plan(["m", "bq_query", lateQuery])];
    const replayed = applyEvents(loaded, ...events);
    expect(replayed.status).toBe("completed");
    expect(replayed.turns.map(({ text, steps, references: list }) => [text, steps.length, list.length])).toEqual([["Seven [1].", 3, 1], ["Two.", 1, 0]]);
  });

  it("that were trimmed keep older turns from events in order", () => {
    const loaded = sessionReducer(initialState("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(2), lastEventId: 100 }) });
    const replayed = applyEvents(loaded, ...firstTry, ...answerEvents("Seven."), graphEvent("on_chain_end", { output: {} }), start("Orders of Miller"), plan(["m", "bq_query", lateQuery]));
    expect(replayed.turns.map(({ userMessages: interrupted, text }) => [interrupted[0], text])).toEqual([["How many late?", "Seven."], ["Orders of Miller", "Two."]]);
  });

  it("during a run continue the running turn", () => {
    const loaded = sessionReducer(initialState("s"), { type: "snapshot", snapshot: snapshot({ messages: messages.slice(0, 1), lastEventId: 3 }) });
    const live = applyEvents(loaded, ...firstTry, ...secondTry, ...answerEvents("Seven ", "[1]."), graphEvent("on_chain_end", { output: {} }));
    expect(live).toMatchObject({ status: "completed", turns: [{ text: "Seven [1].", status: "completed" }] });
    const last = sessionReducer(live, { type: "snapshot", isLast: true, snapshot: snapshot({ status: "completed", messages: messages.slice(0, 2), lastEventId: 3 }) });
    expect(last.turns).toHaveLength(1);
    expect(last.turns[0]!).toMatchObject({ references, isStored: true, steps: [{ id: "a" }, { id: "b" }, { id: "c" }] });
  });

  it("replace the open interrupt", () => {
    const value = { kind: "clarification", question: "Which Miller?" };
    const interrupted = applyEvents(initialState("s"), start("Orders of Miller"), graphEvent("on_interrupt", { interrupts: [{ id: "i", value }] }));
    const waiting = { id: "k", kind: "clarification" as const, question: "Which year?" };
    const refreshed = sessionReducer(interrupted, { type: "snapshot", snapshot: snapshot({ status: "waiting", waiting, messages: messages.slice(2, 3), lastEventId: 9 }) });
    expect(refreshed.question).toEqual(waiting);
  });

  it("with an answer from another client keep one turn", () => {
    const value = { kind: "clarification", question: "Which Miller?" };
    const interrupted = applyEvents(initialState("s"), start("Orders of Miller"), graphEvent("on_interrupt", { interrupts: [{ id: "i", value }] }));
    const refreshed = sessionReducer(interrupted, { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(2), lastEventId: 20 }) });
    const replayed = applyEvents(refreshed, graphEvent("on_chain_start", { input: null }), ...answerEvents("Two."), graphEvent("on_chain_end", { output: {} }));
    expect(replayed).toMatchObject({ status: "completed", question: undefined });
    expect(replayed.turns.map(({ userMessages: messages, text, status }) => [messages, text, status])).toEqual([[["Orders of Miller", "Anna"], "Two.", "completed"]]);
  });

  it("that are older than the events do not change the status", () => {
    const live = applyEvents(initialState("s"), ...firstTry);
    expect(sessionReducer(live, { type: "snapshot", snapshot: snapshot({ status: "completed", lastEventId: 1 }) }).status).toBe("running");
  });

  it("a new message appears at once and receives the next events", () => {
    const loaded = sessionReducer(initialState("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(0, 2), lastEventId: 0 }) });
    const before = applyEvents(loaded, ...firstTry, graphEvent("on_chain_end", { output: {} }));
    const interrupted = sessionReducer(before, { type: "message_sent", message: "How many late?" });
    expect(interrupted.turns.map((turn) => turn.status)).toEqual(["completed", "running"]);
    const live = applyEvents(interrupted, start("How many late?"), ...answerEvents("Still seven."));
    expect(live.turns.map(({ text }) => text)).toEqual(["Seven [1].", "Still seven."]);
  });
});
