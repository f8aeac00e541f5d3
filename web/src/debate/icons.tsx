/** Icons for speakers and verdicts, so that nothing is shown by color alone. */
import type { Turn } from "./state";
import type { Verdict } from "./types";

const SHAPE_PATHS: Record<Turn["speaker"], string> = {
  optimist: "M12 2a10 10 0 1 0 0 20a10 10 0 1 0 0-20z",
  skeptic: "M12 1L23 12L12 23L1 12z",
  moderator: "M7 2.5H17L22.5 12L17 21.5H7L1.5 12z",
  you: "M3 3H21V21H3z",
};

const ICON_PATHS: Record<Turn["speaker"], string> = {
  optimist: "M12 7.5V16.5M7.5 12H16.5",
  skeptic: "M8 12H16",
  moderator: "M8 9.8H16M8 14.2H16",
  you: "M8 9H16M8 12.5H16M8 16H12.5",
};

export function SpeakerIcon({ speaker, isSmall = false }: { speaker: Turn["speaker"]; isSmall?: boolean }) {
  return (
    <svg class={isSmall ? "speaker-icon is-small" : "speaker-icon"} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path class="speaker-icon-body" d={SHAPE_PATHS[speaker]} />
      {!isSmall && <path class="speaker-icon-symbol" d={ICON_PATHS[speaker]} />}
    </svg>
  );
}

export const VERDICT_ICON: Record<Verdict, string> = { true: "✓", false: "✗", unverifiable: "?" };
