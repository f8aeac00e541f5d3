/** A debate as the page knows it: a pure fold over what the server tells. */
import type { Told } from "../shared/follow";
import type { Model } from "../shared/model";
import type { Status } from "../shared/status";
import { timeOf } from "../shared/time";
import type { Answer, Approval, DebateEvent, Fact, FactCheck, Failure, Message, Question, Snapshot, Voice } from "./types";
import { VOICES } from "./types";

/** What one voice said in one round, or a line of the person who watches. */
export interface Turn {
  key: string;
  speaker: Voice | "you";
  round: number;
  text: string;
  done: boolean;
  /** The server has it in its state: nothing that is told again changes it. */
  stored?: boolean;
}

export interface Debate {
  id: string;
  topic: string;
  maxRounds: number;
  status: Status;
  /** The round that is being spoken, or the last one that was; 0 before the first. */
  round: number;
  turns: Turn[];
  facts: Fact[];
  model?: Model;
  approval?: Approval;
  factCheck?: FactCheck;
  question?: Question;
  failure?: Failure;
  tokens: number;
  durationMs?: number;
  startedAt?: number;
  /** Number of the last event that was told. */
  last: number;
  /** What was told up to this number happened before the page was opened. */
  history?: number;
}

export type Action =
  | { type: "told"; events: Told<DebateEvent>[] }
  /** `isLast`: asked for after the stream ended, so it is right about where the debate stands. */
  | { type: "snapshot"; snapshot: Snapshot; isLast?: boolean }
  | { type: "answered" }
  | { type: "resumed" };

export function fresh(id: string): Debate {
  return { id, topic: "", maxRounds: 0, status: "running", round: 0, turns: [], facts: [], tokens: 0, last: 0 };
}

export function reduce(debate: Debate, action: Action): Debate {
  switch (action.type) {
    case "told":
      return action.events.reduce(told, debate);
    case "snapshot":
      return withSnapshot(debate, action.snapshot, action.isLast ?? false);
    case "answered":
    case "resumed":
      return { ...debate, status: "running", question: undefined, failure: undefined };
  }
}

/** What is sent for an answer. It names the question that was read: by now the debate may ask something else. */
export function answerTo(question: Question | undefined, approved: boolean, note: string): Answer {
  const said = note.trim();
  return { approved, ...(said ? { note: said } : {}), ...(question ? { interruptId: question.interruptId } : {}) };
}

function told(debate: Debate, { number, event }: Told<DebateEvent>): Debate {
  if (number === undefined) return after(debate, event);
  // One thing that happened may be told as several events with one number, so only lower ones are repeats.
  if (number < debate.last) return debate;
  const next = after(debate, event);
  if (debate.history === undefined || number > debate.history) return { ...next, last: number };
  // The past fills in words; where the debate stands, the snapshot knows better.
  const { turns, facts } = next;
  const round = Math.max(debate.round, next.round);
  const failure = debate.status === "error" && event.type === "error" ? event : debate.failure;
  return { ...debate, turns, facts, round, failure, last: number };
}

function after(debate: Debate, event: DebateEvent): Debate {
  switch (event.type) {
    case "debate_start":
      return { ...debate, topic: event.topic, maxRounds: event.maxRounds, model: event.model, status: "running" };
    case "agent_start":
      return going(withTurn(debate, event.agent, event.round, { text: "", done: false }), event);
    case "token":
      return going(withToken(debate, event.agent, event.content));
    case "agent_end": {
      const text = typeof event.message === "string" ? event.message : event.message.content;
      const ended = withTurn(debate, event.agent, event.round, { text, done: true });
      return { ...going(ended, event), tokens: debate.tokens + (event.tokens ?? 0) };
    }
    case "round_complete":
      return { ...debate, round: event.round, maxRounds: event.totalRounds };
    case "fact_check":
      return { ...debate, facts: united(debate.facts, event.results) };
    case "approval_required":
      return { ...debate, status: "waiting", question: event };
    case "debate_complete":
      return { ...debate, status: "completed", question: undefined, tokens: event.totalTokens, durationMs: event.durationMs };
    case "stopped":
      return { ...debate, status: "stopped", question: undefined };
    case "error":
      return { ...debate, status: "error", failure: event };
    default:
      // A newer server may tell more than this page knows.
      return debate;
  }
}

/** Someone speaks, so nothing is waited for any more. The summary belongs to no round. */
function going(debate: Debate, turn?: { agent: Voice; round: number }): Debate {
  const round = turn && turn.agent !== "moderator" ? turn.round : debate.round;
  return { ...debate, round, status: "running", question: undefined, failure: undefined };
}

/** There is one summary, whatever round it is told for. */
function keyOf(voice: Voice, round: number): string {
  return voice === "moderator" ? voice : `${voice}-${round}`;
}

function withTurn(debate: Debate, voice: Voice, round: number, said: Pick<Turn, "text" | "done">): Debate {
  const key = keyOf(voice, round);
  const turn: Turn = { key, speaker: voice, round, ...said };
  const at = debate.turns.findIndex((other) => other.key === key);
  if (debate.turns[at]?.stored) return debate;
  return { ...debate, turns: at < 0 ? [...debate.turns, turn] : debate.turns.with(at, turn) };
}

function withToken(debate: Debate, voice: Voice, content: string): Debate {
  const at = debate.turns.findLastIndex((turn) => turn.speaker === voice && !turn.done);
  const open = debate.turns[at];
  // Words whose beginning was not heard come whole with the end of the turn.
  return open ? { ...debate, turns: debate.turns.with(at, { ...open, text: open.text + content }) } : debate;
}

/** Takes over what events do not tell (options, notes) and whatever the snapshot knows better. */
function withSnapshot(debate: Debate, snapshot: Snapshot, isLast: boolean): Debate {
  const told = Number(snapshot.lastEventId ?? 0);
  const base: Debate = {
    ...debate,
    topic: snapshot.topic,
    maxRounds: snapshot.maxRounds,
    model: snapshot.model,
    approval: snapshot.approval,
    factCheck: snapshot.factCheck,
    startedAt: timeOf(snapshot.startTime),
    history: debate.history ?? told,
    turns: merged(debate.turns, snapshot.messages),
    facts: united(snapshot.factCheckResults, debate.facts),
  };
  // A snapshot that is older than the events says nothing new about where the debate stands.
  if (told < debate.last && !isLast) return base;
  return {
    ...base,
    status: snapshot.status,
    round: Math.max(debate.round, snapshot.round),
    question: snapshot.status === "waiting" ? (snapshot.question ?? debate.question) : undefined,
    tokens: snapshot.tokenUsage,
    durationMs: debate.durationMs ?? duration(snapshot),
  };
}

/** The order of the stored messages first, then what is still being said. */
function merged(turns: Turn[], messages: Message[]): Turn[] {
  const stored = messages.slice(isOpening(messages[0]) ? 1 : 0).map((message, index): Turn => {
    const round = message.round ?? 0;
    const voice = VOICES.find((name) => name === message.name);
    const key = voice ? keyOf(voice, round) : `you-${message.id ?? index}`;
    return { key, speaker: voice ?? "you", round, text: message.content, done: true, stored: true };
  });
  const keys = new Set(stored.map((turn) => turn.key));
  return [...stored, ...turns.filter((turn) => !keys.has(turn.key))];
}

function united(facts: Fact[], more: Fact[]): Fact[] {
  const seen = new Set(facts.map((fact) => JSON.stringify([fact.claim, fact.verdict, fact.sources])));
  return [...facts, ...more.filter((fact) => !seen.has(JSON.stringify([fact.claim, fact.verdict, fact.sources])))];
}

/** The first message repeats the topic, which the page shows as its title. */
function isOpening(message: Message | undefined): boolean {
  return message !== undefined && !VOICES.some((name) => name === message.name);
}

function duration(snapshot: Snapshot): number | undefined {
  const [start, end] = [timeOf(snapshot.startTime), timeOf(snapshot.endTime)];
  return start === undefined || end === undefined ? undefined : end - start;
}
