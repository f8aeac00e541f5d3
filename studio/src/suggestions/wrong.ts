/** What is wrong with a post for sure, said before it is sent. Everything else is for the server to refuse. */
import { characters, LONGEST_TAG, MOST_CHARACTERS, MOST_TAGS } from "./count";
import { text } from "./strings";

const words = text.form;

/** Nothing is said of a field that nobody has filled in yet. */
export function wrongText(written: string, isAsked: boolean): string | undefined {
  const letters = characters(written);
  if (letters === 0) return isAsked ? words.empty : undefined;
  return letters > MOST_CHARACTERS ? words.tooLong(letters - MOST_CHARACTERS) : undefined;
}

export function wrongTags(tags: string[]): string | undefined {
  if (tags.length > MOST_TAGS) return words.tooManyTags;
  const long = tags.find((tag) => characters(tag) > LONGEST_TAG);
  return long && words.longTag(long);
}
