/** What a post may have: counted while it is written. What a sentence is only the server decides, which knows abbreviations. */

export const MOST_CHARACTERS = 500;
export const MOST_SENTENCES = 3;
export const MOST_TAGS = 5;
export const LONGEST_TAG = 20;

/** Characters as people count them, not as they are stored. */
export function characters(text: string): number {
  return [...text.trim()].length;
}

/** About how many sentences: dots in addresses, numbers and ellipses end no sentence; words after the last full stop are one. */
export function sentenceCount(text: string): number {
  const plain = text
    .replace(/\b(?:https?:\/\/|www\.)\S+/giu, (address) => (/[.!?]$/u.test(address) ? "x. " : "x "))
    .replace(/\.{2,}|…/gu, " ")
    .trim();
  if (!/[\p{L}\p{N}]/u.test(plain)) return 0;
  // An end counts where white space or nothing follows it: `2.5` and `quote-web.yaml` go on.
  const ends = [...plain.matchAll(/[.!?。！？؟]+["'”’)\]]*(?=\s|$)/gu)];
  const last = ends.at(-1);
  const rest = last ? plain.slice(last.index + last[0].length) : plain;
  return ends.length + (/[\p{L}\p{N}]/u.test(rest) ? 1 : 0);
}

/** Commas and white space part tags; a leading `#` and repeats go. */
export function tagsOf(text: string): string[] {
  const tags = text.split(/[,;\s]+/u).map((tag) => tag.replace(/^#+/u, "").toLowerCase()).filter(Boolean);
  return [...new Set(tags)];
}
