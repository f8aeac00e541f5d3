/** One debate: watched live, or read afterwards. */
import { useEffect, useRef, useState } from "react";
import { Problem } from "../shared/api";
import { useEdge } from "../shared/edge";
import { useKeys } from "../shared/keys";
import { LineState, Trouble } from "../shared/line";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { DebateAloud } from "./aloud";
import { Approval } from "./approval";
import { Bar } from "./bar";
import { Facts } from "./facts";
import { Keep } from "./keep";
import { useDebate, type Listening } from "./listen";
import { text } from "./strings";
import { Turns } from "./turns";
import type { Settings } from "./types";

const words = text.debate;

export function Hall({ id, settings }: { id: string; settings?: Settings }) {
  const listening = useDebate(id);
  const { debate, isLoaded, refused } = listening;
  const slow = useSlow(!isLoaded && !refused);
  useEffect(() => {
    const stands = debate.status === "running" && debate.round > 0 ? words.round(debate.round, debate.maxRounds) : "";
    document.title = [stands, debate.topic, words.page].filter(Boolean).join(" · ");
  }, [debate.topic, debate.status, debate.round, debate.maxRounds]);
  if (refused) return <Missing problem={refused} />;
  return (
    <main id="content" class="hall" tabIndex={-1} aria-busy={!isLoaded}>
      {isLoaded ? <Opened listening={listening} settings={settings} /> : (
        <>
          <LineState line={listening.line} />
          {slow > 0 && <Skeleton lines={6} />}
          {slow > 1 && <p role="status">{words.loading}</p>}
        </>
      )}
    </main>
  );
}

function Opened({ listening, settings }: { listening: Listening; settings?: Settings }) {
  const { debate, line } = listening;
  const [problem, setProblem] = useState<Problem>();
  const [isStopping, setStopping] = useState(false);
  const [isResuming, setResuming] = useState(false);
  const edge = useRef<HTMLDivElement>(null);
  const isRunning = debate.status === "running";
  const isLive = isRunning || debate.status === "waiting";
  const { isAway, back } = useEdge(edge, isLive, debate);
  const failed = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
  const act = (what: () => Promise<void>, setBusy: (isBusy: boolean) => void) => {
    setProblem(undefined);
    setBusy(true);
    what().catch((cause) => {
      failed(cause);
      setBusy(false);
    });
  };
  const stop = () => act(listening.stop, setStopping);
  const resume = () => act(listening.resume, setResuming);
  useEffect(() => {
    if (!isLive) setStopping(false);
    else setResuming(false);
  }, [isLive]);
  useKeys({
    ".": isLive ? stop : undefined,
    a: debate.question ? () => document.getElementById("approve")?.focus() : undefined,
    l: isAway ? back : undefined,
  });
  const hasClaims = debate.factCheck !== "off" || debate.facts.length > 0;
  return (
    <>
      <h1 class="topic" dir="auto">{debate.topic}</h1>
      <Bar debate={debate} isStopping={isStopping} stop={stop} />
      <LineState line={line} />
      <div class={hasClaims ? "floor has-claims" : "floor"}>
        <div class="stage">
          <Turns turns={debate.turns} facts={debate.facts} isRunning={isRunning} />
          {debate.question && <Approval key={debate.question.interruptId} question={debate.question} answer={listening.answer} failed={failed} />}
          {problem && <Trouble problem={problem} />}
          <Ending listening={listening} isResuming={isResuming} resume={resume} />
          <div ref={edge} class="edge" />
        </div>
        {hasClaims && <Facts facts={debate.facts} hasEvidence={settings?.evidence.configured ?? true} isOver={!isLive} />}
      </div>
      {isAway && <button type="button" class="back" onClick={back}>↓ {text.line.live}</button>}
      <DebateAloud debate={debate} />
    </>
  );
}

function Ending({ listening, isResuming, resume }: { listening: Listening; isResuming: boolean; resume(): void }) {
  const { status, failure, tokens, durationMs, id } = listening.debate;
  if (status === "running" || status === "waiting") return null;
  const facts = [durationMs === undefined ? "" : text.end.took((durationMs / 1000).toFixed(1)), tokens > 0 ? text.end.tokens(tokens) : ""];
  return (
    <>
      {status !== "completed" && (
        <section class={`ending is-${status}`} role={status === "error" ? "alert" : undefined}>
          {failure && <p><strong>{failure.message}</strong></p>}
          {failure?.hint && <p>{failure.hint}</p>}
          <p>{status === "error" ? text.end.error : text.end.stopped}</p>
          <button type="button" class="primary" disabled={isResuming} onClick={resume}>{isResuming ? text.end.resuming : text.end.resume}</button>
        </section>
      )}
      <Keep id={id} />
      {status === "completed" && <p class="measures">{facts.filter(Boolean).join(" · ")}</p>}
    </>
  );
}

function Missing({ problem }: { problem: Problem }) {
  return (
    <main id="content" class="hall" tabIndex={-1}>
      <h1>{problem.status === 404 ? words.missing : problem.message}</h1>
      {problem.hint && <p>{problem.hint}</p>}
      <p><a href="/debate">{words.fresh}</a></p>
    </main>
  );
}
