/** Page of one conversation, live or completed. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Problem } from "../shared/api";
import { type Announcement, LiveAnnouncer } from "../shared/live-announcer";
import { useStickToBottom } from "../shared/use-stick-to-bottom";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ShareActions } from "../shared/share-actions";
import { ConnectionStatus, ErrorNotice } from "../shared/connection-status";
import { ModelLabel } from "../shared/model";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { StatusLabel } from "../shared/status";
import { InterruptForm } from "./interrupt-form";
import { Composer } from "./composer";
import { type SessionController, useSession } from "./use-session";
import { truncate } from "./tool-output";
import type { SessionViewState } from "./state";
import { text } from "./strings";
import { Turns } from "./turns";
import { sessionToMarkdown, verifierNoteText } from "./session-markdown";
import type { Settings } from "./types";

interface Props {
  id: string;
  /** The server shows a conversation only to its owner. */
  userId: string;
  settings?: Settings;
  /** Renders the sidebar. A new `revision` reloads its lists. */
  renderSidebar(revision: string): ReactNode;
  /** Shown when the conversation belongs to another user. */
  userSelect: ReactNode;
}

export function SessionPage({ id, userId, settings, renderSidebar, userSelect }: Props) {
  const controller = useSession(id, userId);
  const { conversation, isLoaded, error, connection } = controller;
  const loadingStage = useLoadingStage(!isLoaded && !error);
  const title = truncate(conversation.turns[0]?.userMessages[0] ?? "");
  useEffect(() => {
    document.title = [title, text.page].filter(Boolean).join(" · ");
  }, [title]);
  if (error) return <SessionNotFound problem={error} userSelect={userSelect} />;
  return (
    <main id="content" class="session-layout" tabIndex={-1} aria-busy={!isLoaded}>
      {isLoaded ? <SessionContent controller={controller} settings={settings} title={title} /> : (
        <div class="main-column">
          <ConnectionStatus connection={connection} />
          {loadingStage > 0 && <Skeleton lines={6} />}
          {loadingStage > 1 && <p role="status">{text.loading}</p>}
        </div>
      )}
      {isLoaded && renderSidebar(`${conversation.status}-${conversation.turns.length}`)}
    </main>
  );
}

function SessionContent({ controller, settings, title }: { controller: SessionController; settings?: Settings; title: string }) {
  const { conversation, connection } = controller;
  const { status, question, model, turns, id, summary } = conversation;
  const [problem, setProblem] = useState<Problem>();
  const [isStopping, setStopping] = useState(false);
  const bottom = useRef<HTMLDivElement>(null);
  const isRunning = status === "running";
  const isLive = isRunning || status === "waiting";
  const { isAwayFromBottom, scrollToBottom } = useStickToBottom(bottom, isLive, conversation);
  const handleError = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
  const stop = () => {
    setProblem(undefined);
    setStopping(true);
    controller.stop().catch((cause) => {
      handleError(cause);
      setStopping(false);
    });
  };
  useEffect(() => {
    if (!isLive) setStopping(false);
    setProblem(undefined);
  }, [isLive]);
  useKeyboardShortcuts({ ".": isLive ? stop : undefined, l: isAwayFromBottom ? scrollToBottom : undefined });
  return (
    <div class="main-column">
      <h1 class="visually-hidden">{title || text.page}</h1>
      <div class="status-bar">
        <p><StatusLabel status={status} /></p>
        {model && <ModelLabel model={model} />}
        {isLive && <button type="button" class="stop" disabled={isStopping} onClick={stop}>{isStopping ? text.stopping : text.stop}</button>}
      </div>
      <ConnectionStatus connection={connection} />
      {summary && (
        <details class="summary">
          <summary>{text.turn.summary}</summary>
          <p dir="auto">{summary}</p>
        </details>
      )}
      <Turns turns={turns} />
      {question && <InterruptForm key={question.id} question={question} onAnswer={controller.answer} onError={handleError} />}
      {problem && <ErrorNotice problem={problem} />}
      {!isLive && turns.length > 0 && <ShareActions markdown={() => sessionToMarkdown(conversation)} path={`/assistant/${encodeURIComponent(id)}`} />}
      {!question && <Composer settings={settings} isRunning={isRunning} onSend={controller.send} />}
      <div ref={bottom} class="stream-end" />
      {isAwayFromBottom && <button type="button" class="back-to-live" onClick={scrollToBottom}>↓ {text.connection.backToLive}</button>}
      <LiveAnnouncer label={text.page} announcements={announcementsOf(conversation)} isHistory={conversation.historyEventId === undefined || conversation.lastEventId <= conversation.historyEventId} />
    </div>
  );
}

/** Returns what screen readers announce: new plans, the answer, an open interrupt, the final status. */
function announcementsOf({ turns, question, status, lastEventId }: SessionViewState): Announcement[] {
  const announcements = turns.flatMap((turn): Announcement[] => [
    ...turn.notes
      .filter((note) => note.status === "planning_retry" && turn.steps.some((step) => step.attempt > note.attempt))
      .map((note) => ({ key: `${turn.key}/note-${note.attempt}`, text: verifierNoteText(note, turn), isDone: true })),
    { key: turn.key, speaker: text.turn.answer, text: turn.text, isDone: turn.status !== "running" },
  ]);
  if (question) announcements.push({ key: `ask/${lastEventId}`, text: question.kind === "approval" ? text.interrupt.approve(question.tool) : question.question, isDone: true });
  else if (status === "stopped" || status === "error") announcements.push({ key: `${status}/${lastEventId}`, text: text.status[status], isDone: true });
  return announcements;
}

function SessionNotFound({ problem, userSelect }: { problem: Problem; userSelect: ReactNode }) {
  const isForbidden = problem.status === 403;
  const title = problem.status === 404 ? text.missing : isForbidden ? text.forbidden : problem.message;
  return (
    <main id="content" tabIndex={-1}>
      <h1>{title}</h1>
      {isForbidden ? userSelect : problem.hint && <p>{problem.hint}</p>}
      <p><a href="/assistant">{text.newConversation}</a></p>
    </main>
  );
}
