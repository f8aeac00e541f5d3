/** Types of the HTTP API. */
import type { Model, ModelChoice } from "../shared/model";
import type { Status } from "../shared/status";

/** A tool call in a plan. */
export interface PlannedCall {
  id: string;
  tool: string;
  args?: unknown;
  depends_on?: string[];
  why?: string;
  /** Only in snapshots. */
  status?: string;
  output?: unknown;
}

export interface Reference {
  n: number;
  tool: string;
  source: string;
  query?: string | null;
}

export interface Message {
  role: string;
  text: string;
  references?: Reference[];
}

/** Fields that all interrupts have. */
interface InterruptBase {
  /** Sent with the answer, so that it cannot apply to another interrupt. */
  id: string;
}

export interface Clarification extends InterruptBase {
  kind: "clarification";
  question: string;
  choices?: (string | { label?: string; value?: unknown })[];
}

export interface Approval extends InterruptBase {
  kind: "approval";
  tool: string;
  arguments?: unknown;
  effect?: string;
  /** Reason for the request. */
  why?: string;
  /** `unknown` if an earlier attempt may have run. */
  outcome?: string;
  /** Allowed decisions (default: all). */
  decisions?: string[];
}

export type PendingInterrupt = Clarification | Approval;

export interface Failure {
  code?: string;
  message: string;
  hint?: string | null;
}

/** `GET /api/assistant/{id}`. */
export interface SessionSnapshot {
  sessionId: string;
  userId: string;
  status: Status;
  messages: Message[];
  plan?: PlannedCall[];
  waiting?: PendingInterrupt | null;
  summary?: string;
  model?: Model;
  failure?: Failure | null;
  lastEventId?: number | string | null;
}

/** An event of a run. The SSE event name is `type`. */
export interface RunEvent {
  type: string;
  name?: string;
  run_id?: string;
  parent_ids?: string[];
  metadata?: { langgraph_node?: string; node?: string };
  // The content depends on the event and is checked field by field.
  data?: Record<string, unknown>;
}

/** An entry of `GET /api/assistant`. */
export interface Session {
  sessionId: string;
  title?: string | null;
  status: Status;
  updatedAt?: string | null;
}

/** An entry of `GET /api/assistant/memory`. */
export interface Fact {
  key: string;
  text: string;
  source?: string | null;
  date?: string | null;
}

export interface User {
  id: string;
  name: string;
  role?: string;
}

/** `GET /api/assistant/settings`: tools and tables of the requesting user. */
export interface Settings {
  models: ModelChoice[];
  users: User[];
  tools: { name: string; description?: string; destructive?: boolean }[];
  data?: { tables?: (string | { name: string })[] };
  examples?: string[];
}

/** Answer to an approval. */
export type Decision = { decision: "allow_once" | "allow_session" | "deny" } | { decision: "change"; arguments: unknown };
