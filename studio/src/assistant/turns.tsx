/** The conversation: what was asked, the plan, the answer with its sources. */
import { memo } from "react";
import { SafeLink } from "../shared/link";
import { Markdown } from "../shared/markdown-view";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { Plan } from "./plan";
import type { Turn } from "./state";
import { text } from "./strings";
import type { Reference } from "./types";

const words = text.turn;
const SHORT_QUERY = 60;

export function Turns({ turns }: { turns: Turn[] }) {
  return <ol class="turns" aria-label={words.conversation}>{turns.map((turn) => <OneTurn key={turn.key} turn={turn} />)}</ol>;
}

/** Only the turn that grows is drawn again. */
const OneTurn = memo(function OneTurn({ turn }: { turn: Turn }) {
  const { asked, status, references } = turn;
  const [question, ...more] = asked;
  const isRunning = status === "running";
  const isBare = status === "completed" && turn.isTold && turn.steps.length === 0 && references.length === 0 && turn.text !== "";
  return (
    <li class="turn" data-status={status}>
      <div class="asked">
        <h2 dir="auto"><span class="hidden">{words.you}: </span>{question ?? words.unknown}</h2>
        {more.map((line, index) => <p key={index} class="also" dir="auto"><span class="hidden">{words.also}: </span>{line}</p>)}
      </div>
      <Plan turn={turn} />
      {turn.text !== "" && (
        <div class="answer">
          <h3 class="hidden">{words.answer}</h3>
          <Markdown text={turn.text} labels={words} end={isRunning && <span class="caret" aria-hidden="true" />}
            reference={(number) => <Mark turn={turn} number={number} />} />
          {isBare && <p class="bare">{words.nothingBehind}</p>}
        </div>
      )}
      {isRunning && turn.text === "" && <Thinking turn={turn} />}
      {references.length > 0 && <Sources turn={turn} />}
      {status === "stopped" && <p class="cut">{words.stopped}</p>}
      {status === "error" && (
        <div class="problem" role="alert">
          <p><strong>{words.failed}</strong> {turn.failure?.message}</p>
          {turn.failure?.hint && <p>{turn.failure.hint}</p>}
        </div>
      )}
    </li>
  );
});

/** A number leads to its source once the source is known; one that has none stays what was written. */
function Mark({ turn, number }: { turn: Turn; number: number }) {
  if (!turn.references.some(({ n }) => n === number)) return <span class="ref">[{number}]</span>;
  return <a class="ref" href={`#source-${turn.key}-${number}`} aria-label={words.source(number)}>[{number}]</a>;
}

function Thinking({ turn }: { turn: Turn }) {
  const slow = useSlow(true);
  return (
    <div class="thinking">
      <p>{words.phase[turn.phase]}</p>
      {slow > 0 && turn.steps.length === 0 && <Skeleton lines={2} />}
    </div>
  );
}

function Sources({ turn }: { turn: Turn }) {
  return (
    <div class="cited">
      <h3>{words.sources}</h3>
      <ol>
        {turn.references.map((reference) => (
          <li key={reference.n} id={`source-${turn.key}-${reference.n}`} tabIndex={-1}>
            <span class="number">[{reference.n}]</span>
            <div><code>{reference.tool}</code> <SafeLink url={reference.source}>{reference.source}</SafeLink> <Query reference={reference} /></div>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Query({ reference: { n, query } }: { reference: Reference }) {
  if (!query) return null;
  if (query.length <= SHORT_QUERY && !query.includes("\n")) return <q>{query}</q>;
  return (
    <details>
      <summary>{words.query}</summary>
      <pre tabIndex={0} role="group" aria-label={`${words.query} ${n}`}><code>{query}</code></pre>
    </details>
  );
}
