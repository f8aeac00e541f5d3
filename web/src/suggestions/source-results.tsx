/** Results by source, including empty and unavailable sources. */
import { SafeLink, safeLink } from "../shared/link";
import { PostMeta } from "./post";
import { SourceIcon } from "./icons";
import { type ExecutedQuery, sourceForTool } from "./state";
import { text } from "./strings";
import { type Post, type SearchResponse, type Settings, type SourceName, SOURCES, type Suggestion } from "./types";

interface Props {
  /** Undefined while the search is in progress. */
  response?: SearchResponse;
  queries?: ExecutedQuery[];
  settings?: Settings;
  isSearching?: boolean;
}

export function SourceResults({ response, queries = [], settings, isSearching = false }: Props) {
  return (
    <div class="sources">
      {SOURCES.map((name) => (
        <SourceSection key={name} name={name} response={response} queries={queries.filter(({ tool }) => sourceForTool(tool) === name)} settings={settings} isSearching={isSearching} />
      ))}
    </div>
  );
}

/** Warnings such as a truncated query. */
export function Warnings({ warnings }: { warnings?: string[] }) {
  if (!warnings || warnings.length === 0) return null;
  return (
    <ul class="warnings" aria-label={text.warnings}>
      {warnings.map((warning, index) => <li key={index} dir="auto">{warning}</li>)}
    </ul>
  );
}

function SourceSection({ name, response, queries, settings, isSearching }: { name: SourceName; queries: ExecutedQuery[] } & Omit<Props, "queries">) {
  const isUnavailable = response?.unavailableSources.includes(name) ?? false;
  const reason = response?.reasons?.[name] ?? settings?.sources[name]?.reason ?? text.source.noReason;
  const count = response?.[name].length ?? 0;
  const statusText = isUnavailable ? text.source.unavailable : response ? text.source.count(count) : isSearching && queries.some(({ state }) => state === "running") ? text.source.searching : "";
  return (
    <section class={isUnavailable ? "source is-unavailable" : "source"} data-source={name} aria-labelledby={`source-${name}`}>
      <h3 id={`source-${name}`}><SourceIcon name={name} /> {text.source[name]} <span class="status-text">{statusText}</span></h3>
      {isUnavailable && <p class="reason">{reason}</p>}
      {response && !isUnavailable && count === 0 && <p class="empty">{text.source.empty}</p>}
      {response && count > 0 && (
        <ul>
          {name === "posts" ? response.posts.map((post) => <EarlierPost key={post.id} post={post} />) : response[name].map((item, index) => <SuggestionItem key={index} suggestion={item} />)}
        </ul>
      )}
    </section>
  );
}

function SuggestionItem({ suggestion }: { suggestion: Suggestion }) {
  const { title, url, description, source, status } = suggestion;
  const isUnavailable = status === "unavailable";
  return (
    <li>
      <p class="name" dir="auto">{isUnavailable ? title : <SafeLink url={url}>{title}</SafeLink>}</p>
      {description && <p class="passage" dir="auto">{description}</p>}
      <p class="result-meta">
        {source && <span>{text.source.kinds[source] ?? source}</span>}
        {isUnavailable && <span>{text.source.noLongerAvailable}</span>}
        {url && <cite>{safeLink(url) ? displayUrl(url) : url}</cite>}
      </p>
    </li>
  );
}

function EarlierPost({ post }: { post: Post }) {
  return (
    <li>
      <p class="name" dir="auto"><a href={`/suggestions/${encodeURIComponent(post.id)}`}>{post.text}</a></p>
      <PostMeta post={post} />
    </li>
  );
}

/** Returns the URL without protocol, `www.` and trailing slash. */
function displayUrl(url: string): string {
  return url.replace(/^https?:\/\/(www\.)?/i, "").replace(/\/$/, "");
}
