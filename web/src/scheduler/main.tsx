/** The scheduler page: `/scheduler`. View, date and conversation are in the query string. */
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import "../shared/base.css";
import "../shared/run.css";
import "./member-colors.css";
import "./scheduler.css";
import "./calendar.css";
import "./print.css";
import type { Problem } from "../shared/api";
import { PageLayout } from "../shared/page-layout";
import { ErrorNotice } from "../shared/connection-status";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { readSetting, writeSetting } from "../shared/local-storage";
import { api, toProblem } from "./api";
import { SchedulerPage } from "./scheduler-page";
import { text } from "./strings";
import type { Settings } from "./types";
import { MemberSelect, MemberSelectPage } from "./member-select";

const USER_KEY = "superstep.scheduler.user";
/** Reloads the server time, because clocks change and machines sleep. */
const REFRESH_MS = 5 * 60_000;

function SchedulerApp() {
  const [userId, setUserId] = useState(readSetting(USER_KEY) ?? "");
  const [isUnknown, setUnknown] = useState(false);
  const { settings, problem, refresh } = useSettings(userId);
  const loadingStage = useLoadingStage(!settings && !problem);
  const selectMember = (id: string) => {
    writeSetting(USER_KEY, id);
    setUnknown(false);
    setUserId(id);
  };
  useEffect(() => {
    if (problem?.status !== 403 || !userId) return;
    // The member was removed, or the server has another family now.
    selectMember("");
    setUnknown(true);
  }, [problem]);
  const isReady = settings !== undefined && userId !== "" && settings.now !== undefined;
  const nav = (
    <span class="page-nav">
      <span class="page-name">{settings?.family.name ?? text.page}</span>
      {isReady && <MemberSelect members={settings.members} userId={userId} onSelect={selectMember} />}
    </span>
  );
  return (
    <PageLayout shortcuts={text.shortcuts} nav={nav}>
      {isReady ? <SchedulerPage key={userId} settings={settings} userId={userId} />
        : settings && !userId ? <MemberSelectPage settings={settings} isUnknown={isUnknown} onSelect={selectMember} />
        : (
          <main id="content" tabIndex={-1} aria-busy={!problem}>
            <h1 class="visually-hidden">{text.page}</h1>
            {problem && <ErrorNotice problem={problem} onRetry={refresh} />}
            {loadingStage > 0 && <Skeleton lines={8} />}
            {loadingStage > 1 && <p role="status">{text.loading}</p>}
          </main>
        )}
    </PageLayout>
  );
}

/** Settings for a member; without a member, only the list of members. */
function useSettings(userId: string): { settings?: Settings; problem?: Problem; refresh(): void } {
  const [loaded, setLoaded] = useState<{ userId: string; settings: Settings }>();
  const [problem, setProblem] = useState<Problem>();
  const [generation, setGeneration] = useState(0);
  const refresh = () => setGeneration((number) => number + 1);
  useEffect(() => {
    const controller = new AbortController();
    api.settings(userId, controller.signal).then(
      (settings) => { setLoaded({ userId, settings }); setProblem(undefined); },
      (cause) => controller.signal.aborted || setProblem(toProblem(cause)),
    );
    const timer = setInterval(() => document.hidden || refresh(), REFRESH_MS);
    addEventListener("online", refresh);
    return () => {
      controller.abort();
      clearInterval(timer);
      removeEventListener("online", refresh);
    };
  }, [userId, generation]);
  // Settings of the previous member are not shown. Loaded settings stay while the server is unreachable.
  const settings = loaded?.userId === userId ? loaded.settings : undefined;
  return { settings, problem: settings ? undefined : problem, refresh };
}

createRoot(document.getElementById("root")!).render(<SchedulerApp />);
