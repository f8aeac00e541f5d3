/** Types of the HTTP API. */
import type { Model, ModelChoice } from "../shared/model";

/** In display order. */
export const SOURCES = ["docs", "issues", "m365", "posts"] as const;
export type SourceName = (typeof SOURCES)[number];

export const MODES = ["question", "offer", "event"] as const;
export type Mode = (typeof MODES)[number];
export const TTLS = ["1h", "24h", "72h", "7d"] as const;
export type TimeToLive = (typeof TTLS)[number];
export type EngagementKind = "interested" | "join";

export interface Post {
  id: string;
  authorId?: string;
  authorName?: string;
  text: string;
  tags: string[];
  mode: Mode;
  createdAt: string;
  expiresAt: string;
  interestedCount: number;
  joinCount: number;
}

export interface Suggestion {
  title: string;
  url: string;
  description: string;
  sourceType: "m365" | "doc" | "issue" | "post";
  source?: "onedrive" | "sharepoint" | "email" | null;
  status: "available" | "unavailable";
}

export interface Query {
  tool: string;
  query: string;
  found: number;
  status: "ok" | "empty" | "error";
}

/** Results by source. */
export interface SearchResponse {
  m365: Suggestion[];
  docs: Suggestion[];
  issues: Suggestion[];
  posts: Post[];
  unavailableSources: string[];
  reasons?: Record<string, string>;
  /** Problems that did not stop the search. */
  warnings?: string[];
}

/** `GET /api/posts/{id}/suggestions`, and the last event of its stream. */
export interface SuggestionsResponse extends SearchResponse {
  actionHint: string | null;
  model?: Model;
  queries?: Query[];
}

/** `GET /api/posts`. */
export interface PostsResponse {
  posts: Post[];
  next?: string | null;
}

/** `GET /api/suggestions/settings`. */
export interface Settings {
  models: ModelChoice[];
  sources: Partial<Record<SourceName, { configured: boolean; reason?: string | null }>>;
}

/** An event of a run. The SSE event name is `type`. */
export interface RunEvent {
  type: string;
  name?: string;
  run_id?: string;
  data?: { input?: unknown; output?: unknown; error?: unknown; will_retry?: boolean };
}
