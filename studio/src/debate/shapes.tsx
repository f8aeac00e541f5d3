/** A shape for each voice and each verdict, so that nothing rests on colour alone. */
import type { Turn } from "./state";
import type { Verdict } from "./types";

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
