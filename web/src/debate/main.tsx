/** The debate page: `/debate` to start one, `/debate/{id}` to watch it. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./debate.css";
import { requestJson } from "../shared/api";
import { PageLayout } from "../shared/page-layout";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { NewDebateForm } from "./new-debate-form";
import { DebatePage } from "./debate-page";
import { DebateList } from "./debate-list";
import { text } from "./strings";
import type { Settings } from "./types";

function DebateApp() {
  const id = decodeURIComponent(/^\/debate\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  useEffect(() => {
    // The page works without settings, because the server has defaults.
    requestJson<Settings>("/api/debate/settings").then(setSettings, () => {});
  }, []);
  const go = (address: string) => location.assign(address);
  useKeyboardShortcuts({ n: () => go("/debate"), ...(id ? { "/": () => go("/debate#search") } : {}) });
  if (id) return <PageLayout shortcuts={text.shortcuts} nav={<a href="/debate">{text.debate.newDebate}</a>}><DebatePage id={id} settings={settings} /></PageLayout>;
  return (
    <PageLayout shortcuts={text.shortcuts} nav={<span>{text.debate.page}</span>}>
      <main id="content" class="start-layout" tabIndex={-1}>
        <div>
          <h1>{text.form.title}</h1>
          <p class="lead">{text.form.lead}</p>
          <NewDebateForm settings={settings} onCreated={(newId) => go(`/debate/${encodeURIComponent(newId)}`)} />
        </div>
        <DebateList />
      </main>
    </PageLayout>
  );
}

createRoot(document.getElementById("root")!).render(<DebateApp />);
