/** A question that waits: which way out comes first, how each would look on the calendar, what a choice answers. Pure. */
import type { Choice, Instance, NewName, Parsed, ProposedResolution, Reply, Settings, Waiting } from "./types";
import { momentOf } from "./wall";

/** What is not on the calendar, but would be. */
export interface Ghost {
  key: string;
  title: string;
  start: string;
  end: string;
  participants: string[];
  is_all_day: false;
}

export interface Preview {
  ghosts: Ghost[];
  /** Events that would be gone or elsewhere. */
  gone: string[];
}

export const NOTHING: Preview = { ghosts: [], gone: [] };

/** The recommended one first, the rest as the server ranks them. */
export function waysOf({ resolutions = [], recommended }: Waiting): ProposedResolution[] {
  return [...resolutions].sort((a, b) => Number(b.resolution_id === recommended) - Number(a.resolution_id === recommended));
}

/** What is wanted as it stands, or as it would be with a way out. */
export function previewOf(wanted: Parsed | null | undefined, events: Instance[], way?: ProposedResolution): Preview {
  const known = new Map(events.map((event) => [event.event_id, event]));
  const isOwn = (event: Instance) => event.is_tentative && event.title === wanted?.title && wanted?.start_time != null && momentOf(event.start) === momentOf(wanted.start_time);
  // The event that is asked for may stand on the calendar already, as somebody's proposal.
  const own = events.find(isOwn)?.event_id;
  const base = ghostOf(wanted);
  const touched = new Set(way?.changes.flatMap(({ event_id }) => event_id ?? []));
  const gone = new Set(own ? [own] : []);
  const ghosts: Ghost[] = [];
  let isBaseTouched = false;
  for (const id of touched) {
    const changes = way!.changes.filter(({ event_id }) => event_id === id);
    const other = id === own ? undefined : known.get(id);
    const from = other ? { ...ghostOf(other)!, key: id } : base && { ...base, key: id };
    if (!other) isBaseTouched = true;
    if (changes.some(({ action }) => action === "cancel")) {
      if (other) gone.add(id);
      continue;
    }
    if (!from) continue;
    const valueOf = (field: string) => changes.find((change) => change.field === field)?.new_value ?? undefined;
    const [start, end] = [valueOf("start_time"), valueOf("end_time")];
    if (other && !start && !end) continue;
    if (other) gone.add(id);
    ghosts.push({ ...from, start: start ?? from.start, end: end ?? shifted(from, start) });
  }
  if (base && !isBaseTouched) ghosts.unshift(base);
  return { ghosts, gone: [...gone] };
}

function ghostOf(of: Parsed | Instance | null | undefined): Ghost | undefined {
  if (!of) return undefined;
  const [start, end] = "start" in of ? [of.start, of.end] : [(of as Parsed).start_time, (of as Parsed).end_time];
  if (!start || !end) return undefined;
  const participants = (of.participants ?? []).map((one) => (typeof one === "string" ? one : one.id));
  return { key: "wanted", title: of.title ?? "", start, end, participants, is_all_day: false };
}

/** The end when only the start moved: as long as before, with the offset of the new start. */
function shifted({ start, end }: Ghost, moved: string | undefined): string {
  if (!moved) return end;
  const offset = /([+-])(\d\d):(\d\d)$/.exec(moved);
  const ahead = offset ? (offset[1] === "-" ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3])) * 60_000 : 0;
  const moment = momentOf(moved) + momentOf(end) - momentOf(start);
  return `${new Date(moment + ahead).toISOString().slice(0, 19)}${offset?.[0] ?? "Z"}`;
}

/** The names of what is missing. */
export function missingOf({ missing = [] }: Waiting): string[] {
  return [...new Set(missing.map((one) => (typeof one === "string" ? one : one.part)))];
}

/** What a choice means as an answer: a new name, an event, a person, a thing, a time, a yes, or else its own words. */
export function replyOfChoice(choice: Choice, waiting: Waiting, { members, resources = [] }: Pick<Settings, "members" | "resources">): Reply {
  const { id, label } = choice;
  const { participants = [], resources: things = [] } = waiting.understood ?? {};
  const added = /^add:(person|resource):(.+)$/s.exec(id);
  if (added) return { fields: { add: [{ name: added[2]!, kind: added[1] as NewName["kind"] }] } };
  if (missingOf(waiting).includes("event")) return { fields: { event_id: id } };
  if (members.some((member) => member.id === id)) return { fields: { participants: [...new Set([...participants, id])] } };
  if (resources.some((resource) => resource.id === id)) return { fields: { resources: [...new Set([...things, id])] } };
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(id)) return { fields: { start_time: id } };
  if (id === "confirm" || id === "yes") return { fields: { confirm: true } };
  return { text: label };
}
