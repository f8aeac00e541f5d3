/** Status of a run as icon and label. */
import { text } from "./strings";

export type Status = keyof typeof text.status;

const ICON_PATHS: Record<Status, string> = {
  running: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11z",
  waiting: "M4 3H7V13H4zM9 3H12V13H9z",
  completed: "M2.5 8.5L6.2 12.2L13.5 4.4L12.2 3.1L6.2 9.6L3.8 7.2z",
  error: "M8 1.8L15 14H1zM7.2 6V10H8.8V6zM7.2 11.2V12.6H8.8V11.2z",
  stopped: "M3.5 3.5H12.5V12.5H3.5z",
};

/** SVG, because fonts lack some of these symbols. */
export function StatusIcon({ status }: { status: Status }) {
  return (
    <svg class="status-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path fill="currentColor" fill-rule="evenodd" d={ICON_PATHS[status]} />
    </svg>
  );
}

export function StatusLabel({ status }: { status: Status }) {
  return <span class={`status is-${status}`}><StatusIcon status={status} /> {text.status[status]}</span>;
}
