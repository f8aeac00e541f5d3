/** Resolutions of an open interrupt: order, calendar preview, resume values. Pure. */
import type { EventInstance, InterruptChoice, NewFamilyName, NlParserData, PendingInterrupt, ProposedResolution, ResumeValue, Settings } from "./types";
import { toTimestamp } from "./local-time";

/** An event that a resolution would create. */
export interface PreviewEvent {
  key: string;
  title: string;
  start: string;
  end: string;
  participants: string[];
  is_all_day: false;
}

export interface ResolutionPreview {
  previews: PreviewEvent[];
  /** Events that would be moved or removed. */
  removedIds: string[];
}

export const EMPTY_PREVIEW: ResolutionPreview = { previews: [], removedIds: [] };

/** Returns the recommended resolution first, then the order of the server. */
export function sortedResolutions({ resolutions = [], recommended }: PendingInterrupt): ProposedResolution[] {
  return [...resolutions].sort((a, b) => Number(b.resolution_id === recommended) - Number(a.resolution_id === recommended));
}

/** Previews the request, or the effect of a resolution. */
export function previewResolution(request: NlParserData | null | undefined, events: EventInstance[], resolution?: ProposedResolution): ResolutionPreview {
  const eventsById = new Map(events.map((event) => [event.event_id, event]));
  const isProposal = (event: EventInstance) => event.is_tentative && event.title === request?.title && request?.start_time != null && toTimestamp(event.start) === toTimestamp(request.start_time);
  // The requested event may already be on the calendar as a proposal.
  const proposal = events.find(isProposal)?.event_id;
  const requested = toPreview(request);
  const changedIds = new Set(resolution?.changes.flatMap(({ event_id }) => event_id ?? []));
  const removedIds = new Set(proposal ? [proposal] : []);
  const previews: PreviewEvent[] = [];
  let isRequestChanged = false;
  for (const id of changedIds) {
    const changes = resolution!.changes.filter(({ event_id }) => event_id === id);
    const other = id === proposal ? undefined : eventsById.get(id);
    const from = other ? { ...toPreview(other)!, key: id } : requested && { ...requested, key: id };
    if (!other) isRequestChanged = true;
    if (changes.some(({ action }) => action === "cancel")) {
      if (other) removedIds.add(id);
      continue;
    }
    if (!from) continue;
    const valueOf = (field: string) => changes.find((change) => change.field === field)?.new_value ?? undefined;
    const [start, end] = [valueOf("start_time"), valueOf("end_time")];
    if (other && !start && !end) continue;
    if (other) removedIds.add(id);
    previews.push({ ...from, start: start ?? from.start, end: end ?? shiftEnd(from, start) });
  }
  if (requested && !isRequestChanged) previews.unshift(requested);
  return { previews, removedIds: [...removedIds] };
}

function toPreview(source: NlParserData | EventInstance | null | undefined): PreviewEvent | undefined {
  if (!source) return undefined;
  const [start, end] = "start" in source ? [source.start, source.end] : [(source as NlParserData).start_time, (source as NlParserData).end_time];
  if (!start || !end) return undefined;
  const participants = (source.participants ?? []).map((item) => (typeof item === "string" ? item : item.id));
  return { key: "requested", title: source.title ?? "", start, end, participants, is_all_day: false };
}

/** Returns the end for a new start: same duration, offset of the new start. */
function shiftEnd({ start, end }: PreviewEvent, newStart: string | undefined): string {
  if (!newStart) return end;
  const offset = /([+-])(\d\d):(\d\d)$/.exec(newStart);
  const offsetMs = offset ? (offset[1] === "-" ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3])) * 60_000 : 0;
  const timestamp = toTimestamp(newStart) + toTimestamp(end) - toTimestamp(start);
  return `${new Date(timestamp + offsetMs).toISOString().slice(0, 19)}${offset?.[0] ?? "Z"}`;
}

/** Returns the names of the missing fields. */
export function missingFields({ missing = [] }: PendingInterrupt): string[] {
  return [...new Set(missing.map((item) => (typeof item === "string" ? item : item.part)))];
}

/** Converts a choice into a resume value by its id; unknown ids send the label. */
export function choiceToReply(choice: InterruptChoice, waiting: PendingInterrupt, { members, resources = [] }: Pick<Settings, "members" | "resources">): ResumeValue {
  const { id, label } = choice;
  const { participants = [], resources: resourceIds = [] } = waiting.understood ?? {};
  const newName = /^add:(person|resource):(.+)$/s.exec(id);
  if (newName) return { fields: { add: [{ name: newName[2]!, kind: newName[1] as NewFamilyName["kind"] }] } };
  if (missingFields(waiting).includes("event")) return { fields: { event_id: id } };
  if (members.some((member) => member.id === id)) return { fields: { participants: [...new Set([...participants, id])] } };
  if (resources.some((resource) => resource.id === id)) return { fields: { resources: [...new Set([...resourceIds, id])] } };
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(id)) return { fields: { start_time: id } };
  if (id === "confirm" || id === "yes") return { fields: { confirm: true } };
  return { text: label };
}
