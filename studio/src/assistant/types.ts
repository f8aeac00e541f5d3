/** What the server says and takes, as the page uses it. */
import type { Model, ModelChoice } from "../shared/model";
import type { Status } from "../shared/status";

/** A call of a tool, as the planner wants it. */
export interface PlannedCall {
  id: string;
  tool: string;
  args?: unknown;
  depends_on?: string[];
  why?: string;
  /** Told with a snapshot, when the server knows. */
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

/** What every question has. */
interface Asked {
  /** What an answer names, so that it never hits another question. */
  id: string;
}

export interface Clarification extends Asked {
  kind: "clarification";
  question: string;
  choices?: (string | { label?: string; value?: unknown })[];
}

export interface Approval extends Asked {
  kind: "approval";
  tool: string;
  arguments?: unknown;
  effect?: string;
  /** Why it is asked. */
  why?: string;
  /** `unknown` where the call was begun before and nobody knows how it ended. */
  outcome?: string;
  /** What may be answered; everything unless given. */
  decisions?: string[];
}

export type Question = Clarification | Approval;

export interface Failure {
  code?: string;
  message: string;
  hint?: string | null;
}

/** `GET /api/assistant/{id}`. */
export interface Snapshot {
  sessionId: string;
  userId: string;
  status: Status;
  messages: Message[];
  plan?: PlannedCall[];
  waiting?: Question | null;
  summary?: string;
  model?: Model;
  failure?: Failure | null;
  lastEventId?: number | string | null;
}

/** One event of a run; the name of the event is `type`. */
export interface RunEvent {
  type: string;
  name?: string;
  run_id?: string;
  parent_ids?: string[];
  metadata?: { langgraph_node?: string; node?: string };
  // What is in it depends on the event; it is looked at piece by piece.
  data?: Record<string, unknown>;
}

/** A line of `GET /api/assistant`. */
export interface Session {
  sessionId: string;
  title?: string | null;
  status: Status;
  updatedAt?: string | null;
}

/** A line of `GET /api/assistant/memory`. */
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

/** `GET /api/assistant/settings`; tools and tables are those that the user who asks may use. */
export interface Settings {
  models: ModelChoice[];
  users: User[];
  tools: { name: string; description?: string; destructive?: boolean }[];
  data?: { tables?: (string | { name: string })[] };
  examples?: string[];
}

/** What may be answered to an approval. */
export type Decision = { decision: "allow_once" | "allow_session" | "deny" } | { decision: "change"; arguments: unknown };
