import { describe, expect, it } from "vitest";
import type { Told } from "../shared/follow";
import { fresh, isEnd, reduce, storedTurns, type Conversation } from "./state";
import type { RunEvent, Snapshot } from "./types";

const model = { name: "local/rules", kind: "rules", label: "rule-based, no language model" };
const whole = (type: string, data: Record<string, unknown> = {}): RunEvent => ({ type, name: "assistant", run_id: "r", parent_ids: [], data });
const of = (node: string, type: string, data: Record<string, unknown> = {}, more: Partial<RunEvent> = {}): RunEvent => ({
  type, name: node, run_id: `${node}-run`, parent_ids: ["r"], metadata: { langgraph_node: node }, data, ...more,
});
const start = (message: string) => whole("on_chain_start", { input: { messages: [{ role: "user", content: message }] } });
const plan = (...calls: [string, string, unknown][]) =>
  of("planner", "on_chain_end", { output: { next_step: "tool_use", tool_calls: calls.map(([id, tool, args]) => ({ id, tool, args, depends_on: [], why: `because ${id}` })) } });
const tool = (run_id: string, type: string, data: Record<string, unknown>) => of("tool_executor", type, data, { run_id, name: "bq_query" });
const said = (...chunks: string[]) => [of("generator", "on_chat_model_start"), ...chunks.map((chunk) => of("generator", "on_chat_model_stream", { chunk }))];
const late = { sql: "SELECT count(*) FROM orders WHERE status = 'LATE'" };
const due = { sql: "SELECT count(*) FROM orders WHERE shipped_at > due_at" };

function told(now: Conversation, ...events: RunEvent[]): Conversation {
  const from = now.last;
  return reduce(now, { type: "told", events: events.map((event, index): Told<RunEvent> => ({ number: from + index + 1, event })) });
}

function snapshot(more: Partial<Snapshot>): Snapshot {
  return { sessionId: "s", userId: "u", status: "running", messages: [], plan: [], waiting: null, summary: "", model, lastEventId: 0, ...more };
}

const firstTry = [
  start("How many late?"),
  plan(["a", "bq_query", late], ["b", "search_docs", { query: "late order" }]),
  tool("1", "on_tool_start", { tool: "bq_query", input: late, tool_call_id: "a" }),
  tool("2", "on_tool_start", { tool: "search_docs", input: { query: "late order" }, tool_call_id: "b" }),
  tool("1", "on_tool_end", { output: { columns: ["n"], rows: [], count: 0 }, duration_ms: 12 }),
  tool("2", "on_tool_end", { output: "{\"passages\":[{\"text\":\"x\"}]}", duration_ms: 30 }),
];
const secondTry = [
  of("verifier", "on_custom_event", { status: "planning_retry", reason: "empty", attempt: 1, tried: [{ tool: "bq_query", args: late }] }),
  plan(["c", "bq_query", due]),
  tool("3", "on_tool_start", { tool: "bq_query", input: due, tool_call_id: "c" }),
  tool("3", "on_tool_end", { output: { columns: ["n"], rows: [[7]], count: 1 }, duration_ms: 9 }),
  of("verifier", "on_custom_event", { status: "verified" }),
];

describe("events", () => {
  it("tick the plan off while tools run", () => {
    const states = (events: RunEvent[]) => told(fresh("s"), ...events).turns[0]!.steps.map(({ tool, state, durationMs }) => [tool, state, durationMs]);
    expect(states(firstTry.slice(0, 2))).toEqual([["bq_query", "due", undefined], ["search_docs", "due", undefined]]);
    expect(states(firstTry.slice(0, 4))).toEqual([["bq_query", "running", undefined], ["search_docs", "running", undefined]]);
    expect(states(firstTry)).toEqual([["bq_query", "empty", 12], ["search_docs", "done", 30]]);
  });

  it("make the second try visible, with what was tried before", () => {
    const turn = told(fresh("s"), ...firstTry, ...secondTry).turns[0]!;
    expect(turn.notes).toEqual([
      { attempt: 1, status: "planning_retry", reason: "empty", tried: ["status = 'LATE'"] },
      { attempt: 2, status: "verified", reason: "", tried: ["shipped_at > due_at"] },
    ]);
    expect(turn.steps.map(({ id, attempt, state }) => [id, attempt, state])).toEqual([["a", 1, "empty"], ["b", 1, "done"], ["c", 2, "done"]]);
  });

  it("grow the answer word by word; a second start replaces it, the end brings it whole", () => {
    const half = told(fresh("s"), ...firstTry, ...said("Seven ", "ord"));
    expect(half.turns[0]).toMatchObject({ asked: ["How many late?"], text: "Seven ord", phase: "generate" });
    const again = told(half, ...said("Seven "), of("generator", "on_chat_model_end", { output: { content: "Seven orders [1]." } }));
    expect(again.turns[0]!.text).toBe("Seven orders [1].");
    expect(told(again, whole("on_chain_end", { output: {} }))).toMatchObject({ status: "completed", turns: [{ status: "completed" }] });
  });

  it("an answer that no model gave comes with the end of its node", () => {
    const refused = told(fresh("s"), start("x"), of("generator", "on_chain_end", { output: { messages: [{ content: "Not allowed: rule 3." }] } }));
    expect(refused.turns[0]!.text).toBe("Not allowed: rule 3.");
  });

  it("words of other nodes and unknown events change nothing", () => {
    const before = told(fresh("s"), start("x"));
    const after = told(before, of("planner", "on_chat_model_stream", { chunk: "{" }), of("summarizer", "on_chat_model_end", { output: { content: "no" } }), whole("on_weather"));
    expect(after.turns).toEqual(before.turns);
  });

  it("a failed tool says why; one that is tried again is not failed yet; a rejected one never started", () => {
    const failing = told(fresh("s"), ...firstTry.slice(0, 3), tool("1", "on_tool_error", { error: { code: "timeout", message: "10 s" }, will_retry: true }));
    expect(failing.turns[0]!.steps[0]).toMatchObject({ state: "retrying", error: "10 s" });
    const well = told(failing, firstTry[4]!);
    expect(well.turns[0]!.steps[0]).not.toHaveProperty("error");
    const failed = told(failing, tool("1", "on_tool_error", { error: "10 s", will_retry: false }));
    expect(failed.turns[0]!.steps[0]).toMatchObject({ state: "failed", error: "10 s" });
    const rejected = told(failed, of("tool_executor", "on_chain_end", { output: { tool_outputs: [{ tool_call_id: "b", status: "error", content: "forbidden: docs" }] } }));
    expect(rejected.turns[0]!.steps[1]).toMatchObject({ state: "failed", error: "forbidden: docs" });
  });

  it("a question waits, and the answer goes on with the same turn", () => {
    const value = { kind: "clarification", question: "Which Miller?", choices: ["Anna", "Bo"] };
    const asked = told(fresh("s"), start("Orders of Miller"), whole("on_interrupt", { interrupts: [{ id: "i", value }] }), whole("on_chain_end", { output: { __interrupt__: [{ id: "i", value }] } }));
    expect(asked).toMatchObject({ status: "waiting", question: { id: "i", question: "Which Miller?" }, turns: [{ status: "waiting" }] });
    const untold = told(fresh("s"), start("Orders of Miller"), whole("on_chain_end", { output: { __interrupt__: [{ id: "j", value }] } }));
    expect(untold).toMatchObject({ status: "waiting", question: { id: "j" } });
    const answered = reduce(asked, { type: "answered", answer: "Anna" });
    expect(answered).toMatchObject({ status: "running", question: undefined, turns: [{ asked: ["Orders of Miller", "Anna"], status: "running" }] });
    expect(told(answered, whole("on_chain_start", { input: null }), plan(["a", "bq_query", late])).turns).toHaveLength(1);
  });

  it("what was planned and not run is skipped when the run is stopped or fails", () => {
    const stopped = told(fresh("s"), ...firstTry.slice(0, 3), whole("on_chain_error", { error: { code: "SS0401 Cancelled", message: "stopped" } }));
    expect(stopped).toMatchObject({ status: "stopped" });
    expect(stopped.turns[0]!.steps.map(({ state }) => state)).toEqual(["skipped", "skipped"]);
    const failed = told(fresh("s"), start("x"), whole("on_chain_error", { error: { code: "ModelUnavailable", message: "gone", hint: "set a key" } }));
    expect(failed.turns[0]).toMatchObject({ status: "error", failure: { message: "gone", hint: "set a key" } });
  });

  it("the end of a node is not the end of the run", () => {
    expect(isEnd(of("planner", "on_chain_end"))).toBe(false);
    expect(isEnd(whole("on_chain_end"))).toBe(true);
    expect(isEnd(whole("on_chain_error"))).toBe(true);
  });
});

describe("snapshots", () => {
  const references = [{ n: 1, tool: "bq_query", source: "orders", query: due.sql }];
  const messages = [
    { role: "user", text: "How many late?" }, { role: "assistant", text: "Seven [1].", references },
    { role: "user", text: "Orders of Miller" }, { role: "user", text: "Anna" }, { role: "assistant", text: "Two." },
  ];

  it("part messages into turns; what a person says before an answer belongs together", () => {
    expect(storedTurns(messages).map(({ asked, text }) => [asked, text])).toEqual([[["How many late?"], "Seven [1]."], [["Orders of Miller", "Anna"], "Two."]]);
  });

  it("are filled with plans by the past that is told again, and not undone by it", () => {
    const opened = reduce(fresh("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages, lastEventId: 100, plan: [{ id: "z", tool: "bq_query", why: "" }] }) });
    expect(opened.turns[1]!.steps).toMatchObject([{ id: "z", state: "done" }]);
    const events = [...firstTry, ...secondTry, ...said("Old ", "words"), whole("on_chain_end", { output: {} }), start("Orders of Miller"), plan(["m", "bq_query", late])];
    const all = told(opened, ...events);
    expect(all.status).toBe("completed");
    expect(all.turns.map(({ text, steps, references: list }) => [text, steps.length, list.length])).toEqual([["Seven [1].", 3, 1], ["Two.", 1, 0]]);
  });

  it("that were trimmed keep what the past tells of older turns, in order", () => {
    const opened = reduce(fresh("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(2), lastEventId: 100 }) });
    const all = told(opened, ...firstTry, ...said("Seven."), whole("on_chain_end", { output: {} }), start("Orders of Miller"), plan(["m", "bq_query", late]));
    expect(all.turns.map(({ asked, text }) => [asked[0], text])).toEqual([["How many late?", "Seven."], ["Orders of Miller", "Two."]]);
  });

  it("in mid-run go on with the turn that runs", () => {
    const opened = reduce(fresh("s"), { type: "snapshot", snapshot: snapshot({ messages: messages.slice(0, 1), lastEventId: 3 }) });
    const live = told(opened, ...firstTry, ...secondTry, ...said("Seven ", "[1]."), whole("on_chain_end", { output: {} }));
    expect(live).toMatchObject({ status: "completed", turns: [{ text: "Seven [1].", status: "completed" }] });
    const last = reduce(live, { type: "snapshot", isLast: true, snapshot: snapshot({ status: "completed", messages: messages.slice(0, 2), lastEventId: 3 }) });
    expect(last.turns).toHaveLength(1);
    expect(last.turns[0]!).toMatchObject({ references, isStored: true, steps: [{ id: "a" }, { id: "b" }, { id: "c" }] });
  });

  it("say what is asked now, which may be another question than before", () => {
    const value = { kind: "clarification", question: "Which Miller?" };
    const asked = told(fresh("s"), start("Orders of Miller"), whole("on_interrupt", { interrupts: [{ id: "i", value }] }));
    const waiting = { id: "k", kind: "clarification" as const, question: "Which year?" };
    const looked = reduce(asked, { type: "snapshot", snapshot: snapshot({ status: "waiting", waiting, messages: messages.slice(2, 3), lastEventId: 9 }) });
    expect(looked.question).toEqual(waiting);
  });

  it("that know an answer given elsewhere leave question and answer one turn", () => {
    const value = { kind: "clarification", question: "Which Miller?" };
    const asked = told(fresh("s"), start("Orders of Miller"), whole("on_interrupt", { interrupts: [{ id: "i", value }] }));
    const looked = reduce(asked, { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(2), lastEventId: 20 }) });
    const all = told(looked, whole("on_chain_start", { input: null }), ...said("Two."), whole("on_chain_end", { output: {} }));
    expect(all).toMatchObject({ status: "completed", question: undefined });
    expect(all.turns.map(({ asked: words, text, status }) => [words, text, status])).toEqual([[["Orders of Miller", "Anna"], "Two.", "completed"]]);
  });

  it("that are older than what was told leave where it stands alone", () => {
    const live = told(fresh("s"), ...firstTry);
    expect(reduce(live, { type: "snapshot", snapshot: snapshot({ status: "completed", lastEventId: 1 }) }).status).toBe("running");
  });

  it("a new message is there at once and takes the events that follow", () => {
    const opened = reduce(fresh("s"), { type: "snapshot", snapshot: snapshot({ status: "completed", messages: messages.slice(0, 2), lastEventId: 0 }) });
    const before = told(opened, ...firstTry, whole("on_chain_end", { output: {} }));
    const asked = reduce(before, { type: "asked", message: "How many late?" });
    expect(asked.turns.map((turn) => turn.status)).toEqual(["completed", "running"]);
    const live = told(asked, start("How many late?"), ...said("Still seven."));
    expect(live.turns.map(({ text }) => text)).toEqual(["Seven [1].", "Still seven."]);
  });
});
