/** The assistant page: `/assistant` for a new conversation, `/assistant/{sessionId}` for an existing one. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./assistant.css";
import { requestJson } from "../shared/api";
import { PageLayout } from "../shared/page-layout";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ModelLabel, selectedModel } from "../shared/model";
import { readSetting, writeSetting } from "../shared/local-storage";
import { Composer } from "./composer";
import { startTurn } from "./use-session";
import { SessionPage } from "./session-page";
import { Sidebar, UserSelect } from "./sidebar";
import { text } from "./strings";
import type { Settings } from "./types";

const USER_KEY = "superstep.user";
/** User id when the server has no users and none was selected. */
const GUEST = "guest";

function AssistantApp() {
  const id = decodeURIComponent(/^\/assistant\/([^/]+)/.exec(location.pathname)?.[1] ?? "");
  const [settings, setSettings] = useState<Settings>();
  const [isLoaded, setLoaded] = useState(false);
  const [storedUser, setStoredUser] = useState(readSetting(USER_KEY) ?? "");
  const current = settings?.users.find((user) => user.id === storedUser) ?? settings?.users[0];
  const userId = current?.id ?? (isLoaded ? storedUser || GUEST : "");
  useEffect(() => {
    const controller = new AbortController();
    // The first request lists the users, the second the tools of the selected user. The page works without settings.
    const url = `/api/assistant/settings${userId && `?${new URLSearchParams({ userId })}`}`;
    const loading = requestJson<Settings>(url, { signal: controller.signal }).then(setSettings, () => {});
    void loading.finally(() => !controller.signal.aborted && setLoaded(true));
    return () => controller.abort();
  }, [userId]);
  const go = (url: string) => location.assign(url);
  useKeyboardShortcuts({ n: () => go("/assistant") });
  const selectUser = (user: string) => {
    writeSetting(USER_KEY, user);
    setStoredUser(user);
  };
  if (id) {
    // A conversation is visible only to the user who started it.
    const switchUser = (user: string) => {
      selectUser(user);
      go("/assistant");
    };
    const renderSidebar = (revision: string) => <Sidebar settings={settings} userId={userId} id={id} revision={revision} onSelectUser={switchUser} />;
    const userSelect = <UserSelect settings={settings} userId={userId} onSelectUser={selectUser} />;
    return (
      <PageLayout shortcuts={text.shortcuts} nav={<a href="/assistant">{text.newConversation}</a>}>
        {userId === "" ? <main id="content" class="session-layout" tabIndex={-1} aria-busy={true} /> : <SessionPage key={userId} id={id} userId={userId} settings={settings} renderSidebar={renderSidebar} userSelect={userSelect} />}
      </PageLayout>
    );
  }
  return (
    <PageLayout shortcuts={text.shortcuts} nav={<span>{text.page}</span>}>
      <main id="content" class="session-layout is-new" tabIndex={-1}>
        <NewSessionPage settings={settings} userId={userId} go={go} />
        <Sidebar settings={settings} userId={userId} revision="" onSelectUser={selectUser} />
      </main>
    </PageLayout>
  );
}

function NewSessionPage({ settings, userId, go }: { settings?: Settings; userId: string; go(url: string): void }) {
  const tables = settings?.data?.tables?.map((table) => (typeof table === "string" ? table : table.name)) ?? [];
  const model = selectedModel(settings?.models, "");
  const send = async (message: string, name: string) => {
    const id = await startTurn({ message, userId: userId || GUEST, ...(name ? { model: name } : {}) });
    go(`/assistant/${encodeURIComponent(id)}`);
  };
  return (
    <div class="main-column">
      <h1>{text.title}</h1>
      <p class="lead">{text.lead}</p>
      <Composer isFirst settings={settings} examples={settings?.examples} onSend={send} />
      {tables.length > 0 && <p class="hint tables">{text.tables(tables)}</p>}
      {model && <ModelLabel model={model} />}
    </div>
  );
}

createRoot(document.getElementById("root")!).render(<AssistantApp />);
