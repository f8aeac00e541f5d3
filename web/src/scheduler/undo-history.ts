/** Undo history: each change can be undone for ten minutes. Pure. */

export const UNDO_MS = 10 * 60_000;

/** A change and when its undo expires. */
export interface UndoEntry {
  text: string;
  until: number;
}

/** Appends a change and removes expired ones. */
export function pushUndoEntry(entries: UndoEntry[], text: string, now: number): UndoEntry[] {
  return [...activeEntries(entries, now), { text, until: now + UNDO_MS }];
}

export function activeEntries(entries: UndoEntry[], now: number): UndoEntry[] {
  return entries.filter(({ until }) => until > now);
}

/** `9:59`. */
export function formatTimeLeft(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Reads the saved history. Ignores invalid entries and expiry times that are too far ahead. */
export function parseUndoHistory(text: string | null, now: number): UndoEntry[] {
  try {
    const entries: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(entries)) return [];
    const isUndoEntry = (value: unknown): value is UndoEntry => typeof value === "object" && value !== null && typeof (value as UndoEntry).text === "string" && typeof (value as UndoEntry).until === "number";
    return activeEntries(entries.filter(isUndoEntry), now).filter(({ until }) => until <= now + UNDO_MS);
  } catch {
    return [];
  }
}
