/** The suggestions page: `/suggestions` for posts and search, `/suggestions/{postId}` for results. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./suggestions.css";
import { requestJson } from "../shared/api";
import { PageLayout } from "../shared/page-layout";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { NewPostForm } from "./new-post-form";
import { PostsPage, postUrl } from "./post-list";
import { PostPage } from "./post-page";
import { text } from "./strings";
import type { Settings } from "./types";

function SuggestionsApp() {
  const id = decodeURIComponent(/^\/suggestions\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  useEffect(() => {
    // The page works without settings, because the server has defaults.
    requestJson<Settings>("/api/suggestions/settings").then(setSettings, () => {});
  }, []);
  const go = (address: string) => location.assign(address);
  useKeyboardShortcuts({ n: () => go("/suggestions"), ...(id ? { "/": () => go("/suggestions#search") } : {}) });
  if (id) return <PageLayout shortcuts={text.shortcuts} nav={<a href="/suggestions">{text.allPosts}</a>}><PostPage id={id} settings={settings} /></PageLayout>;
  return (
    <PageLayout shortcuts={text.shortcuts} nav={<span>{text.page}</span>}>
      <main id="content" class="start-layout" tabIndex={-1}>
        <div>
          <h1>{text.title}</h1>
          <p class="lead">{text.lead}</p>
          <NewPostForm onCreated={(post) => go(postUrl(post.id))} />
        </div>
        <PostsPage settings={settings} />
      </main>
    </PageLayout>
  );
}

createRoot(document.getElementById("root")!).render(<SuggestionsApp />);
