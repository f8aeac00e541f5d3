/** What the server says and takes, as the page uses it. */
import type { Model, ModelChoice } from "../shared/model";
import type { Status } from "../shared/status";

export const VOICES = ["optimist", "skeptic", "moderator"] as const;
export type Voice = (typeof VOICES)[number];

export type Approval = "off" | "before_summary" | "each_round";
export type FactCheck = "off" | "each_round" | "at_end";
export type Verdict = "true" | "false" | "unverifiable";

export interface Fact {
  claim: string;
  verdict: Verdict;
  sources: string[];
}

export interface Message {
  id?: string;
  name?: string | null;
  content: string;
  round?: number;
}

export interface Question {
  interruptId: string;
  question: string;
  round: number;
}

/** The body of `POST /api/debate/{id}/approval`. */
export interface Answer {
  approved: boolean;
  note?: string;
  interruptId?: string;
}

export interface Failure {
  code: string;
  message: string;
  hint?: string;
  retryable?: boolean;
}

/** `GET /api/debate/{id}`. */
export interface Snapshot {
  id: string;
  topic: string;
  maxRounds: number;
  round: number;
  status: Status;
  model: Model;
  approval: Approval;
  factCheck: FactCheck;
  question?: Question | null;
  messages: Message[];
  factCheckResults: Fact[];
  tokenUsage: number;
  startTime?: string | number | null;
  endTime?: string | number | null;
  lastEventId?: number | string | null;
}

/** What is told with `format=debate`; the name of the event is `type` here. */
export type DebateEvent =
  | { type: "debate_start"; id: string; topic: string; maxRounds: number; model: Model }
  | { type: "agent_start"; agent: Voice; round: number; timestamp?: string }
  | { type: "token"; agent: Voice; content: string }
  | { type: "agent_end"; agent: Voice; round: number; message: string | Message; tokens?: number }
  | { type: "round_complete"; round: number; totalRounds: number }
  | { type: "fact_check"; results: Fact[] }
  | ({ type: "approval_required" } & Question)
  | { type: "debate_complete"; summary: string; totalTokens: number; durationMs: number }
  | { type: "stopped"; round: number }
  | ({ type: "error" } & Failure);

/** A line of `GET /api/debates`. */
export interface Past {
  id: string;
  topic: string;
  status: Status;
  maxRounds: number;
  startTime?: string | number | null;
}

/** `GET /api/debate/settings`. */
export interface Settings {
  models: ModelChoice[];
  evidence: { configured: boolean; documents: number };
}

/** The body of `POST /api/debate`, without what the page always sets. */
export interface Wish {
  topic: string;
  maxRounds: number;
  approval: Approval;
  factCheck: FactCheck;
  model?: string;
}
