/** Batches events, so that the page renders at most 30 times a second. */

export const RENDER_INTERVAL_MS = 34;

export interface RenderBatch<T> {
  add(item: T): void;
  /** Renders the pending items now. */
  flush(): void;
  /** Discards pending and later items. */
  close(): void;
}

export function createRenderBatch<T>(render: (items: T[]) => void, intervalMs = RENDER_INTERVAL_MS): RenderBatch<T> {
  let items: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (items.length === 0 || isClosed) return;
    const pending = items;
    items = [];
    render(pending);
  };
  return {
    // A timer instead of an animation frame: background pages get no frames.
    add(item) {
      items.push(item);
      timer ??= setTimeout(flush, intervalMs);
    },
    flush,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
