/** Members: names, colors and visible events. Pure. */
import type { NameLookup } from "./parsed-chips";
import { text } from "./strings";
import type { EventInstance, Member, Settings } from "./types";

/** Number of colors in `member-colors.css`. */
const HUES = 8;

/** Returns the color of a member, which depends on their position in the family. */
export function memberColor(members: Member[], id: string | undefined): string {
  const index = members.findIndex((member) => member.id === id);
  return index < 0 ? "none" : String(index % HUES);
}

export function memberInitial(name: string): string {
  return [...name.trim()][0]?.toUpperCase() ?? "?";
}

export function currentMember({ me, members }: Settings, userId: string): Member | undefined {
  const id = typeof me === "object" ? me.id : (me ?? userId);
  return members.find((member) => member.id === id);
}

/** Returns the time zone of the server's times: that of the member, or else of the family. */
export function displayTimeZone(settings: Settings, userId: string): string {
  return currentMember(settings, userId)?.zone || settings.family.zone;
}

export function nameLookup({ members, resources = [] }: Settings): NameLookup {
  const names = new Map([...members, ...resources].map(({ id, name }) => [id, name]));
  const labels = { intent: text.answer.intents, priority: text.event.priorities, flexibility: text.event.flexibilities } as Record<string, Record<string, string>>;
  return { of: (id) => names.get(id) ?? id, word: (part, value) => labels[part]?.[value] ?? value };
}

/** Hides events whose participants are all hidden. */
export function visibleEvents(events: EventInstance[], hidden: string[]): EventInstance[] {
  if (hidden.length === 0) return events;
  return events.filter(({ participants }) => participants.length === 0 || participants.some(({ id }) => !hidden.includes(id)));
}
