/** The turns of a conversation: messages, plan, answer and sources. */
import { memo } from "react";
import { SafeLink } from "../shared/link";
import { Markdown } from "../shared/markdown-view";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { Plan } from "./plan";
import type { Turn } from "./state";
import { text } from "./strings";
import type { Reference } from "./types";

const strings = text.turn;
const SHORT_QUERY = 60;

export function Turns({ turns }: { turns: Turn[] }) {
  return <ol class="turns" aria-label={strings.conversation}>{turns.map((turn) => <TurnView key={turn.key} turn={turn} />)}</ol>;
}

/** Memoized, so that only the growing turn renders again. */
const TurnView = memo(function TurnView({ turn }: { turn: Turn }) {
  const { userMessages, status, references } = turn;
  const [question, ...followUps] = userMessages;
  const isRunning = status === "running";
  const isWithoutTools = status === "completed" && turn.hasEvents && turn.steps.length === 0 && references.length === 0 && turn.text !== "";
  return (
    <li class="turn" data-status={status}>
      <div class="user-message">
        <h2 dir="auto"><span class="visually-hidden">{strings.you}: </span>{question ?? strings.unknown}</h2>
        {followUps.map((line, index) => <p key={index} class="follow-up" dir="auto"><span class="visually-hidden">{strings.followUp}: </span>{line}</p>)}
      </div>
      <Plan turn={turn} />
      {turn.text !== "" && (
        <div class="answer">
          <h3 class="visually-hidden">{strings.answer}</h3>
          <Markdown text={turn.text} labels={strings} end={isRunning && <span class="caret" aria-hidden="true" />}
            reference={(number) => <CitationMark turn={turn} number={number} />} />
          {isWithoutTools && <p class="no-tools">{strings.noToolsUsed}</p>}
        </div>
      )}
      {isRunning && turn.text === "" && <PhaseIndicator turn={turn} />}
      {references.length > 0 && <SourceList turn={turn} />}
      {status === "stopped" && <p class="interrupted">{strings.stopped}</p>}
      {status === "error" && (
        <div class="problem" role="alert">
          <p><strong>{strings.failed}</strong> {turn.failure?.message}</p>
          {turn.failure?.hint && <p>{turn.failure.hint}</p>}
        </div>
      )}
    </li>
  );
});

/** Links a citation to its source, or shows plain text if there is none. */
function CitationMark({ turn, number }: { turn: Turn; number: number }) {
  if (!turn.references.some(({ n }) => n === number)) return <span class="citation">[{number}]</span>;
  return <a class="citation" href={`#source-${turn.key}-${number}`} aria-label={strings.source(number)}>[{number}]</a>;
}

function PhaseIndicator({ turn }: { turn: Turn }) {
  const loadingStage = useLoadingStage(true);
  return (
    <div class="progress-indicator">
      <p>{strings.phase[turn.phase]}</p>
      {loadingStage > 0 && turn.steps.length === 0 && <Skeleton lines={2} />}
    </div>
  );
}

function SourceList({ turn }: { turn: Turn }) {
  return (
    <div class="source-list">
      <h3>{strings.sources}</h3>
      <ol>
        {turn.references.map((reference) => (
          <li key={reference.n} id={`source-${turn.key}-${reference.n}`} tabIndex={-1}>
            <span class="number">[{reference.n}]</span>
            <div><code>{reference.tool}</code> <SafeLink url={reference.source}>{reference.source}</SafeLink> <QueryDetails reference={reference} /></div>
          </li>
        ))}
      </ol>
    </div>
  );
}

function QueryDetails({ reference: { n, query } }: { reference: Reference }) {
  if (!query) return null;
  if (query.length <= SHORT_QUERY && !query.includes("\n")) return <q>{query}</q>;
  return (
    <details>
      <summary>{strings.query}</summary>
      <pre tabIndex={0} role="group" aria-label={`${strings.query} ${n}`}><code>{query}</code></pre>
    </details>
  );
}
