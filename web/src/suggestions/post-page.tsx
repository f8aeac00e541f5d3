/** Page of one post: next step, results by source, executed queries. */
import { useEffect, useState } from "react";
import { Problem } from "../shared/api";
import { LiveAnnouncer } from "../shared/live-announcer";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ShareActions } from "../shared/share-actions";
import { ConnectionStatus, ErrorNotice } from "../shared/connection-status";
import { SafeLink } from "../shared/link";
import { ModelLabel, ModelSelect, selectedModel } from "../shared/model";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { StatusIcon } from "../shared/status";
import { hintParts, suggestionsToMarkdown } from "./hint";
import { fetchPost, postUrl } from "./post-list";
import { EngagementButtons, PostMeta, TagList } from "./post";
import { type SuggestionsController, useSuggestions } from "./use-suggestions";
import { SourceResults, Warnings } from "./source-results";
import { text } from "./strings";
import { QueryList } from "./query-list";
import type { Post, Settings, SuggestionsResponse } from "./types";

const strings = text.postPage;

export function PostPage({ id, settings }: { id: string; settings?: Settings }) {
  const [model, setModel] = useState("");
  const controller = useSuggestions(id, model);
  const { post, isLoaded, setPost, problem, setProblem } = usePost(id);
  const loadingStage = useLoadingStage(!isLoaded);
  const isMissing = controller.problem?.status === 404;
  useEffect(() => {
    document.title = [post?.text, text.page].filter(Boolean).join(" · ");
  }, [post?.text]);
  if (isMissing) return <PostNotFound />;
  return (
    <main id="content" class="post-page" tabIndex={-1} aria-busy={controller.search.status === "searching"}>
      {post ? (
        <header class="post-header">
          <h1 dir="auto">{post.text}</h1>
          <PostMeta post={post} />
          <div class="row">
            <EngagementButtons post={post} onChanged={setPost} onError={setProblem} />
            <TagList tags={post.tags} />
          </div>
        </header>
      ) : (
        <header class="post-header">
          <h1 class="visually-hidden">{text.page}</h1>
          {loadingStage > 0 && <Skeleton lines={2} />}
          {loadingStage > 1 && <p role="status">{strings.loading}</p>}
          {isLoaded && !problem && <p class="empty">{strings.notListed}</p>}
        </header>
      )}
      {problem && <ErrorNotice problem={problem} />}
      <PostContent controller={controller} post={post} settings={settings} model={model} onSelectModel={setModel} />
    </main>
  );
}

interface Props {
  controller: SuggestionsController;
  post?: Post;
  settings?: Settings;
  model: string;
  onSelectModel(model: string): void;
}

function PostContent({ controller, post, settings, model, onSelectModel }: Props) {
  const { search, connection, problem, stop, restart } = controller;
  const { response, queries, status } = search;
  const isSearching = status === "searching" && !problem;
  useKeyboardShortcuts({ ".": isSearching ? stop : undefined });
  const statusName = isSearching ? "running" : problem ? "error" : status === "done" ? "completed" : "stopped";
  const label = response?.model ?? selectedModel(settings?.models, model);
  const total = response ? response.docs.length + response.issues.length + response.m365.length + response.posts.length : 0;
  const hint = response && (response.actionHint || strings.noHint);
  const choices = settings?.models.filter(({ configured }) => configured) ?? [];
  return (
    <>
      <div class="status-bar">
        <p class={`status is-${statusName}`} data-status={status}>
          <StatusIcon status={statusName} /> {isSearching ? strings.phase[search.phase] : strings.status[status]}
        </p>
        {choices.length > 1 && (
          <label class="planner">
            <span>{strings.model}</span>
            <ModelSelect id="model" name="model" models={settings?.models} selected={selectedModel(settings?.models, model)} onSelect={onSelectModel} />
          </label>
        )}
        {label && <ModelLabel model={label} />}
        {isSearching
          ? <button type="button" class="stop" onClick={stop}>{strings.stop}</button>
          : <button type="button" class="stop" onClick={restart}>{strings.restart}</button>}
      </div>
      <ConnectionStatus connection={connection} />
      {problem && <ErrorNotice problem={problem} onRetry={restart} />}
      {response && <ActionHint response={response} isEmpty={total === 0} />}
      <Warnings warnings={response?.warnings} />
      {status === "stopped" && !problem && <p class="empty">{strings.stopped}</p>}
      <div class="columns">
        <div class="results">
          <h2 class="visually-hidden">{strings.found}</h2>
          <SourceResults response={response} queries={queries} settings={settings} isSearching={isSearching} />
        </div>
        <QueryList queries={queries} isSearching={isSearching} />
      </div>
      {response && post && <ShareActions markdown={() => suggestionsToMarkdown(post, response, queries)} path={postUrl(post.id)} />}
      <LiveAnnouncer label={text.page} isHistory={false} announcements={response ? [{ key: "end", text: strings.announcement(total, hint ?? ""), isDone: true }] : []} />
    </>
  );
}

function ActionHint({ response, isEmpty }: { response: SuggestionsResponse; isEmpty: boolean }) {
  const { actionHint } = response;
  if (!actionHint) return <p class="no-action-hint">{isEmpty ? strings.nothing : strings.noHint}</p>;
  return (
    <section class="action-hint" aria-labelledby="hint-title">
      <h2 id="hint-title">{strings.hint}</h2>
      <p class="hint-text" dir="auto">
        {hintParts(actionHint, response).map((part, index) => (part.url ? <SafeLink key={index} url={part.url}>{part.text}</SafeLink> : part.text))}
      </p>
    </section>
  );
}

function PostNotFound() {
  return (
    <main id="content" class="post-page" tabIndex={-1}>
      <h1>{strings.missing}</h1>
      <p><a href="/suggestions">{text.allPosts}</a></p>
    </main>
  );
}

function usePost(id: string) {
  const [post, setPost] = useState<Post>();
  const [isLoaded, setLoaded] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const abortController = new AbortController();
    const handleError = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
    fetchPost(id, abortController.signal)
      .then(setPost, (cause) => abortController.signal.aborted || handleError(cause))
      .finally(() => abortController.signal.aborted || setLoaded(true));
    return () => abortController.abort();
  }, [id]);
  return { post, isLoaded, setPost, problem, setProblem };
}
