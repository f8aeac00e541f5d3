/** One post: what it says, how long it stands, who cares. */
import { useEffect, useState } from "react";
import { post as send, Problem } from "../shared/api";
import { remember, remembered } from "../shared/theme";
import { fromNow, timeOf, when } from "../shared/time";
import { ModeSign } from "./signs";
import { text } from "./strings";
import type { Kind, Post } from "./types";

interface Props {
  post: Post;
  changed(post: Post): void;
  failed(problem: Problem): void;
}

export function Meta({ post }: { post: Post }) {
  const now = useNow();
  const [created, expires] = [timeOf(post.createdAt), timeOf(post.expiresAt)];
  return (
    <p class="meta">
      <span class="mode"><ModeSign of={post.mode} /> {text.modes[post.mode] ?? post.mode}</span>
      {post.authorName && <span>{text.post.by(post.authorName)}</span>}
      {created !== undefined && <time dateTime={post.createdAt} title={when.format(created)}>{fromNow(created, now)}</time>}
      {expires !== undefined && (
        <time dateTime={post.expiresAt} title={when.format(expires)}>{expires > now ? text.post.expires(fromNow(expires, now)) : text.post.expired}</time>
      )}
    </p>
  );
}

export function Tags({ tags, choose }: { tags: string[]; choose?(tag: string): void }) {
  if (tags.length === 0) return null;
  return (
    <ul class="tags" aria-label={text.post.tags}>
      {tags.map((tag) => (
        <li key={tag}>
          {choose ? <button type="button" aria-label={text.list.tagged(tag)} onClick={() => choose(tag)}>#{tag}</button> : <span>#{tag}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Each browser counts once for each post; the server does not know who is behind it. */
export function Engage({ post, changed, failed }: Props) {
  return (
    <p class="engage">
      <One post={post} kind="interested" count={post.interestedCount} changed={changed} failed={failed} />
      <One post={post} kind="join" count={post.joinCount} changed={changed} failed={failed} />
    </p>
  );
}

function One({ post, kind, count, changed, failed }: Props & { kind: Kind; count: number }) {
  const key = `superstep.engaged.${kind}.${post.id}`;
  const [isDone, setDone] = useState(remembered(key) === "yes");
  const press = async () => {
    if (isDone) return;
    setDone(true);
    try {
      const response = await send(`/api/posts/${encodeURIComponent(post.id)}/engagement`, { kind });
      remember(key, "yes");
      changed((await response.json()) as Post);
    } catch (cause) {
      setDone(false);
      failed(cause instanceof Problem ? cause : new Problem(0, String(cause)));
    }
  };
  return (
    <button type="button" class="count" data-kind={kind} aria-pressed={isDone} onClick={() => void press()}>
      <span aria-hidden="true">{isDone ? "✓ " : ""}</span>{text.post[kind]} <span class="number">{count}</span>
      <span class="hidden"> ({text.post.people(count)})</span>
    </button>
  );
}

/** Words such as "in 3 hours" go stale while the page stands open. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
