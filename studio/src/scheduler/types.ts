/** What the server says and takes, as the page uses it. */

export type WeekStart = "monday" | "sunday" | "saturday";
export type Priority = "low" | "medium" | "high" | "critical";
export type Flexibility = "fixed" | "preferred" | "flexible";
export const PRIORITIES: Priority[] = ["low", "medium", "high", "critical"];
export const FLEXIBILITIES: Flexibility[] = ["fixed", "preferred", "flexible"];

export interface Family {
  id: string;
  name: string;
  zone: string;
  week_start: WeekStart;
  always_ask?: boolean;
}

export interface Member {
  id: string;
  name: string;
  role: "parent" | "child" | "other";
  aliases?: string[];
  zone?: string | null;
}

export interface Resource {
  id: string;
  name: string;
  type?: string;
  capacity?: number;
}

export interface Calendar {
  id: string;
  name: string;
  owner?: string | null;
  visibility?: "family" | "private";
}

/** `GET /api/scheduler/settings`; who says not who they are gets family, members and examples only. */
export interface Settings {
  family: Family;
  members: Member[];
  examples: string[];
  me?: string | Member;
  now?: string;
  parser?: { label: string; model?: unknown };
  resources?: Resource[];
  calendars?: Calendar[];
  feed?: string | null;
}

/** Something on the calendar, at one of its times. */
export interface Instance {
  event_id: string;
  title: string;
  start: string;
  end: string;
  is_all_day: boolean;
  is_busy: boolean;
  is_tentative: boolean;
  status: string;
  participants: { id: string; name: string; is_required: boolean }[];
  resources: { id: string; name: string }[];
  calendar?: string | null;
  location?: string | null;
  notes?: string | null;
  recurrence_rule: string | null;
  /** When this one of a series was to start, on the wall. */
  occurrence: string | null;
  /** Whether this one of a series was changed by itself. */
  is_exception?: boolean;
  priority?: Priority | null;
  flexibility?: Flexibility | null;
  owner?: string | null;
  may_change: boolean;
}

export interface Conflict {
  id: string;
  type: "time_conflict" | "resource_conflict" | "constraint_violation";
  severity: Priority;
  conflicting_event_id?: string | null;
  conflicting_event_title?: string | null;
  participants_affected?: string[];
  details: string;
}

/** `GET /api/scheduler/events`. */
export interface Shown {
  events: Instance[];
  conflicts: Conflict[];
}

export interface ResolutionChange {
  event_id?: string | null;
  field?: string | null;
  old_value?: string | null;
  new_value?: string | null;
  action?: "move" | "cancel" | "shorten" | "split" | null;
}

export interface ProposedResolution {
  resolution_id: string;
  description: string;
  strategy: "move_event" | "shorten_event" | "split_event" | "cancel_event" | "override_constraint" | "alternative_resource";
  score: number;
  changes: ResolutionChange[];
  conflicts_resolved: string[];
  side_effects: string[];
}

export type Intent = "create" | "modify" | "cancel" | "query";

/** What a sentence says. */
export interface Parsed {
  event_type: Intent;
  title?: string | null;
  start_time?: string | null;
  end_time?: string | null;
  participants?: string[];
  resources?: string[];
  recurrence_rule?: string | null;
  priority?: Priority | null;
  flexibility?: Flexibility | null;
}

export interface Found {
  part: string;
  text: string;
  value?: unknown;
}

export interface Choice {
  id: string;
  label: string;
  detail?: string | null;
}

/** The question that waits for a person. */
export interface Waiting {
  question_id: string;
  kind: "clarification" | "resolution" | "confirmation";
  question: string;
  understood?: Parsed | null;
  found?: Found[];
  missing?: (string | { part: string })[];
  choices?: Choice[];
  resolutions?: ProposedResolution[];
  recommended?: string | null;
  conflicts?: Conflict[];
}

export interface Understood {
  data: Parsed;
  confidence: number;
  found: Found[];
}

/** An event as an answer tells it: at its first time when it repeats. */
export interface CalendarEvent {
  event_id?: string;
  id?: string;
  title: string;
  start?: string;
  end?: string;
  start_time?: string;
  end_time?: string;
  participants?: (string | { id: string; is_required?: boolean })[];
  recurrence_rule?: string | null;
  /** As of an instance. */
  occurrence?: string | null;
  is_exception?: boolean;
}

export interface QueryData {
  query_type: "availability" | "event_lookup" | "resource_status" | "conflict_check";
  results: {
    free?: { start: string; end: string; members: string[] }[];
    events?: { event_id: string; title: string; start: string; end: string; is_all_day?: boolean; location?: string }[];
    resources?: { resource_id: string; resource_name: string; available: boolean; current_capacity: number; max_capacity: number }[];
    fits?: boolean;
    conflicts?: Conflict[];
    slots?: { start_time: string; end_time: string }[];
  };
}

export type Action = "created" | "changed" | "cancelled" | "answered" | "declined" | "none";

/** What comes of a sentence. */
export interface Answer {
  workflow_id: string;
  status: "in_progress" | "completed" | "failed" | "awaiting_user";
  result?: { event?: CalendarEvent | null; events?: CalendarEvent[]; query?: QueryData | null; action: Action } | null;
  explanation?: string | null;
  agent_outputs?: Record<string, { explanation?: string; confidence?: number }>;
  workflow_steps?: string[];
  errors?: { step: string; message: string; retryable?: boolean }[];
  waiting?: Waiting | null;
  understood?: Understood | null;
  messages?: { role: "user" | "assistant" | "system"; content: string; timestamp?: string }[];
}

/** A line of `GET /api/scheduler/threads`. */
export interface Thread {
  workflow_id: string;
  title?: string | null;
  status: Answer["status"];
  updated_at?: string | null;
}

/** What a clarification may say. */
export interface Fields {
  title?: string;
  start_time?: string;
  end_time?: string;
  participants?: string[];
  resources?: string[];
  event_id?: string;
  add?: NewName[];
  confirm?: true;
}

/** Somebody or something that the family gets to know. */
export interface NewName {
  name: string;
  kind: "person" | "resource";
}

/** What may be answered. */
export type Reply =
  | { text?: string; fields?: Fields }
  | { resolution_id: string }
  | { decline: true }
  | { resolution: ProposedResolution }
  | { confirm: boolean };

export type Which = "this" | "following" | "all";

/** What is changed of an event; what is not named stays. */
export interface Patch {
  which?: Which;
  occurrence?: string;
  title?: string;
  start?: string;
  end?: string;
  participants?: { id: string; is_required: boolean }[];
  resources?: string[];
  recurrence_rule?: string | null;
  priority?: Priority;
  flexibility?: Flexibility;
  location?: string;
  notes?: string;
  force?: boolean;
}

/** `POST /api/scheduler/import`. */
export interface Imported {
  created: number;
  updated: number;
  unchanged: number;
  skipped: { line?: number | null; property?: string | null; reason: string; title?: string | null }[];
  /** What the calendar has people do at once by it. */
  conflicts: Conflict[];
}
