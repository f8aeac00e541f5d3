/** Limits of a post. The sentence count is an estimate: only the server knows abbreviations. */

export const MAX_CHARACTERS = 500;
export const MAX_SENTENCES = 3;
export const MAX_TAGS = 5;
export const MAX_TAG_LENGTH = 20;

/** Returns the number of characters, not of UTF-16 units. */
export function characterCount(text: string): number {
  return [...text.trim()].length;
}

/** Estimates the number of sentences. Dots in URLs, numbers and ellipses do not count; text after the last full stop does. */
export function sentenceCount(text: string): number {
  const plain = text
    .replace(/\b(?:https?:\/\/|www\.)\S+/giu, (address) => (/[.!?]$/u.test(address) ? "x. " : "x "))
    .replace(/\.{2,}|…/gu, " ")
    .trim();
  if (!/[\p{L}\p{N}]/u.test(plain)) return 0;
  // Only punctuation before white space or the end counts, unlike `2.5` and `quote-web.yaml`.
  const ends = [...plain.matchAll(/[.!?。！？؟]+["'”’)\]]*(?=\s|$)/gu)];
  const last = ends.at(-1);
  const rest = last ? plain.slice(last.index + last[0].length) : plain;
  return ends.length + (/[\p{L}\p{N}]/u.test(rest) ? 1 : 0);
}

/** Splits tags at commas and white space. Removes a leading `#` and duplicates. */
export function parseTags(text: string): string[] {
  const tags = text.split(/[,;\s]+/u).map((tag) => tag.replace(/^#+/u, "").toLowerCase()).filter(Boolean);
  return [...new Set(tags)];
}
