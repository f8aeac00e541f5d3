/** The claims that were looked up: verdict, sources, and why there may be none. */
import { VERDICT_SIGN } from "./shapes";
import { text } from "./strings";
import type { Fact } from "./types";

export function Facts({ facts, hasEvidence, isOver }: { facts: Fact[]; hasEvidence: boolean; isOver: boolean }) {
  // A debate may be older than the settings: what was found then still counts.
  const isInVain = !hasEvidence && facts.every(({ verdict }) => verdict === "unverifiable");
  return (
    <section class="facts" aria-labelledby="facts-title">
      <h2 id="facts-title">{text.facts.title}</h2>
      {isInVain && <p class="why">{text.facts.noEvidence}</p>}
      {facts.length === 0 && <p class="empty">{isOver ? text.facts.noneFound : text.facts.none}</p>}
      <ol>
        {facts.map((fact, number) => (
          <li key={number} id={`claim-${number}`} class={`fact is-${fact.verdict}`} tabIndex={-1}>
            <p class="verdict">
              <span aria-hidden="true">{VERDICT_SIGN[fact.verdict]}</span> {text.facts.verdict[fact.verdict]}
              <button type="button" class="where" aria-label={text.facts.where(number + 1)} onClick={() => show(number)}>{number + 1}</button>
            </p>
            <p class="words" dir="auto">{fact.claim}</p>
            <Sources sources={fact.sources} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A claim may be quoted later; the first place is where it was made. */
function show(number: number): void {
  document.querySelector<HTMLElement>(`[data-claim="${number}"]`)?.focus();
}

function Sources({ sources }: { sources: string[] }) {
  if (sources.length === 0) return <p class="sources">{text.facts.noSources}</p>;
  return (
    <p class="sources">
      {text.facts.sources(sources.length)}: {sources.map((source, index) => (
        <span key={source}>
          {index > 0 && ", "}
          {/^https?:\/\//.test(source) ? <a href={source} target="_blank" rel="noreferrer noopener">{source}</a> : <cite>{source}</cite>}
        </span>
      ))}
    </p>
  );
}
