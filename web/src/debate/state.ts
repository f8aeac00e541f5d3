/** View state of a debate: a pure reducer over snapshots and stream events. */
import type { NumberedEvent } from "../shared/event-stream";
import type { Model } from "../shared/model";
import type { Status } from "../shared/status";
import { toTimestamp } from "../shared/time";
import type { ApprovalMode, ApprovalRequest, DebateAgent, DebateEvent, DebateSnapshot, FactCheckMode, FactCheckResult, Failure, Message, PendingInterrupt } from "./types";
import { DEBATE_AGENTS } from "./types";

/** The text of one agent in one round, or a note of the user. */
export interface Turn {
  key: string;
  speaker: DebateAgent | "you";
  round: number;
  text: string;
  isDone: boolean;
  /** The text comes from a snapshot, so replayed events do not change it. */
  isStored?: boolean;
}

export interface DebateViewState {
  id: string;
  topic: string;
  maxRounds: number;
  status: Status;
  /** The current or last round; 0 before the first. */
  round: number;
  turns: Turn[];
  facts: FactCheckResult[];
  model?: Model;
  approval?: ApprovalMode;
  factCheck?: FactCheckMode;
  question?: PendingInterrupt;
  failure?: Failure;
  tokens: number;
  durationMs?: number;
  startedAt?: number;
  /** Id of the last event received. */
  lastEventId: number;
  /** Events up to this id happened before the page was opened. */
  historyEventId?: number;
}

export type DebateAction =
  | { type: "events"; events: NumberedEvent<DebateEvent>[] }
  /** `isLast`: requested after the stream ended, so its status is authoritative. */
  | { type: "snapshot"; snapshot: DebateSnapshot; isLast?: boolean }
  | { type: "answered" }
  | { type: "resumed" };

export function initialState(id: string): DebateViewState {
  return { id, topic: "", maxRounds: 0, status: "running", round: 0, turns: [], facts: [], tokens: 0, lastEventId: 0 };
}

export function debateReducer(debate: DebateViewState, action: DebateAction): DebateViewState {
  switch (action.type) {
    case "events":
      return action.events.reduce(applyEvent, debate);
    case "snapshot":
      return withSnapshot(debate, action.snapshot, action.isLast ?? false);
    case "answered":
    case "resumed":
      return { ...debate, status: "running", question: undefined, failure: undefined };
  }
}

/** Returns the body of an approval. It names the interrupt, because another one may be open by now. */
export function approvalRequest(question: PendingInterrupt | undefined, approved: boolean, note: string): ApprovalRequest {
  const content = note.trim();
  return { approved, ...(content ? { note: content } : {}), ...(question ? { interruptId: question.interruptId } : {}) };
}

function applyEvent(debate: DebateViewState, { number, event }: NumberedEvent<DebateEvent>): DebateViewState {
  if (number === undefined) return reduceEvent(debate, event);
  // Several events can share one id, so only lower ids are duplicates.
  if (number < debate.lastEventId) return debate;
  const next = reduceEvent(debate, event);
  if (debate.historyEventId === undefined || number > debate.historyEventId) return { ...next, lastEventId: number };
  // Replayed events add text. The status comes from the snapshot.
  const { turns, facts } = next;
  const round = Math.max(debate.round, next.round);
  const failure = debate.status === "error" && event.type === "error" ? event : debate.failure;
  return { ...debate, turns, facts, round, failure, lastEventId: number };
}

function reduceEvent(debate: DebateViewState, event: DebateEvent): DebateViewState {
  switch (event.type) {
    case "debate_start":
      return { ...debate, topic: event.topic, maxRounds: event.maxRounds, model: event.model, status: "running" };
    case "agent_start":
      return markRunning(withTurn(debate, event.agent, event.round, { text: "", isDone: false }), event);
    case "token":
      return markRunning(withToken(debate, event.agent, event.content));
    case "agent_end": {
      const text = typeof event.message === "string" ? event.message : event.message.content;
      const ended = withTurn(debate, event.agent, event.round, { text, isDone: true });
      return { ...markRunning(ended, event), tokens: debate.tokens + (event.tokens ?? 0) };
    }
    case "round_complete":
      return { ...debate, round: event.round, maxRounds: event.totalRounds };
    case "fact_check":
      return { ...debate, facts: mergeFacts(debate.facts, event.results) };
    case "approval_required":
      return { ...debate, status: "waiting", question: event };
    case "debate_complete":
      return { ...debate, status: "completed", question: undefined, tokens: event.totalTokens, durationMs: event.durationMs };
    case "stopped":
      return { ...debate, status: "stopped", question: undefined };
    case "error":
      return { ...debate, status: "error", failure: event };
    default:
      // A newer server may send unknown events.
      return debate;
  }
}

/** An agent is active, so no interrupt is open. The summary belongs to no round. */
function markRunning(debate: DebateViewState, turn?: { agent: DebateAgent; round: number }): DebateViewState {
  const round = turn && turn.agent !== "moderator" ? turn.round : debate.round;
  return { ...debate, round, status: "running", question: undefined, failure: undefined };
}

/** There is one summary, whatever its round. */
function turnKey(agent: DebateAgent, round: number): string {
  return agent === "moderator" ? agent : `${agent}-${round}`;
}

function withTurn(debate: DebateViewState, agent: DebateAgent, round: number, content: Pick<Turn, "text" | "isDone">): DebateViewState {
  const key = turnKey(agent, round);
  const turn: Turn = { key, speaker: agent, round, ...content };
  const index = debate.turns.findIndex((other) => other.key === key);
  if (debate.turns[index]?.isStored) return debate;
  return { ...debate, turns: index < 0 ? [...debate.turns, turn] : debate.turns.with(index, turn) };
}

function withToken(debate: DebateViewState, agent: DebateAgent, content: string): DebateViewState {
  const index = debate.turns.findLastIndex((turn) => turn.speaker === agent && !turn.isDone);
  const openTurn = debate.turns[index];
  // If the start of a turn was missed, `agent_end` brings its whole text.
  return openTurn ? { ...debate, turns: debate.turns.with(index, { ...openTurn, text: openTurn.text + content }) } : debate;
}

/** Merges a snapshot, which has data that events lack (options, notes). */
function withSnapshot(debate: DebateViewState, snapshot: DebateSnapshot, isLast: boolean): DebateViewState {
  const snapshotEventId = Number(snapshot.lastEventId ?? 0);
  const base: DebateViewState = {
    ...debate,
    topic: snapshot.topic,
    maxRounds: snapshot.maxRounds,
    model: snapshot.model,
    approval: snapshot.approval,
    factCheck: snapshot.factCheck,
    startedAt: toTimestamp(snapshot.startTime),
    historyEventId: debate.historyEventId ?? snapshotEventId,
    turns: mergeTurns(debate.turns, snapshot.messages),
    facts: mergeFacts(snapshot.factCheckResults, debate.facts),
  };
  // An older snapshot does not change the status.
  if (snapshotEventId < debate.lastEventId && !isLast) return base;
  return {
    ...base,
    status: snapshot.status,
    round: Math.max(debate.round, snapshot.round),
    question: snapshot.status === "waiting" ? (snapshot.question ?? debate.question) : undefined,
    tokens: snapshot.tokenUsage,
    durationMs: debate.durationMs ?? durationOf(snapshot),
  };
}

/** Returns the stored turns in order, then the streaming ones. */
function mergeTurns(turns: Turn[], messages: Message[]): Turn[] {
  const stored = messages.slice(isTopicMessage(messages[0]) ? 1 : 0).map((message, index): Turn => {
    const round = message.round ?? 0;
    const agent = DEBATE_AGENTS.find((name) => name === message.name);
    const key = agent ? turnKey(agent, round) : `you-${message.id ?? index}`;
    return { key, speaker: agent ?? "you", round, text: message.content, isDone: true, isStored: true };
  });
  const keys = new Set(stored.map((turn) => turn.key));
  return [...stored, ...turns.filter((turn) => !keys.has(turn.key))];
}

function mergeFacts(facts: FactCheckResult[], more: FactCheckResult[]): FactCheckResult[] {
  const existing = new Set(facts.map((fact) => JSON.stringify([fact.claim, fact.verdict, fact.sources])));
  return [...facts, ...more.filter((fact) => !existing.has(JSON.stringify([fact.claim, fact.verdict, fact.sources])))];
}

/** The first message repeats the topic, which is already the page title. */
function isTopicMessage(message: Message | undefined): boolean {
  return message !== undefined && !DEBATE_AGENTS.some((name) => name === message.name);
}

function durationOf(snapshot: DebateSnapshot): number | undefined {
  const [start, end] = [toTimestamp(snapshot.startTime), toTimestamp(snapshot.endTime)];
  return start === undefined || end === undefined ? undefined : end - start;
}
