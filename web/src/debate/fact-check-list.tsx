/** List of checked claims with verdicts and sources. */
import { VERDICT_ICON } from "./icons";
import { text } from "./strings";
import type { FactCheckResult } from "./types";

export function FactCheckList({ facts, hasEvidence, isOver }: { facts: FactCheckResult[]; hasEvidence: boolean; isOver: boolean }) {
  // The evidence folder may have been configured when the debate ran.
  const isUnverifiable = !hasEvidence && facts.every(({ verdict }) => verdict === "unverifiable");
  return (
    <section class="fact-checks" aria-labelledby="fact-checks-title">
      <h2 id="fact-checks-title">{text.facts.title}</h2>
      {isUnverifiable && <p class="reason">{text.facts.noEvidence}</p>}
      {facts.length === 0 && <p class="empty">{isOver ? text.facts.noneFound : text.facts.none}</p>}
      <ol>
        {facts.map((fact, number) => (
          <li key={number} id={`claim-${number}`} class={`fact-check is-${fact.verdict}`} tabIndex={-1}>
            <p class="verdict">
              <span aria-hidden="true">{VERDICT_ICON[fact.verdict]}</span> {text.facts.verdict[fact.verdict]}
              <button type="button" class="show-claim" aria-label={text.facts.showClaim(number + 1)} onClick={() => focusClaim(number)}>{number + 1}</button>
            </p>
            <p class="claim-text" dir="auto">{fact.claim}</p>
            <SourceList sources={fact.sources} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Focuses the first occurrence, where the claim was made. */
function focusClaim(number: number): void {
  document.querySelector<HTMLElement>(`[data-claim="${number}"]`)?.focus();
}

function SourceList({ sources }: { sources: string[] }) {
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
