/** The hint and the whole page as text: which result the hint names, and all of it as Markdown. */
import { safeLink } from "../shared/link";
import { sourceOf, type Tried } from "./state";
import { text } from "./strings";
import { SOURCES, type Found, type Post, type Suggested, type Suggestion } from "./types";

export interface Part {
  text: string;
  url?: string;
}

/** The hint in parts; the title of a result that it names is one that can be followed. Joined they are the hint again. */
export function hintParts(hint: string, found: Pick<Found, "docs" | "issues" | "m365">): Part[] {
  const results = [...found.docs, ...found.issues, ...found.m365];
  const named = results
    .map(({ title, url }) => ({ title: title.trim(), url, at: hint.toLowerCase().indexOf(title.trim().toLowerCase()) }))
    .filter(({ title, url, at }) => title !== "" && at >= 0 && safeLink(url))
    // The longest title is the one that is meant when one stands within another.
    .sort((one, other) => other.title.length - one.title.length)[0];
  if (!named) return [{ text: hint }];
  const end = named.at + named.title.length;
  return [{ text: hint.slice(0, named.at) }, { text: hint.slice(named.at, end), url: named.url }, { text: hint.slice(end) }].filter((part) => part.text !== "");
}

export function markdownOf(post: Post, suggested: Suggested, tried: Tried[]): string {
  const lines = [`# ${oneLine(post.text)}`, ""];
  if (suggested.actionHint) lines.push(`**${text.room.hint}:** ${oneLine(suggested.actionHint)}`, "");
  for (const source of SOURCES) lines.push(`## ${text.source[source]}`, "", ...sourceLines(suggested, source), "");
  if (suggested.warnings?.length) lines.push(`## ${text.warnings}`, "", ...suggested.warnings.map((warning) => `- ${oneLine(warning)}`), "");
  lines.push(`## ${text.tried.title}`, "", ...tried.map(triedLine), "");
  if (suggested.model) lines.push(`_${suggested.model.label}_`, "");
  return lines.join("\n");
}

function sourceLines(found: Suggested, source: (typeof SOURCES)[number]): string[] {
  if (found.unavailableSources.includes(source)) return [`${text.source.unavailable}: ${found.reasons?.[source] ?? text.source.noReason}`];
  const lines = source === "posts" ? found.posts.map((post) => `- ${oneLine(post.text)}`) : found[source].map(suggestionLine);
  return lines.length > 0 ? lines : [text.source.empty];
}

function suggestionLine({ title, url, description }: Suggestion): string {
  const name = oneLine(title).replace(/[[\]]/g, "\\$&");
  const address = safeLink(url);
  const head = address ? `[${name}](${address.replaceAll("(", "%28").replaceAll(")", "%29")})` : `${name} (${oneLine(url)})`;
  return `- ${head}: ${oneLine(description)}`;
}

function triedLine({ tool, query, state, found }: Tried): string {
  const source = sourceOf(tool);
  return `- ${source ? text.source[source] : tool}: “${oneLine(query)}”, ${found === undefined ? text.tried.state[state] : text.tried.found(found)}`;
}

function oneLine(words: string): string {
  return words.replace(/\s+/g, " ").trim();
}
