/** Types of the HTTP API. */
import type { Model, ModelChoice } from "../shared/model";
import type { Status } from "../shared/status";

export const DEBATE_AGENTS = ["optimist", "skeptic", "moderator"] as const;
export type DebateAgent = (typeof DEBATE_AGENTS)[number];

export type ApprovalMode = "off" | "before_summary" | "each_round";
export type FactCheckMode = "off" | "each_round" | "at_end";
export type Verdict = "true" | "false" | "unverifiable";

export interface FactCheckResult {
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

export interface PendingInterrupt {
  interruptId: string;
  question: string;
  round: number;
}

/** The body of `POST /api/debate/{id}/approval`. */
export interface ApprovalRequest {
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
export interface DebateSnapshot {
  id: string;
  topic: string;
  maxRounds: number;
  round: number;
  status: Status;
  model: Model;
  approval: ApprovalMode;
  factCheck: FactCheckMode;
  question?: PendingInterrupt | null;
  messages: Message[];
  factCheckResults: FactCheckResult[];
  tokenUsage: number;
  startTime?: string | number | null;
  endTime?: string | number | null;
  lastEventId?: number | string | null;
}

/** An event of `format=debate`. The SSE event name is `type`. */
export type DebateEvent =
  | { type: "debate_start"; id: string; topic: string; maxRounds: number; model: Model }
  | { type: "agent_start"; agent: DebateAgent; round: number; timestamp?: string }
  | { type: "token"; agent: DebateAgent; content: string }
  | { type: "agent_end"; agent: DebateAgent; round: number; message: string | Message; tokens?: number }
  | { type: "round_complete"; round: number; totalRounds: number }
  | { type: "fact_check"; results: FactCheckResult[] }
  | ({ type: "approval_required" } & PendingInterrupt)
  | { type: "debate_complete"; summary: string; totalTokens: number; durationMs: number }
  | { type: "stopped"; round: number }
  | ({ type: "error" } & Failure);

/** An entry of `GET /api/debates`. */
export interface DebateListItem {
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

/** The body of `POST /api/debate`, without the fields that are always the same. */
export interface CreateDebateRequest {
  topic: string;
  maxRounds: number;
  approval: ApprovalMode;
  factCheck: FactCheckMode;
  model?: string;
}
