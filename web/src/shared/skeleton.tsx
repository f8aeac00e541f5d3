/** Placeholder for content that is loading. */
export function Skeleton({ lines }: { lines: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => <span key={line} />)}
    </div>
  );
}
