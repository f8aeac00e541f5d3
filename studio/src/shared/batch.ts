/** Collects what comes in, so that the page is drawn at most 30 times a second. */

export const DRAW_EVERY_MS = 34;

export interface Batch<T> {
  add(item: T): void;
  /** Hands over what is collected now. */
  flush(): void;
  /** Drops what is collected and takes nothing more. */
  close(): void;
}

export function batch<T>(draw: (items: T[]) => void, every = DRAW_EVERY_MS): Batch<T> {
  let items: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (items.length === 0 || isClosed) return;
    const due = items;
    items = [];
    draw(due);
  };
  return {
    // A timer, not a frame: a page in the background gets no frames but must not fall behind.
    add(item) {
      items.push(item);
      timer ??= setTimeout(flush, every);
    },
    flush,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
