/** View state of a conversation: a pure reducer over snapshots and stream events. */
import type { NumberedEvent } from "../shared/event-stream";
import type { Model } from "../shared/model";
import type { Status } from "../shared/status";
import { callSummary, isEmptyOutput, truncate } from "./tool-output";
import type { Failure, Message, PendingInterrupt, PlannedCall, Reference, RunEvent, SessionSnapshot } from "./types";

/** A step of the plan. */
export interface Step {
  id: string;
  /** Number of the plan within the turn, starting at 1. */
  attempt: number;
  tool: string;
  args: unknown;
  why: string;
  state: "pending" | "running" | "retrying" | "done" | "empty" | "failed" | "skipped";
  output?: unknown;
  error?: string;
  durationMs?: number;
  /** Run id that all events of the tool call share. */
  run?: string;
}

/** Result of the verifier for one plan. */
export interface VerifierNote {
  attempt: number;
  status: string;
  reason: string;
  calls: string[];
}

export type Phase = "plan" | "execute" | "verify" | "generate";

/** A user request with its plan and answer. */
export interface Turn {
  key: string;
  /** More than one when the user answered a clarification. */
  userMessages: string[];
  steps: Step[];
  notes: VerifierNote[];
  text: string;
  references: Reference[];
  status: Status;
  phase: Phase;
  /** The text comes from a snapshot, so replayed events do not change it. */
  isStored: boolean;
  /** Stream events were received for this turn. */
  hasEvents: boolean;
  failure?: Failure;
}

export interface SessionViewState {
  id: string;
  userId?: string;
  status: Status;
  turns: Turn[];
  /** Index of the turn that events apply to. */
  index: number;
  question?: PendingInterrupt;
  model?: Model;
  summary: string;
  /** Id of the last event received. */
  lastEventId: number;
  /** Events up to this id happened before the page was opened. */
  historyEventId?: number;
  /** Source of unique keys for turns. */
  nextKey: number;
}

export type SessionAction =
  | { type: "events"; events: NumberedEvent<RunEvent>[] }
  /** `isLast`: requested after the stream ended, so its status is authoritative. */
  | { type: "snapshot"; snapshot: SessionSnapshot; isLast?: boolean }
  | { type: "message_sent"; message: string }
  | { type: "answered"; answer?: string };

export function initialState(id: string): SessionViewState {
  return { id, status: "running", turns: [], index: -1, summary: "", lastEventId: 0, nextKey: 0 };
}

export function sessionReducer(session: SessionViewState, action: SessionAction): SessionViewState {
  switch (action.type) {
    case "events":
      return action.events.reduce(applyEvent, session);
    case "snapshot":
      return withSnapshot(session, action.snapshot, action.isLast ?? false);
    case "message_sent":
      return { ...insertTurn(session, session.turns.length, { userMessages: [action.message] }), status: "running", question: undefined };
    case "answered": {
      const resumed = { ...session, status: "running" as const, question: undefined };
      const last = resumed.turns.at(-1);
      if (!last) return resumed;
      const userMessages = action.answer === undefined ? last.userMessages : [...last.userMessages, action.answer];
      return { ...resumed, turns: resumed.turns.with(-1, { ...last, userMessages, status: "running" }) };
    }
  }
}

/** Returns whether the event is about the whole graph and not about a node. */
export function isGraphEvent(event: RunEvent): boolean {
  return event.parent_ids ? event.parent_ids.length === 0 : nodeName(event) === undefined;
}

/** Returns whether the run has ended or is interrupted. */
export function isTerminalEvent(event: RunEvent): boolean {
  return isGraphEvent(event) && (event.type === "on_chain_end" || event.type === "on_chain_error");
}

function nodeName({ metadata }: RunEvent): string | undefined {
  return metadata?.langgraph_node ?? metadata?.node;
}

function applyEvent(session: SessionViewState, { number, event }: NumberedEvent<RunEvent>): SessionViewState {
  if (number === undefined) return reduceEvent(session, event);
  // Several events can share one id, so only lower ids are duplicates.
  if (number < session.lastEventId) return session;
  const next = reduceEvent(session, event);
  if (session.historyEventId === undefined || number > session.historyEventId) return { ...next, lastEventId: number };
  // Replayed events add plans. The status comes from the snapshot.
  return { ...next, status: session.status, question: session.question, lastEventId: number };
}

function reduceEvent(session: SessionViewState, event: RunEvent): SessionViewState {
  if (isGraphEvent(event)) return reduceGraphEvent(session, event);
  const turn = session.turns[session.index];
  if (!turn) return session;
  const next = reduceNodeEvent(turn, event);
  return next === turn ? session : { ...session, turns: session.turns.with(session.index, next) };
}

function reduceGraphEvent(session: SessionViewState, event: RunEvent): SessionViewState {
  const { type, data = {} } = event;
  switch (type) {
    case "on_chain_start":
      return startRun(session, inputMessage(data.input));
    case "on_interrupt": {
      const question = interruptFrom(data);
      return question ? endRun({ ...session, question }, "waiting") : session;
    }
    case "on_chain_end": {
      const output = data.output;
      if (isObject(output) && "__interrupt__" in output) return session.question ? session : endRun({ ...session, question: interruptFrom({ interrupts: output.__interrupt__ }) }, "waiting");
      return endRun({ ...session, question: undefined }, "completed");
    }
    case "on_chain_error": {
      const failure = toFailure(data.error);
      return /cancel/i.test(failure.code ?? "") ? endRun({ ...session, question: undefined }, "stopped") : endRun({ ...session, question: undefined }, "error", failure);
    }
    default:
      // A newer server may send unknown events.
      return session;
  }
}

/** Handles the start of a run: a new turn, or the continuation of an interrupted one. */
function startRun(session: SessionViewState, question: string | undefined): SessionViewState {
  const resumed = { ...session, status: "running" as const, question: undefined };
  const current = session.turns[session.index];
  const isLive = current?.status === "waiting" || current?.status === "running";
  // Without a new message the turn is resumed. After a crash, the start of a running turn is sent again.
  if (current?.hasEvents && (question === undefined || (isLive && current.userMessages.includes(question)))) {
    const status = current.isStored ? current.status : ("running" as const);
    return { ...resumed, turns: session.turns.with(session.index, { ...current, status, failure: undefined }) };
  }
  const rest = session.turns.slice(session.index + 1);
  const position = rest.findIndex((turn) => !turn.hasEvents && (question === undefined || turn.userMessages.includes(question)));
  if (position < 0) return insertTurn(resumed, session.index + 1, { userMessages: question === undefined ? [] : [question], hasEvents: true });
  const index = session.index + 1 + position;
  const turn = session.turns[index]!;
  // Events repeat the plan of the snapshot with more detail.
  return { ...resumed, index, turns: session.turns.with(index, { ...turn, steps: [], hasEvents: true, status: turn.isStored ? turn.status : "running" }) };
}

function insertTurn(session: SessionViewState, position: number, more: Partial<Turn>): SessionViewState {
  const turn: Turn = {
    key: `t${session.nextKey}`, userMessages: [], steps: [], notes: [], text: "", references: [], status: "running", phase: "plan", isStored: false, hasEvents: false, ...more,
  };
  const index = turn.hasEvents ? position : session.index >= position ? session.index + 1 : session.index;
  return { ...session, nextKey: session.nextKey + 1, turns: session.turns.toSpliced(position, 0, turn), index };
}

function endRun(session: SessionViewState, status: Status, failure?: Failure): SessionViewState {
  const turn = session.turns[session.index];
  if (!turn) return { ...session, status };
  // Pending steps are skipped, unless an interrupt is open.
  const steps = status === "waiting" ? turn.steps : turn.steps.map((step) => (isUnfinished(step) ? { ...step, state: "skipped" as const } : step));
  return { ...session, status, turns: session.turns.with(session.index, { ...turn, steps, status, failure }) };
}

function isUnfinished({ state }: Step): boolean {
  return state === "pending" || state === "running" || state === "retrying";
}

const PHASES: Record<string, Phase> = {
  ingress: "plan", planner: "plan", tool_router: "execute", tool_executor: "execute", verifier: "verify", generator: "generate", summarizer: "generate",
};

function reduceNodeEvent(turn: Turn, event: RunEvent): Turn {
  const node = nodeName(event) ?? "";
  const { type, data = {} } = event;
  switch (type) {
    case "on_chain_start": {
      const phase = PHASES[node];
      return phase && event.name === node ? { ...turn, phase } : turn;
    }
    case "on_chain_end":
      return event.name === undefined || event.name === node ? reduceNodeOutput(turn, node, data.output) : turn;
    case "on_tool_start":
      return startTool(turn, event);
    case "on_tool_end":
      return settleTool(turn, event, { state: isEmptyOutput(data.output) ? "empty" : "done", output: data.output, durationMs: finiteNumber(data.duration_ms) });
    case "on_tool_error":
      return settleTool(turn, event, { state: data.will_retry ? "retrying" : "failed", error: toFailure(data.error).message });
    case "on_custom_event":
      return typeof data.status === "string" && (node === "verifier" || node === "") ? addNote(turn, data) : turn;
    case "on_chat_model_start":
      // A restarted node replaces the text.
      return node === "generator" && !turn.isStored ? { ...turn, phase: "generate", text: "" } : turn;
    case "on_chat_model_stream": {
      const chunk = data.chunk;
      return node === "generator" && !turn.isStored && typeof chunk === "string" && chunk !== "" ? { ...turn, phase: "generate", text: turn.text + chunk } : turn;
    }
    case "on_chat_model_end": {
      const text = messageText(data.output);
      return node === "generator" && !turn.isStored && text ? { ...turn, text } : turn;
    }
    default:
      return turn;
  }
}

function reduceNodeOutput(turn: Turn, node: string, output: unknown): Turn {
  if (!isObject(output)) return turn;
  if (node === "planner" && Array.isArray(output.tool_calls)) return addPlan(turn, output.tool_calls.filter(isObject) as unknown as PlannedCall[]);
  if (node === "tool_router" || node === "tool_executor") return rejectCalls(turn, output.tool_outputs);
  if (node === "generator" && !turn.isStored && turn.text === "") {
    // Answers without a model call, such as a rejection by the policy.
    const text = Array.isArray(output.messages) ? messageText(output.messages.at(-1)) : undefined;
    return text ? { ...turn, text } : turn;
  }
  return turn;
}

function addPlan(turn: Turn, calls: PlannedCall[]): Turn {
  if (calls.length === 0) return turn;
  const attempt = (turn.steps.at(-1)?.attempt ?? 0) + 1;
  // A node that runs twice creates the same plan.
  if (turn.steps.some((step) => step.state === "pending" && calls.some(({ id }) => id === step.id))) return turn;
  return { ...turn, steps: [...turn.steps, ...calls.map((call) => createStep(call, attempt, "pending"))] };
}

function createStep({ id, tool, args, why }: PlannedCall, attempt: number, state: Step["state"]): Step {
  return { id: String(id), attempt, tool: String(tool), args, why: why ?? "", state };
}

function startTool(turn: Turn, event: RunEvent): Turn {
  const { data = {}, run_id: run } = event;
  if (run !== undefined && turn.steps.some((step) => step.run === run)) return turn;
  const tool = typeof data.tool === "string" ? data.tool : (event.name ?? "");
  const args = data.input;
  const matches = (step: Step) => step.state === "pending" && step.tool === tool;
  const sameId = turn.steps.findLastIndex((step) => step.state === "pending" && step.id === data.tool_call_id);
  const sameArgs = turn.steps.findIndex((step) => matches(step) && JSON.stringify(step.args) === JSON.stringify(args));
  const index = sameId >= 0 ? sameId : sameArgs >= 0 ? sameArgs : turn.steps.findIndex(matches);
  const step = turn.steps[index];
  const started: Step = step
    ? { ...step, args: args ?? step.args, state: "running", run }
    : { id: String(data.tool_call_id ?? run ?? turn.steps.length), attempt: turn.steps.at(-1)?.attempt ?? 1, tool, args, why: "", state: "running", run };
  return { ...turn, phase: "execute", steps: step ? turn.steps.with(index, started) : [...turn.steps, started] };
}

function settleTool(turn: Turn, event: RunEvent, update: Partial<Step>): Turn {
  const index = turn.steps.findLastIndex((step) => step.run !== undefined && step.run === event.run_id);
  const step = turn.steps[index];
  if (!step) return turn;
  const { error: _, ...withoutError } = step;
  return { ...turn, steps: turn.steps.with(index, { ...(update.error === undefined ? withoutError : step), ...update }) };
}

/** Marks calls as failed that the router rejected. They appear only as outputs. */
function rejectCalls(turn: Turn, outputs: unknown): Turn {
  if (!Array.isArray(outputs)) return turn;
  const errors = new Map(outputs.filter(isObject).filter(({ status }) => status === "error").map((output) => [String(output.tool_call_id), messageText(output) ?? ""]));
  if (!turn.steps.some((step) => step.state === "pending" && errors.has(step.id))) return turn;
  const steps = turn.steps.map((step) => (step.state === "pending" && errors.has(step.id) ? { ...step, state: "failed" as const, error: errors.get(step.id) } : step));
  return { ...turn, steps };
}

function addNote(turn: Turn, data: Record<string, unknown>): Turn {
  const attempt = turn.steps.at(-1)?.attempt ?? 0;
  const status = String(data.status);
  if (turn.notes.some((note) => note.attempt === attempt && note.status === status)) return turn;
  const entries = Array.isArray(data.tried) ? data.tried : data.tried === undefined || data.tried === null ? [] : [data.tried];
  const reported = entries.map(callText).filter(Boolean);
  // Without a list, all planned calls were executed.
  const calls = reported.length > 0 ? reported : turn.steps.filter((step) => step.attempt === attempt).map((step) => callSummary(step.tool, step.args));
  return { ...turn, notes: [...turn.notes, { attempt, status, reason: typeof data.reason === "string" ? data.reason : "", calls }] };
}

function callText(call: unknown): string {
  if (typeof call === "string") return truncate(call);
  return isObject(call) ? callSummary(String(call.tool ?? ""), call.args ?? call.input ?? call.arguments) : "";
}

/** Merges a snapshot, which has data that events lack (references, user). */
function withSnapshot(session: SessionViewState, snapshot: SessionSnapshot, isLast: boolean): SessionViewState {
  const number = Number(snapshot.lastEventId ?? 0);
  const base: SessionViewState = {
    ...mergeTurns(session, turnsFromMessages(snapshot.messages)),
    userId: snapshot.userId,
    model: snapshot.model ?? session.model,
    summary: snapshot.summary ?? "",
    historyEventId: session.historyEventId ?? (Number.isFinite(number) ? number : 0),
  };
  // An older snapshot does not change the status.
  if (number < session.lastEventId && !isLast) return base;
  const question = snapshot.status === "waiting" ? (snapshot.waiting ?? session.question) : undefined;
  const last = base.turns.at(-1);
  if (!last) return { ...base, status: snapshot.status, question };
  const isOver = snapshot.status !== "running" && snapshot.status !== "waiting";
  // Later, events are more precise, and the snapshot may still have the previous plan.
  const isFirst = session.historyEventId === undefined && !last.hasEvents;
  const steps = isFirst ? (snapshot.plan ?? []).map((call) => stepFromPlan(call, isOver)) : last.steps;
  const turn: Turn = { ...last, steps, status: snapshot.status, failure: snapshot.failure ?? last.failure };
  return { ...base, status: snapshot.status, question, turns: base.turns.with(-1, turn) };
}

function stepFromPlan(call: PlannedCall, isOver: boolean): Step {
  const states: Record<string, Step["state"]> = { ok: "done", done: "done", success: "done", empty: "empty", error: "failed", failed: "failed", running: "running" };
  const state = states[call.status ?? ""] ?? (isOver ? "done" : "pending");
  return { ...createStep(call, 1, state), ...(call.output === undefined ? {} : { output: call.output }) };
}

interface StoredTurn {
  userMessages: string[];
  text: string;
  references: Reference[];
  isAnswered: boolean;
}

/** Groups messages into turns. User messages without an answer between them belong to one turn. */
export function turnsFromMessages(messages: Message[]): StoredTurn[] {
  const turns: StoredTurn[] = [];
  for (const { role, text, references } of messages) {
    const last = turns.at(-1);
    const isUser = role === "user" || role === "human";
    if (isUser && last && !last.isAnswered) last.userMessages.push(text);
    else if (isUser) turns.push({ userMessages: [text], text: "", references: [], isAnswered: false });
    else if (role === "assistant" || role === "ai") {
      const turn = last ?? { userMessages: [], text: "", references: [], isAnswered: false };
      if (!last) turns.push(turn);
      turn.text = turn.text ? `${turn.text}\n\n${text}` : text;
      turn.references.push(...(references ?? []));
      turn.isAnswered = true;
    }
  }
  return turns;
}

/** Matches stored turns from the end, because the start may be trimmed. Inserts those without a match. */
function mergeTurns(session: SessionViewState, stored: StoredTurn[]): SessionViewState {
  let result = session;
  let before = session.turns.length;
  for (const storedTurn of stored.toReversed()) {
    const index = result.turns.findLastIndex((turn, index) => index < before && (turn.userMessages.length === 0 || turn.userMessages.some((userMessages) => storedTurn.userMessages.includes(userMessages))));
    const existing = index < 0 ? undefined : result.turns[index];
    const answer = storedTurn.isAnswered ? { text: storedTurn.text, references: storedTurn.references, isStored: true } : {};
    if (existing) {
      const userMessages = storedTurn.userMessages.length >= existing.userMessages.length ? storedTurn.userMessages : existing.userMessages;
      const status = storedTurn.isAnswered && !existing.hasEvents ? "completed" : existing.status;
      result = { ...result, turns: result.turns.with(index, { ...existing, userMessages, status, ...answer }) };
      before = index;
    } else {
      result = insertTurn(result, before, { userMessages: storedTurn.userMessages, status: storedTurn.isAnswered ? "completed" : "running", ...answer });
    }
  }
  return result;
}

function interruptFrom(data: Record<string, unknown>): PendingInterrupt | undefined {
  const list = Array.isArray(data.interrupts) ? data.interrupts : [data];
  const first: unknown = list[0];
  if (!isObject(first) || !isObject(first.value)) return undefined;
  const { id, value } = first;
  return value.kind === "clarification" || value.kind === "approval" ? ({ ...value, id } as unknown as PendingInterrupt) : undefined;
}

/** Returns the user message from the input of a run. */
function inputMessage(input: unknown): string | undefined {
  if (!isObject(input)) return undefined;
  if (typeof input.message === "string") return input.message;
  const last = Array.isArray(input.messages) ? input.messages.at(-1) : input.messages;
  return typeof last === "string" ? last : messageText(last);
}

/** Returns the text of a message, which may consist of parts. */
function messageText(message: unknown): string | undefined {
  if (!isObject(message)) return undefined;
  const content = message.content ?? message.text;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((part) => (typeof part === "string" ? part : isObject(part) && typeof part.text === "string" ? part.text : "")).join("");
}

function toFailure(error: unknown): Failure {
  if (typeof error === "string") return { message: error };
  if (!isObject(error)) return { message: "" };
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { code: text(error.code), message: text(error.message) ?? text(error.detail) ?? JSON.stringify(error), hint: text(error.hint) };
}

function finiteNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
