import { expect, it } from "vitest";
import { activeEntries, formatTimeLeft, parseUndoHistory, pushUndoEntry, UNDO_MS } from "./undo-history";

const NOW = 1_000_000;

it("keeps each change for ten minutes", () => {
  const entries = pushUndoEntry(pushUndoEntry([], "Soccer", NOW), "Piano", NOW + 60_000);
  expect(activeEntries(entries, NOW + UNDO_MS - 1).map(({ text }) => text)).toEqual(["Soccer", "Piano"]);
  expect(activeEntries(entries, NOW + UNDO_MS).map(({ text }) => text)).toEqual(["Piano"]);
  expect(activeEntries(entries, NOW + UNDO_MS + 60_000)).toEqual([]);
  expect(pushUndoEntry(entries, "Dinner", NOW + UNDO_MS).map(({ text }) => text)).toEqual(["Piano", "Dinner"]);
});

it("formats the time left", () => {
  expect([formatTimeLeft(NOW + UNDO_MS, NOW), formatTimeLeft(NOW + UNDO_MS, NOW + 1_500), formatTimeLeft(NOW + 61_000, NOW), formatTimeLeft(NOW, NOW + 5)]).toEqual(["10:00", "9:59", "1:01", "0:00"]);
});

it("restores the history and ignores invalid data", () => {
  const entries = pushUndoEntry([], "Soccer", NOW);
  expect(parseUndoHistory(JSON.stringify(entries), NOW + 1)).toEqual(entries);
  expect(parseUndoHistory(JSON.stringify(entries), NOW + UNDO_MS)).toEqual([]);
  for (const text of [null, "", "{", "7", "[null]", '[{"text":1,"until":"x"}]']) expect(parseUndoHistory(text, NOW)).toEqual([]);
  // Later than any change can expire: the system clock was changed.
  expect(parseUndoHistory(JSON.stringify([{ text: "x", until: NOW + 2 * UNDO_MS }]), NOW)).toEqual([]);
});
