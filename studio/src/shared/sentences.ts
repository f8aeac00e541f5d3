/** Cuts text into sentences: for the ear, and to count them. */

/** Whole sentences at the start of a text that may still grow; what follows the last one is left out. */
export function sentences(text: string, isWhole: boolean): string[] {
  const found: string[] = [];
  let from = 0;
  // A full stop ends a sentence only when something other than a digit or a small letter may follow.
  for (const match of text.matchAll(/[.!?…。！？؟]["'”’)\]]*(?=\s)/gu)) {
    const end = match.index + match[0].length;
    if (/^\s+\p{Ll}/u.test(text.slice(end))) continue;
    found.push(text.slice(from, end).trim());
    from = end;
  }
  const rest = text.slice(from).trim();
  if (isWhole && rest !== "") found.push(rest);
  return found;
}
