/** Finds the checked claims in the text of a turn. */
import type { FactCheckResult } from "./types";

export interface TextSegment {
  text: string;
  /** Index of the fact check, if the segment is a checked claim. */
  fact?: number;
}

/** Splits the text into segments and marks the claims. The joined segments equal the text. */
export function highlightClaims(text: string, facts: FactCheckResult[]): TextSegment[] {
  const spans = facts
    .flatMap(({ claim }, fact) => {
      const span = locate(text, claim);
      return span ? [{ ...span, fact }] : [];
    })
    .sort((one, other) => one.start - other.start || other.end - one.end);
  const segments: TextSegment[] = [];
  let position = 0;
  for (const { start, end, fact } of spans) {
    if (start < position) continue;
    if (start > position) segments.push({ text: text.slice(position, start) });
    segments.push({ text: text.slice(start, end), fact });
    position = end;
  }
  if (position < text.length) segments.push({ text: text.slice(position) });
  return segments;
}

/** Finds a claim, ignoring white space, case and final punctuation. */
function locate(text: string, claim: string): { start: number; end: number } | undefined {
  const words = claim.trim().replace(/[.!?…]+$/u, "").split(/\s+/u).filter(Boolean);
  if (words.length === 0) return undefined;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const match = new RegExp(`${pattern}[.!?…]*`, "iu").exec(text);
  return match ? { start: match.index, end: match.index + match[0].length } : undefined;
}
