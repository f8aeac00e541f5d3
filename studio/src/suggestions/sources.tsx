/** What was found, source by source: also where nothing was, and where nobody looked. */
import { SafeLink, safeLink } from "../shared/link";
import { Meta } from "./post";
import { SourceSign } from "./signs";
import { sourceOf, type Tried } from "./state";
import { text } from "./strings";
import { SOURCES, type Found, type Post, type Settings, type SourceName, type Suggestion } from "./types";

interface Props {
  /** Nothing yet while it is searched. */
  found?: Found;
  tried?: Tried[];
  settings?: Settings;
  isSearching?: boolean;
}

export function Sources({ found, tried = [], settings, isSearching = false }: Props) {
  return (
    <div class="sources">
      {SOURCES.map((name) => (
        <OneSource key={name} name={name} found={found} tried={tried.filter(({ tool }) => sourceOf(tool) === name)} settings={settings} isSearching={isSearching} />
      ))}
    </div>
  );
}

/** What was let pass but should be known, such as a query that was cut. */
export function Warnings({ of }: { of?: string[] }) {
  if (!of || of.length === 0) return null;
  return (
    <ul class="warnings" aria-label={text.warnings}>
      {of.map((warning, index) => <li key={index} dir="auto">{warning}</li>)}
    </ul>
  );
}

function OneSource({ name, found, tried, settings, isSearching }: { name: SourceName; tried: Tried[] } & Omit<Props, "tried">) {
  const isUnavailable = found?.unavailableSources.includes(name) ?? false;
  const reason = found?.reasons?.[name] ?? settings?.sources[name]?.reason ?? text.source.noReason;
  const count = found?.[name].length ?? 0;
  const stands = isUnavailable ? text.source.unavailable : found ? text.source.count(count) : isSearching && tried.some(({ state }) => state === "running") ? text.source.searching : "";
  return (
    <section class={isUnavailable ? "source is-unavailable" : "source"} data-source={name} aria-labelledby={`source-${name}`}>
      <h3 id={`source-${name}`}><SourceSign of={name} /> {text.source[name]} <span class="stands">{stands}</span></h3>
      {isUnavailable && <p class="why">{reason}</p>}
      {found && !isUnavailable && count === 0 && <p class="empty">{text.source.empty}</p>}
      {found && count > 0 && (
        <ul>
          {name === "posts" ? found.posts.map((post) => <EarlierPost key={post.id} post={post} />) : found[name].map((one, index) => <One key={index} suggestion={one} />)}
        </ul>
      )}
    </section>
  );
}

function One({ suggestion }: { suggestion: Suggestion }) {
  const { title, url, description, source, status } = suggestion;
  const isGone = status === "unavailable";
  return (
    <li>
      <p class="name" dir="auto">{isGone ? title : <SafeLink url={url}>{title}</SafeLink>}</p>
      {description && <p class="passage" dir="auto">{description}</p>}
      <p class="place">
        {source && <span>{text.source.kinds[source] ?? source}</span>}
        {isGone && <span>{text.source.gone}</span>}
        {url && <cite>{safeLink(url) ? placeOf(url) : url}</cite>}
      </p>
    </li>
  );
}

function EarlierPost({ post }: { post: Post }) {
  return (
    <li>
      <p class="name" dir="auto"><a href={`/suggestions/${encodeURIComponent(post.id)}`}>{post.text}</a></p>
      <Meta post={post} />
    </li>
  );
}

/** Where a link leads, without what nobody reads. */
function placeOf(url: string): string {
  return url.replace(/^https?:\/\/(www\.)?/i, "").replace(/\/$/, "");
}
