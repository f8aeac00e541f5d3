/** Page of one debate, live or completed. */
import { useEffect, useRef, useState } from "react";
import { Problem } from "../shared/api";
import { useStickToBottom } from "../shared/use-stick-to-bottom";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ConnectionStatus, ErrorNotice } from "../shared/connection-status";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { DebateAnnouncer } from "./debate-announcer";
import { ApprovalForm } from "./approval";
import { DebateStatusBar } from "./status-bar";
import { FactCheckList } from "./fact-check-list";
import { TranscriptActions } from "./transcript-actions";
import { type DebateController, useDebate } from "./use-debate";
import { text } from "./strings";
import { Turns } from "./turns";
import type { Settings } from "./types";

const strings = text.debate;

export function DebatePage({ id, settings }: { id: string; settings?: Settings }) {
  const controller = useDebate(id);
  const { debate, isLoaded, error } = controller;
  const loadingStage = useLoadingStage(!isLoaded && !error);
  useEffect(() => {
    const statusText = debate.status === "running" && debate.round > 0 ? strings.round(debate.round, debate.maxRounds) : "";
    document.title = [statusText, debate.topic, strings.page].filter(Boolean).join(" · ");
  }, [debate.topic, debate.status, debate.round, debate.maxRounds]);
  if (error) return <DebateNotFound problem={error} />;
  return (
    <main id="content" class="debate" tabIndex={-1} aria-busy={!isLoaded}>
      {isLoaded ? <DebateContent controller={controller} settings={settings} /> : (
        <>
          <ConnectionStatus connection={controller.connection} />
          {loadingStage > 0 && <Skeleton lines={6} />}
          {loadingStage > 1 && <p role="status">{strings.loading}</p>}
        </>
      )}
    </main>
  );
}

function DebateContent({ controller, settings }: { controller: DebateController; settings?: Settings }) {
  const { debate, connection } = controller;
  const [problem, setProblem] = useState<Problem>();
  const [isStopping, setStopping] = useState(false);
  const [isResuming, setResuming] = useState(false);
  const bottom = useRef<HTMLDivElement>(null);
  const isRunning = debate.status === "running";
  const isLive = isRunning || debate.status === "waiting";
  const { isAwayFromBottom, scrollToBottom } = useStickToBottom(bottom, isLive, debate);
  const handleError = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
  const runAction = (action: () => Promise<void>, setBusy: (isBusy: boolean) => void) => {
    setProblem(undefined);
    setBusy(true);
    action().catch((cause) => {
      handleError(cause);
      setBusy(false);
    });
  };
  const stop = () => runAction(controller.stop, setStopping);
  const resume = () => runAction(controller.resume, setResuming);
  useEffect(() => {
    if (!isLive) setStopping(false);
    else setResuming(false);
  }, [isLive]);
  useKeyboardShortcuts({
    ".": isLive ? stop : undefined,
    a: debate.question ? () => document.getElementById("approve")?.focus() : undefined,
    l: isAwayFromBottom ? scrollToBottom : undefined,
  });
  const hasClaims = debate.factCheck !== "off" || debate.facts.length > 0;
  return (
    <>
      <h1 class="topic" dir="auto">{debate.topic}</h1>
      <DebateStatusBar debate={debate} isStopping={isStopping} stop={stop} />
      <ConnectionStatus connection={connection} />
      <div class={hasClaims ? "columns has-claims" : "columns"}>
        <div class="main-column">
          <Turns turns={debate.turns} facts={debate.facts} isRunning={isRunning} />
          {debate.question && <ApprovalForm key={debate.question.interruptId} question={debate.question} onAnswer={controller.answer} onError={handleError} />}
          {problem && <ErrorNotice problem={problem} />}
          <DebateEnd controller={controller} isResuming={isResuming} resume={resume} />
          <div ref={bottom} class="stream-end" />
        </div>
        {hasClaims && <FactCheckList facts={debate.facts} hasEvidence={settings?.evidence.configured ?? true} isOver={!isLive} />}
      </div>
      {isAwayFromBottom && <button type="button" class="back-to-live" onClick={scrollToBottom}>↓ {text.connection.backToLive}</button>}
      <DebateAnnouncer debate={debate} />
    </>
  );
}

function DebateEnd({ controller, isResuming, resume }: { controller: DebateController; isResuming: boolean; resume(): void }) {
  const { status, failure, tokens, durationMs, id } = controller.debate;
  if (status === "running" || status === "waiting") return null;
  const facts = [durationMs === undefined ? "" : text.end.duration((durationMs / 1000).toFixed(1)), tokens > 0 ? text.end.tokens(tokens) : ""];
  return (
    <>
      {status !== "completed" && (
        <section class={`run-end is-${status}`} role={status === "error" ? "alert" : undefined}>
          {failure && <p><strong>{failure.message}</strong></p>}
          {failure?.hint && <p>{failure.hint}</p>}
          <p>{status === "error" ? text.end.error : text.end.stopped}</p>
          <button type="button" class="primary" disabled={isResuming} onClick={resume}>{isResuming ? text.end.resuming : text.end.resume}</button>
        </section>
      )}
      <TranscriptActions id={id} />
      {status === "completed" && <p class="run-stats">{facts.filter(Boolean).join(" · ")}</p>}
    </>
  );
}

function DebateNotFound({ problem }: { problem: Problem }) {
  return (
    <main id="content" class="debate" tabIndex={-1}>
      <h1>{problem.status === 404 ? strings.missing : problem.message}</h1>
      {problem.hint && <p>{problem.hint}</p>}
      <p><a href="/debate">{strings.newDebate}</a></p>
    </main>
  );
}
