/** Links the result that a hint names, and exports suggestions as Markdown. */
import { safeLink } from "../shared/link";
import { type ExecutedQuery, sourceForTool } from "./state";
import { text } from "./strings";
import { type Post, type SearchResponse, SOURCES, type Suggestion, type SuggestionsResponse } from "./types";

export interface HintPart {
  text: string;
  url?: string;
}

/** Splits the hint at the title of the result it names. The joined parts equal the hint. */
export function hintParts(hint: string, response: Pick<SearchResponse, "docs" | "issues" | "m365">): HintPart[] {
  const results = [...response.docs, ...response.issues, ...response.m365];
  const match = results
    .map(({ title, url }) => ({ title: title.trim(), url, index: hint.toLowerCase().indexOf(title.trim().toLowerCase()) }))
    .filter(({ title, url, index }) => title !== "" && index >= 0 && safeLink(url))
    // The longest title wins, because titles can contain each other.
    .sort((one, other) => other.title.length - one.title.length)[0];
  if (!match) return [{ text: hint }];
  const end = match.index + match.title.length;
  return [{ text: hint.slice(0, match.index) }, { text: hint.slice(match.index, end), url: match.url }, { text: hint.slice(end) }].filter((part) => part.text !== "");
}

export function suggestionsToMarkdown(post: Post, response: SuggestionsResponse, queries: ExecutedQuery[]): string {
  const lines = [`# ${oneLine(post.text)}`, ""];
  if (response.actionHint) lines.push(`**${text.postPage.hint}:** ${oneLine(response.actionHint)}`, "");
  for (const source of SOURCES) lines.push(`## ${text.source[source]}`, "", ...sourceLines(response, source), "");
  if (response.warnings?.length) lines.push(`## ${text.warnings}`, "", ...response.warnings.map((warning) => `- ${oneLine(warning)}`), "");
  lines.push(`## ${text.queries.title}`, "", ...queries.map(queryLine), "");
  if (response.model) lines.push(`_${response.model.label}_`, "");
  return lines.join("\n");
}

function sourceLines(response: SuggestionsResponse, source: (typeof SOURCES)[number]): string[] {
  if (response.unavailableSources.includes(source)) return [`${text.source.unavailable}: ${response.reasons?.[source] ?? text.source.noReason}`];
  const lines = source === "posts" ? response.posts.map((post) => `- ${oneLine(post.text)}`) : response[source].map(suggestionLine);
  return lines.length > 0 ? lines : [text.source.empty];
}

function suggestionLine({ title, url, description }: Suggestion): string {
  const name = oneLine(title).replace(/[[\]]/g, "\\$&");
  const address = safeLink(url);
  const head = address ? `[${name}](${address.replaceAll("(", "%28").replaceAll(")", "%29")})` : `${name} (${oneLine(url)})`;
  return `- ${head}: ${oneLine(description)}`;
}

function queryLine({ tool, query, state, count }: ExecutedQuery): string {
  const source = sourceForTool(tool);
  return `- ${source ? text.source[source] : tool}: “${oneLine(query)}”, ${count === undefined ? text.queries.state[state] : text.queries.found(count)}`;
}

function oneLine(value: string): string {
  return value.replace(/\s+/g, " ").trim();
}
