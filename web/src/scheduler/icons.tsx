/** Icons, and the badge of a member. */
import { memberColor, memberInitial } from "./members";
import type { Member } from "./types";

const ICON_PATHS = {
  back: "M12.5 4L6.5 10L12.5 16",
  forward: "M7.5 4L13.5 10L7.5 16",
  microphone: "M10 2.5A2.5 2.5 0 0 1 12.5 5V9.5A2.5 2.5 0 0 1 7.5 9.5V5A2.5 2.5 0 0 1 10 2.5zM4.5 9.5A5.5 5.5 0 0 0 15.5 9.5M10 15V17.5M7 17.5H13",
  repeat: "M4 9V8A3 3 0 0 1 7 5H15M12.5 2.5L15 5L12.5 7.5M16 11V12A3 3 0 0 1 13 15H5M7.5 17.5L5 15L7.5 12.5",
  conflict: "M10 3L18 16.5H2zM10 8V12M10 14V14.6",
  close: "M5 5L15 15M15 5L5 15",
  print: "M6 7V3H14V7M6 14H3.5V7H16.5V14H14M6 11.5H14V17H6z",
  undo: "M4 8H12A4.5 4.5 0 0 1 12 17H8M7.5 4.5L4 8L7.5 11.5",
  plus: "M10 4.5V15.5M4.5 10H15.5",
  done: "M4 10.5L8.2 14.6L16 5.8",
  question: "M7 7.2a3 3 0 1 1 4.4 2.7c-1 .5-1.4 1-1.4 2.1M10 14.6V16",
  import: "M10 3V12M6.5 8.5L10 12L13.5 8.5M3.5 13V16.5H16.5V13",
  link: "M8.5 11.5L11.5 8.5M9 6L10.8 4.2A3.5 3.5 0 0 1 15.8 9.2L14 11M11 14L9.2 15.8A3.5 3.5 0 0 1 4.2 10.8L6 9",
} as const;

export type IconName = keyof typeof ICON_PATHS;

export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d={ICON_PATHS[name]} /></svg>;
}

/** Initial of a member in their color. The name is always next to it or in a label. */
export function MemberBadge({ id, name, members }: { id: string; name: string; members: Member[] }) {
  return <span class={`member-badge hue-${memberColor(members, id)}`} aria-hidden="true">{memberInitial(name)}</span>;
}
