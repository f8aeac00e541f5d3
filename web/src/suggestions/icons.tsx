/** Icons for sources, post types and query states. A label is always next to them. */
import type { ExecutedQuery } from "./state";
import type { Mode, SourceName } from "./types";

const SOURCE_PATHS: Record<SourceName, string> = {
  docs: "M5 2H13L17 6V18H5zM12 3.5V7H15.5M7.5 10H14.5M7.5 12.5H14.5M7.5 15H12",
  issues: "M10 2.5a7.5 7.5 0 1 0 0 15a7.5 7.5 0 1 0 0-15zM10 6V11M10 13.2V14.4",
  m365: "M3 3H9V9H3zM11 3H17V9H11zM3 11H9V17H3zM11 11H17V17H11z",
  posts: "M3 4H17V14H9L5.5 17V14H3zM6 7.5H14M6 10.5H11",
};

const MODE_PATHS: Record<Mode, string> = {
  question: "M7 7.2a3 3 0 1 1 4.4 2.7c-1 .5-1.4 1-1.4 2.1M10 14.6V16",
  offer: "M10 4V16M4 10H16",
  event: "M4 5H16V16H4zM4 8.5H16M7 3.5V6M13 3.5V6",
};

const STATE_PATHS: Record<ExecutedQuery["state"], string> = {
  running: "M10 4a6 6 0 1 0 0 12a6 6 0 1 0 0-12z",
  ok: "M4 10.5L8.2 14.6L16 5.8",
  empty: "M5 10H15",
  error: "M5.5 5.5L14.5 14.5M14.5 5.5L5.5 14.5",
};

function PathIcon({ d, className = "" }: { d: string; className?: string }) {
  return <svg class={`icon ${className}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d={d} /></svg>;
}

export const SourceIcon = ({ name }: { name: SourceName }) => <PathIcon d={SOURCE_PATHS[name]} />;
export const ModeIcon = ({ name }: { name: Mode }) => <PathIcon d={MODE_PATHS[name] ?? MODE_PATHS.question} />;
export const QueryStateIcon = ({ name }: { name: ExecutedQuery["state"] }) => <PathIcon d={STATE_PATHS[name] ?? STATE_PATHS.empty} className={`is-${name}`} />;
