/** Splits text into sentences, for announcements and counts. */

/** Returns the complete sentences of a text. The rest is included only if the text is complete. */
export function splitSentences(text: string, isComplete: boolean): string[] {
  const sentences: string[] = [];
  let start = 0;
  // A full stop before a lower-case letter does not end a sentence.
  for (const match of text.matchAll(/[.!?…。！？؟]["'”’)\]]*(?=\s)/gu)) {
    const end = match.index + match[0].length;
    if (/^\s+\p{Ll}/u.test(text.slice(end))) continue;
    sentences.push(text.slice(start, end).trim());
    start = end;
  }
  const rest = text.slice(start).trim();
  if (isComplete && rest !== "") sentences.push(rest);
  return sentences;
}
