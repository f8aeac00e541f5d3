/** Client-side validation of a post. The server checks the rest. */
import { characterCount, MAX_CHARACTERS, MAX_TAG_LENGTH, MAX_TAGS } from "./post-limits";
import { text } from "./strings";

const strings = text.form;

/** An empty field is valid until the form was submitted. */
export function validateText(postText: string, isSubmitted: boolean): string | undefined {
  const count = characterCount(postText);
  if (count === 0) return isSubmitted ? strings.empty : undefined;
  return count > MAX_CHARACTERS ? strings.tooLong(count - MAX_CHARACTERS) : undefined;
}

export function validateTags(tags: string[]): string | undefined {
  if (tags.length > MAX_TAGS) return strings.tooManyTags;
  const longTag = tags.find((tag) => characterCount(tag) > MAX_TAG_LENGTH);
  return longTag && strings.longTag(longTag);
}
