/** One conversation: watched live, gone on with, or read afterwards. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Problem } from "../shared/api";
import { Aloud, type Speech } from "../shared/aloud";
import { useEdge } from "../shared/edge";
import { useKeys } from "../shared/keys";
import { KeepRow } from "../shared/keep";
import { LineState, Trouble } from "../shared/line";
import { ModelLabel } from "../shared/model";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { StatusWord } from "../shared/status";
import { Ask } from "./ask";
import { Composer } from "./composer";
import { useSession, type Listening } from "./listen";
import { brief } from "./output";
import type { Conversation } from "./state";
import { text } from "./strings";
import { Turns } from "./turns";
import { markdownOf, noteText } from "./written";
import type { Settings } from "./types";

interface Props {
  id: string;
  /** Who looks; a conversation is shown to whoever began it. */
  userId: string;
  settings?: Settings;
  /** What stands beside it. */
  beside(stamp: string): ReactNode;
  /** Where another user is chosen. */
  who: ReactNode;
}

export function Room({ id, userId, settings, beside, who }: Props) {
  const listening = useSession(id, userId);
  const { conversation, isLoaded, refused, line } = listening;
  const slow = useSlow(!isLoaded && !refused);
  const title = brief(conversation.turns[0]?.asked[0] ?? "");
  useEffect(() => {
    document.title = [title, text.page].filter(Boolean).join(" · ");
  }, [title]);
  if (refused) return <Missing problem={refused} who={who} />;
  return (
    <main id="content" class="desk" tabIndex={-1} aria-busy={!isLoaded}>
      {isLoaded ? <Opened listening={listening} settings={settings} title={title} /> : (
        <div class="stage">
          <LineState line={line} />
          {slow > 0 && <Skeleton lines={6} />}
          {slow > 1 && <p role="status">{text.loading}</p>}
        </div>
      )}
      {isLoaded && beside(`${conversation.status}-${conversation.turns.length}`)}
    </main>
  );
}

function Opened({ listening, settings, title }: { listening: Listening; settings?: Settings; title: string }) {
  const { conversation, line } = listening;
  const { status, question, model, turns, id, summary } = conversation;
  const [problem, setProblem] = useState<Problem>();
  const [isStopping, setStopping] = useState(false);
  const edge = useRef<HTMLDivElement>(null);
  const isRunning = status === "running";
  const isLive = isRunning || status === "waiting";
  const { isAway, back } = useEdge(edge, isLive, conversation);
  const failed = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
  const stop = () => {
    setProblem(undefined);
    setStopping(true);
    listening.stop().catch((cause) => {
      failed(cause);
      setStopping(false);
    });
  };
  useEffect(() => {
    if (!isLive) setStopping(false);
    setProblem(undefined);
  }, [isLive]);
  useKeys({ ".": isLive ? stop : undefined, l: isAway ? back : undefined });
  return (
    <div class="stage">
      <h1 class="hidden">{title || text.page}</h1>
      <div class="bar">
        <p><StatusWord of={status} /></p>
        {model && <ModelLabel model={model} />}
        {isLive && <button type="button" class="stop" disabled={isStopping} onClick={stop}>{isStopping ? text.stopping : text.stop}</button>}
      </div>
      <LineState line={line} />
      {summary && (
        <details class="summary">
          <summary>{text.turn.summary}</summary>
          <p dir="auto">{summary}</p>
        </details>
      )}
      <Turns turns={turns} />
      {question && <Ask key={question.id} question={question} answer={listening.answer} failed={failed} />}
      {problem && <Trouble problem={problem} />}
      {!isLive && turns.length > 0 && <KeepRow markdown={() => markdownOf(conversation)} address={`/assistant/${encodeURIComponent(id)}`} />}
      {!question && <Composer settings={settings} isRunning={isRunning} say={listening.say} />}
      <div ref={edge} class="edge" />
      {isAway && <button type="button" class="back" onClick={back}>↓ {text.line.live}</button>}
      <Aloud label={text.page} speeches={speechesOf(conversation)} isPast={conversation.history === undefined || conversation.last <= conversation.history} />
    </div>
  );
}

/** What is worth hearing: second tries, the answer, the question that waits, how it ended. */
function speechesOf({ turns, question, status, last }: Conversation): Speech[] {
  const speeches = turns.flatMap((turn): Speech[] => [
    ...turn.notes
      .filter((note) => note.status === "planning_retry" && turn.steps.some((step) => step.attempt > note.attempt))
      .map((note) => ({ key: `${turn.key}/note-${note.attempt}`, text: noteText(note, turn), isDone: true })),
    { key: turn.key, who: text.turn.answer, text: turn.text, isDone: turn.status !== "running" },
  ]);
  if (question) speeches.push({ key: `ask/${last}`, text: question.kind === "approval" ? text.ask.approve(question.tool) : question.question, isDone: true });
  else if (status === "stopped" || status === "error") speeches.push({ key: `${status}/${last}`, text: text.status[status], isDone: true });
  return speeches;
}

function Missing({ problem, who }: { problem: Problem; who: ReactNode }) {
  const isOfAnother = problem.status === 403;
  const what = problem.status === 404 ? text.missing : isOfAnother ? text.forbidden : problem.message;
  return (
    <main id="content" tabIndex={-1}>
      <h1>{what}</h1>
      {isOfAnother ? who : problem.hint && <p>{problem.hint}</p>}
      <p><a href="/assistant">{text.fresh}</a></p>
    </main>
  );
}
