/** Parts of a post: metadata, tags, engagement buttons. */
import { useEffect, useState } from "react";
import { postJson, Problem } from "../shared/api";
import { readSetting, writeSetting } from "../shared/local-storage";
import { dateTimeFormat, formatRelative, toTimestamp } from "../shared/time";
import { ModeIcon } from "./icons";
import { text } from "./strings";
import type { EngagementKind, Post } from "./types";

interface Props {
  post: Post;
  onChanged(post: Post): void;
  onError(problem: Problem): void;
}

export function PostMeta({ post }: { post: Post }) {
  const now = useNow();
  const [created, expires] = [toTimestamp(post.createdAt), toTimestamp(post.expiresAt)];
  return (
    <p class="meta">
      <span class="mode"><ModeIcon name={post.mode} /> {text.modes[post.mode] ?? post.mode}</span>
      {post.authorName && <span>{text.post.by(post.authorName)}</span>}
      {created !== undefined && <time dateTime={post.createdAt} title={dateTimeFormat.format(created)}>{formatRelative(created, now)}</time>}
      {expires !== undefined && (
        <time dateTime={post.expiresAt} title={dateTimeFormat.format(expires)}>{expires > now ? text.post.expires(formatRelative(expires, now)) : text.post.expired}</time>
      )}
    </p>
  );
}

export function TagList({ tags, onSelect }: { tags: string[]; onSelect?(tag: string): void }) {
  if (tags.length === 0) return null;
  return (
    <ul class="tags" aria-label={text.post.tags}>
      {tags.map((tag) => (
        <li key={tag}>
          {onSelect ? <button type="button" aria-label={text.list.tagged(tag)} onClick={() => onSelect(tag)}>#{tag}</button> : <span>#{tag}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Each browser counts once per post, because posts have no authentication. */
export function EngagementButtons({ post, onChanged, onError }: Props) {
  return (
    <p class="engagement">
      <EngagementButton post={post} kind="interested" count={post.interestedCount} onChanged={onChanged} onError={onError} />
      <EngagementButton post={post} kind="join" count={post.joinCount} onChanged={onChanged} onError={onError} />
    </p>
  );
}

function EngagementButton({ post, kind, count, onChanged, onError }: Props & { kind: EngagementKind; count: number }) {
  const key = `superstep.engaged.${kind}.${post.id}`;
  const [isEngaged, setEngaged] = useState(readSetting(key) === "yes");
  const engage = async () => {
    if (isEngaged) return;
    setEngaged(true);
    try {
      const response = await postJson(`/api/posts/${encodeURIComponent(post.id)}/engagement`, { kind });
      writeSetting(key, "yes");
      onChanged((await response.json()) as Post);
    } catch (cause) {
      setEngaged(false);
      onError(cause instanceof Problem ? cause : new Problem(0, String(cause)));
    }
  };
  return (
    <button type="button" class="engagement-button" data-kind={kind} aria-pressed={isEngaged} onClick={() => void engage()}>
      <span aria-hidden="true">{isEngaged ? "✓ " : ""}</span>{text.post[kind]} <span class="number">{count}</span>
      <span class="visually-hidden"> ({text.post.people(count)})</span>
    </button>
  );
}

/** Current time, updated so that relative times stay correct. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
