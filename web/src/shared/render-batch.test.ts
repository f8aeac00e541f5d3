import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createRenderBatch } from "./render-batch";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

it("renders at most 30 times a second and loses no item", () => {
  const rendered: number[][] = [];
  const batch = createRenderBatch<number>((items) => rendered.push(items));
  for (let item = 0; item < 1000; item++) {
    batch.add(item);
    vi.advanceTimersByTime(1);
  }
  expect(rendered.length).toBeLessThanOrEqual(30);
  batch.flush();
  expect(rendered.flat()).toEqual([...Array(1000).keys()]);
});

it("renders nothing after it is closed", () => {
  const render = vi.fn();
  const batch = createRenderBatch(render);
  batch.add(1);
  batch.close();
  vi.runAllTimers();
  batch.flush();
  expect(render).not.toHaveBeenCalled();
});
