import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { batch } from "./batch";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

it("draws at most 30 times a second and loses nothing", () => {
  const drawn: number[][] = [];
  const words = batch<number>((items) => drawn.push(items));
  for (let word = 0; word < 1000; word++) {
    words.add(word);
    vi.advanceTimersByTime(1);
  }
  expect(drawn.length).toBeLessThanOrEqual(30);
  words.flush();
  expect(drawn.flat()).toEqual([...Array(1000).keys()]);
});

it("draws nothing more once it is closed", () => {
  const draw = vi.fn();
  const words = batch(draw);
  words.add(1);
  words.close();
  vi.runAllTimers();
  words.flush();
  expect(draw).not.toHaveBeenCalled();
});
