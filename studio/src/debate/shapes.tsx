/** A shape for each voice and each verdict, so that nothing rests on colour alone. */
import type { Turn } from "./state";
import type { Status, Verdict } from "./types";

const SHAPES: Record<Turn["speaker"], string> = {
  optimist: "M12 2a10 10 0 1 0 0 20a10 10 0 1 0 0-20z",
  skeptic: "M12 1L23 12L12 23L1 12z",
  moderator: "M7 2.5H17L22.5 12L17 21.5H7L1.5 12z",
  you: "M3 3H21V21H3z",
};

const SIGNS: Record<Turn["speaker"], string> = {
  optimist: "M12 7.5V16.5M7.5 12H16.5",
  skeptic: "M8 12H16",
  moderator: "M8 9.8H16M8 14.2H16",
  you: "M8 9H16M8 12.5H16M8 16H12.5",
};

export function Shape({ of, small = false }: { of: Turn["speaker"]; small?: boolean }) {
  return (
    <svg class={small ? "shape is-small" : "shape"} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path class="shape-body" d={SHAPES[of]} />
      {!small && <path class="shape-sign" d={SIGNS[of]} />}
    </svg>
  );
}

export const VERDICT_SIGN: Record<Verdict, string> = { true: "✓", false: "✗", unverifiable: "?" };

const STATUS: Record<Status, string> = {
  running: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11z",
  waiting: "M4 3H7V13H4zM9 3H12V13H9z",
  completed: "M2.5 8.5L6.2 12.2L13.5 4.4L12.2 3.1L6.2 9.6L3.8 7.2z",
  error: "M8 1.8L15 14H1zM7.2 6V10H8.8V6zM7.2 11.2V12.6H8.8V11.2z",
  stopped: "M3.5 3.5H12.5V12.5H3.5z",
};

/** The word does not stand alone either: drawn, because fonts differ in what they have. */
export function StatusSign({ of }: { of: Status }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path fill="currentColor" fill-rule="evenodd" d={STATUS[of]} />
    </svg>
  );
}
