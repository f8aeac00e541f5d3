/** Types of the HTTP API. */

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

/** `GET /api/scheduler/settings`. Without a user it has only family, members and examples. */
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

/** One occurrence of an event. */
export interface EventInstance {
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
  /** Original start of this occurrence, in local time. */
  occurrence: string | null;
  /** This occurrence was changed separately from its series. */
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
export interface EventsResponse {
  events: EventInstance[];
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

export type EventType = "create" | "modify" | "cancel" | "query";

/** The parsed request. */
export interface NlParserData {
  event_type: EventType;
  title?: string | null;
  start_time?: string | null;
  end_time?: string | null;
  participants?: string[];
  resources?: string[];
  recurrence_rule?: string | null;
  priority?: Priority | null;
  flexibility?: Flexibility | null;
}

export interface ParsedSpan {
  part: string;
  text: string;
  value?: unknown;
}

export interface InterruptChoice {
  id: string;
  label: string;
  detail?: string | null;
}

/** The open interrupt of a conversation. */
export interface PendingInterrupt {
  question_id: string;
  kind: "clarification" | "resolution" | "confirmation";
  question: string;
  understood?: NlParserData | null;
  found?: ParsedSpan[];
  missing?: (string | { part: string })[];
  choices?: InterruptChoice[];
  resolutions?: ProposedResolution[];
  recommended?: string | null;
  conflicts?: Conflict[];
}

export interface ParsedRequest {
  data: NlParserData;
  confidence: number;
  found: ParsedSpan[];
}

/** The event of a response; a recurring event has the times of the mentioned instance, else of its next one. */
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
  /** See `EventInstance`. */
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

export type WorkflowAction = "created" | "changed" | "cancelled" | "answered" | "declined" | "none";

/** Response to a request. */
export interface WorkflowResponse {
  workflow_id: string;
  status: "in_progress" | "completed" | "failed" | "awaiting_user";
  result?: { event?: CalendarEvent | null; events?: CalendarEvent[]; query?: QueryData | null; action: WorkflowAction } | null;
  explanation?: string | null;
  agent_outputs?: Record<string, { explanation?: string; confidence?: number }>;
  workflow_steps?: string[];
  errors?: { step: string; message: string; retryable?: boolean }[];
  waiting?: PendingInterrupt | null;
  understood?: ParsedRequest | null;
  messages?: { role: "user" | "assistant" | "system"; content: string; timestamp?: string }[];
}

/** An entry of `GET /api/scheduler/threads`. */
export interface ConversationListItem {
  workflow_id: string;
  title?: string | null;
  status: WorkflowResponse["status"];
  updated_at?: string | null;
}

/** Fields that answer a clarification. */
export interface ClarificationFields {
  title?: string;
  start_time?: string;
  end_time?: string;
  participants?: string[];
  resources?: string[];
  event_id?: string;
  add?: NewFamilyName[];
  confirm?: true;
}

/** A new family member or resource. */
export interface NewFamilyName {
  name: string;
  kind: "person" | "resource";
}

/** Answer to an interrupt. */
export type ResumeValue =
  | { text?: string; fields?: ClarificationFields }
  | { resolution_id: string }
  | { decline: true }
  | { resolution: ProposedResolution }
  | { confirm: boolean };

export type SeriesScope = "this" | "following" | "all";

/** A partial update of an event. */
export interface EventPatch {
  which?: SeriesScope;
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
export interface ImportReport {
  created: number;
  updated: number;
  unchanged: number;
  skipped: { line?: number | null; property?: string | null; reason: string; title?: string | null }[];
  /** Conflicts that the import caused. */
  conflicts: Conflict[];
}
