import { expect, it } from "vitest";
import { changed, kept, left, live, UNDO_MS } from "./undo";

const NOW = 1_000_000;

it("each change can be taken back for ten minutes", () => {
  const list = changed(changed([], "Soccer", NOW), "Piano", NOW + 60_000);
  expect(live(list, NOW + UNDO_MS - 1).map(({ text }) => text)).toEqual(["Soccer", "Piano"]);
  expect(live(list, NOW + UNDO_MS).map(({ text }) => text)).toEqual(["Piano"]);
  expect(live(list, NOW + UNDO_MS + 60_000)).toEqual([]);
  expect(changed(list, "Dinner", NOW + UNDO_MS).map(({ text }) => text)).toEqual(["Piano", "Dinner"]);
});

it("counts down to nothing", () => {
  expect([left(NOW + UNDO_MS, NOW), left(NOW + UNDO_MS, NOW + 1_500), left(NOW + 61_000, NOW), left(NOW, NOW + 5)]).toEqual(["10:00", "9:59", "1:01", "0:00"]);
});

it("survives a reload, and whatever stands in the browser's store", () => {
  const list = changed([], "Soccer", NOW);
  expect(kept(JSON.stringify(list), NOW + 1)).toEqual(list);
  expect(kept(JSON.stringify(list), NOW + UNDO_MS)).toEqual([]);
  for (const text of [null, "", "{", "7", "[null]", '[{"text":1,"until":"x"}]']) expect(kept(text, NOW)).toEqual([]);
  // Farther ahead than a change can be: the clock of the machine was set.
  expect(kept(JSON.stringify([{ text: "x", until: NOW + 2 * UNDO_MS }]), NOW)).toEqual([]);
});
