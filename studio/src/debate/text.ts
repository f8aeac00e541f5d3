/** Cuts what is said into claims and the rest. */
import type { Fact } from "./types";

export interface Piece {
  text: string;
  /** Place of the fact in the list, when the piece is a claim that was looked up. */
  fact?: number;
}

/** The text in pieces, claims marked; pieces joined are the text again. */
export function pieces(text: string, facts: Fact[]): Piece[] {
  const spans = facts
    .flatMap(({ claim }, fact) => {
      const span = locate(text, claim);
      return span ? [{ ...span, fact }] : [];
    })
    .sort((one, other) => one.from - other.from || other.to - one.to);
  const found: Piece[] = [];
  let at = 0;
  for (const { from, to, fact } of spans) {
    if (from < at) continue;
    if (from > at) found.push({ text: text.slice(at, from) });
    found.push({ text: text.slice(from, to), fact });
    at = to;
  }
  if (at < text.length) found.push({ text: text.slice(at) });
  return found;
}

/** Where a claim stands, whatever the white space and the full stop at its end. */
function locate(text: string, claim: string): { from: number; to: number } | undefined {
  const words = claim.trim().replace(/[.!?…]+$/u, "").split(/\s+/u).filter(Boolean);
  if (words.length === 0) return undefined;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const match = new RegExp(`${pattern}[.!?…]*`, "iu").exec(text);
  return match ? { from: match.index, to: match.index + match[0].length } : undefined;
}
