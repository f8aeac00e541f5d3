/** Icons for step states. A label is always next to them. */
import type { Step } from "./state";

const ICON_PATHS: Record<Step["state"], string> = {
  pending: "M3 3H17V17H3z",
  running: "M3 3H17V17H3zM10 6.5V10L12.5 12",
  retrying: "M15.5 6.5A6.5 6.5 0 1 0 16.5 10M16.5 3.5V7H13",
  done: "M3 3H17V17H3zM6 10.2L9 13.2L14.5 6.8",
  empty: "M3 3H17V17H3zM6.5 10H13.5",
  failed: "M3 3H17V17H3zM7 7L13 13M13 7L7 13",
  skipped: "M3 3H17V17H3zM5 15L15 5",
};

export function StepIcon({ state }: { state: Step["state"] }) {
  return <svg class={`icon is-${state}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d={ICON_PATHS[state]} /></svg>;
}
