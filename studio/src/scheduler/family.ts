/** Who is who: names, colours, and whose events are shown. Pure. */
import type { Names } from "./chips";
import { text } from "./strings";
import type { Instance, Member, Settings } from "./types";

/** As many colours as the style sheet has. */
const HUES = 8;

/** Everybody keeps the colour of their place in the family; what is nobody's has none. */
export function hueOf(members: Member[], id: string | undefined): string {
  const index = members.findIndex((member) => member.id === id);
  return index < 0 ? "none" : String(index % HUES);
}

export function initialOf(name: string): string {
  return [...name.trim()][0]?.toUpperCase() ?? "?";
}

export function meOf({ me, members }: Settings, userId: string): Member | undefined {
  const id = typeof me === "object" ? me.id : (me ?? userId);
  return members.find((member) => member.id === id);
}

/** The zone that the server writes for: that of who asks, else the family's. */
export function zoneOf(settings: Settings, userId: string): string {
  return meOf(settings, userId)?.zone || settings.family.zone;
}

export function namesOf({ members, resources = [] }: Settings): Names {
  const known = new Map([...members, ...resources].map(({ id, name }) => [id, name]));
  const words = { intent: text.answer.intents, priority: text.event.priorities, flexibility: text.event.flexibilities } as Record<string, Record<string, string>>;
  return { of: (id) => known.get(id) ?? id, word: (part, value) => words[part]?.[value] ?? value };
}

/** Hidden is only what concerns nobody but those who are hidden. */
export function shownOf(events: Instance[], hidden: string[]): Instance[] {
  if (hidden.length === 0) return events;
  return events.filter(({ participants }) => participants.length === 0 || participants.some(({ id }) => !hidden.includes(id)));
}
