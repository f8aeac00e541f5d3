/** A conversation as the page knows it: a pure fold over what the server tells. */
import type { Told } from "../shared/follow";
import type { Model } from "../shared/model";
import type { Status } from "../shared/status";
import { brief, isEmptyOutput, telling } from "./output";
import type { Failure, Message, PlannedCall, Question, Reference, RunEvent, Snapshot } from "./types";

/** One line of the plan. */
export interface Step {
  id: string;
  /** Which plan of the turn it belongs to, from 1. */
  attempt: number;
  tool: string;
  args: unknown;
  why: string;
  state: "due" | "running" | "retrying" | "done" | "empty" | "failed" | "skipped";
  output?: unknown;
  error?: string;
  durationMs?: number;
  /** The run of the tool, which its events share. */
  run?: string;
}

/** What the verifier said after a plan. */
export interface Note {
  attempt: number;
  status: string;
  reason: string;
  tried: string[];
}

export type Phase = "plan" | "execute" | "verify" | "generate";

/** A question, what was done about it, and the answer. */
export interface Turn {
  key: string;
  /** More than one when the assistant asked back. */
  asked: string[];
  steps: Step[];
  notes: Note[];
  text: string;
  references: Reference[];
  status: Status;
  phase: Phase;
  /** The server has its answer in its state: nothing that is told again changes it. */
  isStored: boolean;
  /** Events are told of it. */
  isTold: boolean;
  failure?: Failure;
}

export interface Conversation {
  id: string;
  userId?: string;
  status: Status;
  turns: Turn[];
  /** The turn that events are about. */
  at: number;
  question?: Question;
  model?: Model;
  summary: string;
  /** Number of the last event that was told. */
  last: number;
  /** What was told up to this number happened before the page was opened. */
  history?: number;
  /** For keys of turns. */
  count: number;
}

export type Action =
  | { type: "told"; events: Told<RunEvent>[] }
  /** `isLast`: asked for after the stream ended, so it is right about where the conversation stands. */
  | { type: "snapshot"; snapshot: Snapshot; isLast?: boolean }
  | { type: "asked"; message: string }
  | { type: "answered"; answer?: string };

export function fresh(id: string): Conversation {
  return { id, status: "running", turns: [], at: -1, summary: "", last: 0, count: 0 };
}

export function reduce(now: Conversation, action: Action): Conversation {
  switch (action.type) {
    case "told":
      return action.events.reduce(told, now);
    case "snapshot":
      return withSnapshot(now, action.snapshot, action.isLast ?? false);
    case "asked":
      return { ...added(now, now.turns.length, { asked: [action.message] }), status: "running", question: undefined };
    case "answered": {
      const open = { ...now, status: "running" as const, question: undefined };
      const last = open.turns.at(-1);
      if (!last) return open;
      const asked = action.answer === undefined ? last.asked : [...last.asked, action.answer];
      return { ...open, turns: open.turns.with(-1, { ...last, asked, status: "running" }) };
    }
  }
}

/** The run as a whole says it, not one of its nodes. */
export function isWhole(event: RunEvent): boolean {
  return event.parent_ids ? event.parent_ids.length === 0 : nodeOf(event) === undefined;
}

/** The events after which nobody speaks until a person does. */
export function isEnd(event: RunEvent): boolean {
  return isWhole(event) && (event.type === "on_chain_end" || event.type === "on_chain_error");
}

function nodeOf({ metadata }: RunEvent): string | undefined {
  return metadata?.langgraph_node ?? metadata?.node;
}

function told(now: Conversation, { number, event }: Told<RunEvent>): Conversation {
  if (number === undefined) return after(now, event);
  // One thing that happened may be told as several events with one number, so only lower ones are repeats.
  if (number < now.last) return now;
  const next = after(now, event);
  if (now.history === undefined || number > now.history) return { ...next, last: number };
  // The past fills in plans; where the conversation stands, the snapshot knows better.
  return { ...next, status: now.status, question: now.question, last: number };
}

function after(now: Conversation, event: RunEvent): Conversation {
  if (isWhole(event)) return afterWhole(now, event);
  const turn = now.turns[now.at];
  if (!turn) return now;
  const next = afterNode(turn, event);
  return next === turn ? now : { ...now, turns: now.turns.with(now.at, next) };
}

function afterWhole(now: Conversation, event: RunEvent): Conversation {
  const { type, data = {} } = event;
  switch (type) {
    case "on_chain_start":
      return begun(now, questionIn(data.input));
    case "on_interrupt": {
      const question = questionOf(data);
      return question ? ended({ ...now, question }, "waiting") : now;
    }
    case "on_chain_end": {
      const output = data.output;
      if (isObject(output) && "__interrupt__" in output) return now.question ? now : ended({ ...now, question: questionOf({ interrupts: output.__interrupt__ }) }, "waiting");
      return ended({ ...now, question: undefined }, "completed");
    }
    case "on_chain_error": {
      const failure = failureOf(data.error);
      return /cancel/i.test(failure.code ?? "") ? ended({ ...now, question: undefined }, "stopped") : ended({ ...now, question: undefined }, "error", failure);
    }
    default:
      // A newer server may tell more than this page knows.
      return now;
  }
}

/** A run begins: a turn of its own, or what goes on after a question to the person. */
function begun(now: Conversation, question: string | undefined): Conversation {
  const open = { ...now, status: "running" as const, question: undefined };
  const present = now.turns[now.at];
  const isLive = present?.status === "waiting" || present?.status === "running";
  // Where nothing new was asked, what waited or was stopped goes on; what was asked before and runs is told again after a crash.
  if (present?.isTold && (question === undefined || (isLive && present.asked.includes(question)))) {
    const status = present.isStored ? present.status : ("running" as const);
    return { ...open, turns: now.turns.with(now.at, { ...present, status, failure: undefined }) };
  }
  const rest = now.turns.slice(now.at + 1);
  const place = rest.findIndex((turn) => !turn.isTold && (question === undefined || turn.asked.includes(question)));
  if (place < 0) return added(open, now.at + 1, { asked: question === undefined ? [] : [question], isTold: true });
  const at = now.at + 1 + place;
  const turn = now.turns[at]!;
  // A plan that came with the snapshot is told again, with more to it.
  return { ...open, at, turns: now.turns.with(at, { ...turn, steps: [], isTold: true, status: turn.isStored ? turn.status : "running" }) };
}

function added(now: Conversation, place: number, more: Partial<Turn>): Conversation {
  const turn: Turn = {
    key: `t${now.count}`, asked: [], steps: [], notes: [], text: "", references: [], status: "running", phase: "plan", isStored: false, isTold: false, ...more,
  };
  const at = turn.isTold ? place : now.at >= place ? now.at + 1 : now.at;
  return { ...now, count: now.count + 1, turns: now.turns.toSpliced(place, 0, turn), at };
}

function ended(now: Conversation, status: Status, failure?: Failure): Conversation {
  const turn = now.turns[now.at];
  if (!turn) return { ...now, status };
  // What was planned and not run will not be, unless the person lets it.
  const steps = status === "waiting" ? turn.steps : turn.steps.map((step) => (isOpen(step) ? { ...step, state: "skipped" as const } : step));
  return { ...now, status, turns: now.turns.with(now.at, { ...turn, steps, status, failure }) };
}

function isOpen({ state }: Step): boolean {
  return state === "due" || state === "running" || state === "retrying";
}

const PHASES: Record<string, Phase> = {
  ingress: "plan", planner: "plan", tool_router: "execute", tool_executor: "execute", verifier: "verify", generator: "generate", summarizer: "generate",
};

function afterNode(turn: Turn, event: RunEvent): Turn {
  const node = nodeOf(event) ?? "";
  const { type, data = {} } = event;
  switch (type) {
    case "on_chain_start": {
      const phase = PHASES[node];
      return phase && event.name === node ? { ...turn, phase } : turn;
    }
    case "on_chain_end":
      return event.name === undefined || event.name === node ? afterOutput(turn, node, data.output) : turn;
    case "on_tool_start":
      return toolStarted(turn, event);
    case "on_tool_end":
      return toolSettled(turn, event, { state: isEmptyOutput(data.output) ? "empty" : "done", output: data.output, durationMs: numberOf(data.duration_ms) });
    case "on_tool_error":
      return toolSettled(turn, event, { state: data.will_retry ? "retrying" : "failed", error: failureOf(data.error).message });
    case "on_custom_event":
      return typeof data.status === "string" && (node === "verifier" || node === "") ? noted(turn, data) : turn;
    case "on_chat_model_start":
      // A second start replaces what was heard.
      return node === "generator" && !turn.isStored ? { ...turn, phase: "generate", text: "" } : turn;
    case "on_chat_model_stream": {
      const chunk = data.chunk;
      return node === "generator" && !turn.isStored && typeof chunk === "string" && chunk !== "" ? { ...turn, phase: "generate", text: turn.text + chunk } : turn;
    }
    case "on_chat_model_end": {
      const text = contentOf(data.output);
      return node === "generator" && !turn.isStored && text ? { ...turn, text } : turn;
    }
    default:
      return turn;
  }
}

function afterOutput(turn: Turn, node: string, output: unknown): Turn {
  if (!isObject(output)) return turn;
  if (node === "planner" && Array.isArray(output.tool_calls)) return planned(turn, output.tool_calls.filter(isObject) as unknown as PlannedCall[]);
  if (node === "tool_router" || node === "tool_executor") return rejected(turn, output.tool_outputs);
  if (node === "generator" && !turn.isStored && turn.text === "") {
    // An answer that no model gave, such as a refusal by the policy.
    const text = Array.isArray(output.messages) ? contentOf(output.messages.at(-1)) : undefined;
    return text ? { ...turn, text } : turn;
  }
  return turn;
}

function planned(turn: Turn, calls: PlannedCall[]): Turn {
  if (calls.length === 0) return turn;
  const attempt = (turn.steps.at(-1)?.attempt ?? 0) + 1;
  // A plan of a node that was run twice is one plan.
  if (turn.steps.some((step) => step.state === "due" && calls.some(({ id }) => id === step.id))) return turn;
  return { ...turn, steps: [...turn.steps, ...calls.map((call) => stepOf(call, attempt, "due"))] };
}

function stepOf({ id, tool, args, why }: PlannedCall, attempt: number, state: Step["state"]): Step {
  return { id: String(id), attempt, tool: String(tool), args, why: why ?? "", state };
}

function toolStarted(turn: Turn, event: RunEvent): Turn {
  const { data = {}, run_id: run } = event;
  if (run !== undefined && turn.steps.some((step) => step.run === run)) return turn;
  const tool = typeof data.tool === "string" ? data.tool : (event.name ?? "");
  const args = data.input;
  const fits = (step: Step) => step.state === "due" && step.tool === tool;
  const sameId = turn.steps.findLastIndex((step) => step.state === "due" && step.id === data.tool_call_id);
  const sameArgs = turn.steps.findIndex((step) => fits(step) && JSON.stringify(step.args) === JSON.stringify(args));
  const at = sameId >= 0 ? sameId : sameArgs >= 0 ? sameArgs : turn.steps.findIndex(fits);
  const step = turn.steps[at];
  const started: Step = step
    ? { ...step, args: args ?? step.args, state: "running", run }
    : { id: String(data.tool_call_id ?? run ?? turn.steps.length), attempt: turn.steps.at(-1)?.attempt ?? 1, tool, args, why: "", state: "running", run };
  return { ...turn, phase: "execute", steps: step ? turn.steps.with(at, started) : [...turn.steps, started] };
}

function toolSettled(turn: Turn, event: RunEvent, how: Partial<Step>): Turn {
  const at = turn.steps.findLastIndex((step) => step.run !== undefined && step.run === event.run_id);
  const step = turn.steps[at];
  if (!step) return turn;
  const { error: _, ...clean } = step;
  return { ...turn, steps: turn.steps.with(at, { ...(how.error === undefined ? clean : step), ...how }) };
}

/** Calls that the router let not through come back as outputs, and were never started. */
function rejected(turn: Turn, outputs: unknown): Turn {
  if (!Array.isArray(outputs)) return turn;
  const errors = new Map(outputs.filter(isObject).filter(({ status }) => status === "error").map((output) => [String(output.tool_call_id), contentOf(output) ?? ""]));
  if (!turn.steps.some((step) => step.state === "due" && errors.has(step.id))) return turn;
  const steps = turn.steps.map((step) => (step.state === "due" && errors.has(step.id) ? { ...step, state: "failed" as const, error: errors.get(step.id) } : step));
  return { ...turn, steps };
}

function noted(turn: Turn, data: Record<string, unknown>): Turn {
  const attempt = turn.steps.at(-1)?.attempt ?? 0;
  const status = String(data.status);
  if (turn.notes.some((note) => note.attempt === attempt && note.status === status)) return turn;
  const said = Array.isArray(data.tried) ? data.tried : data.tried === undefined || data.tried === null ? [] : [data.tried];
  const tried = said.map(triedText).filter(Boolean);
  // Without a list, what was planned is what was tried.
  const known = tried.length > 0 ? tried : turn.steps.filter((step) => step.attempt === attempt).map((step) => telling(step.tool, step.args));
  return { ...turn, notes: [...turn.notes, { attempt, status, reason: typeof data.reason === "string" ? data.reason : "", tried: known }] };
}

function triedText(tried: unknown): string {
  if (typeof tried === "string") return brief(tried);
  return isObject(tried) ? telling(String(tried.tool ?? ""), tried.args ?? tried.input ?? tried.arguments) : "";
}

/** Takes over what events do not tell (references, the person) and whatever the snapshot knows better. */
function withSnapshot(now: Conversation, snapshot: Snapshot, isLast: boolean): Conversation {
  const number = Number(snapshot.lastEventId ?? 0);
  const base: Conversation = {
    ...merged(now, storedTurns(snapshot.messages)),
    userId: snapshot.userId,
    model: snapshot.model ?? now.model,
    summary: snapshot.summary ?? "",
    history: now.history ?? (Number.isFinite(number) ? number : 0),
  };
  // A snapshot that is older than the events says nothing new about where the conversation stands.
  if (number < now.last && !isLast) return base;
  const question = snapshot.status === "waiting" ? (snapshot.waiting ?? now.question) : undefined;
  const last = base.turns.at(-1);
  if (!last) return { ...base, status: snapshot.status, question };
  const isOver = snapshot.status !== "running" && snapshot.status !== "waiting";
  // Only before events are heard: afterwards they know better, and a snapshot may still have the plan of the turn before.
  const isFirst = now.history === undefined && !last.isTold;
  const steps = isFirst ? (snapshot.plan ?? []).map((call) => plannedStep(call, isOver)) : last.steps;
  const turn: Turn = { ...last, steps, status: snapshot.status, failure: snapshot.failure ?? last.failure };
  return { ...base, status: snapshot.status, question, turns: base.turns.with(-1, turn) };
}

function plannedStep(call: PlannedCall, isOver: boolean): Step {
  const known: Record<string, Step["state"]> = { ok: "done", done: "done", success: "done", empty: "empty", error: "failed", failed: "failed", running: "running" };
  const state = known[call.status ?? ""] ?? (isOver ? "done" : "due");
  return { ...stepOf(call, 1, state), ...(call.output === undefined ? {} : { output: call.output }) };
}

interface Stored {
  asked: string[];
  text: string;
  references: Reference[];
  isAnswered: boolean;
}

/** A turn begins with what a person says after an answer; what the person says before one belongs together. */
export function storedTurns(messages: Message[]): Stored[] {
  const turns: Stored[] = [];
  for (const { role, text, references } of messages) {
    const last = turns.at(-1);
    const isPerson = role === "user" || role === "human";
    if (isPerson && last && !last.isAnswered) last.asked.push(text);
    else if (isPerson) turns.push({ asked: [text], text: "", references: [], isAnswered: false });
    else if (role === "assistant" || role === "ai") {
      const turn = last ?? { asked: [], text: "", references: [], isAnswered: false };
      if (!last) turns.push(turn);
      turn.text = turn.text ? `${turn.text}\n\n${text}` : text;
      turn.references.push(...(references ?? []));
      turn.isAnswered = true;
    }
  }
  return turns;
}

/** Stored turns find theirs from the end, where both are sure to be; what has none is put in its place. */
function merged(now: Conversation, stored: Stored[]): Conversation {
  let result = now;
  let before = now.turns.length;
  for (const one of stored.toReversed()) {
    const at = result.turns.findLastIndex((turn, index) => index < before && (turn.asked.length === 0 || turn.asked.some((asked) => one.asked.includes(asked))));
    const known = at < 0 ? undefined : result.turns[at];
    const answer = one.isAnswered ? { text: one.text, references: one.references, isStored: true } : {};
    if (known) {
      const asked = one.asked.length >= known.asked.length ? one.asked : known.asked;
      const status = one.isAnswered && !known.isTold ? "completed" : known.status;
      result = { ...result, turns: result.turns.with(at, { ...known, asked, status, ...answer }) };
      before = at;
    } else {
      result = added(result, before, { asked: one.asked, status: one.isAnswered ? "completed" : "running", ...answer });
    }
  }
  return result;
}

function questionOf(data: Record<string, unknown>): Question | undefined {
  const list = Array.isArray(data.interrupts) ? data.interrupts : [data];
  const first: unknown = list[0];
  if (!isObject(first) || !isObject(first.value)) return undefined;
  const { id, value } = first;
  return value.kind === "clarification" || value.kind === "approval" ? ({ ...value, id } as unknown as Question) : undefined;
}

/** What the person said, when the run tells what it began with. */
function questionIn(input: unknown): string | undefined {
  if (!isObject(input)) return undefined;
  if (typeof input.message === "string") return input.message;
  const last = Array.isArray(input.messages) ? input.messages.at(-1) : input.messages;
  return typeof last === "string" ? last : contentOf(last);
}

/** The words of a message, whole or in parts. */
function contentOf(message: unknown): string | undefined {
  if (!isObject(message)) return undefined;
  const content = message.content ?? message.text;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((part) => (typeof part === "string" ? part : isObject(part) && typeof part.text === "string" ? part.text : "")).join("");
}

function failureOf(error: unknown): Failure {
  if (typeof error === "string") return { message: error };
  if (!isObject(error)) return { message: "" };
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { code: text(error.code), message: text(error.message) ?? text(error.detail) ?? JSON.stringify(error), hint: text(error.hint) };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
