/** What can be taken back, and for how long: ten minutes from each change. Pure. */

export const UNDO_MS = 10 * 60_000;

/** One change, as it was said when it was made. */
export interface Undoable {
  text: string;
  until: number;
}

/** The newest change last; what is over goes. */
export function changed(list: Undoable[], text: string, now: number): Undoable[] {
  return [...live(list, now), { text, until: now + UNDO_MS }];
}

export function live(list: Undoable[], now: number): Undoable[] {
  return list.filter(({ until }) => until > now);
}

/** `9:59`. */
export function left(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** What was kept in the browser, as far as it can be read and no clock ran backwards. */
export function kept(text: string | null, now: number): Undoable[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(list)) return [];
    const isOne = (one: unknown): one is Undoable => typeof one === "object" && one !== null && typeof (one as Undoable).text === "string" && typeof (one as Undoable).until === "number";
    return live(list.filter(isOne), now).filter(({ until }) => until <= now + UNDO_MS);
  } catch {
    return [];
  }
}
