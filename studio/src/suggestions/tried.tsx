/** Which queries were tried, as they happen. */
import { SourceSign, StateSign } from "./signs";
import { sourceOf, type Tried } from "./state";
import { text } from "./strings";

export function TriedList({ tried, isSearching }: { tried: Tried[]; isSearching: boolean }) {
  return (
    <section class="tried" aria-labelledby="tried-title">
      <h2 id="tried-title">{text.tried.title}</h2>
      {tried.length === 0 && !isSearching && <p class="empty">{text.tried.none}</p>}
      <ol>
        {tried.map((one) => <One key={one.key} tried={one} />)}
      </ol>
    </section>
  );
}

function One({ tried }: { tried: Tried }) {
  const { tool, query, state, found } = tried;
  const source = sourceOf(tool);
  return (
    <li class={`is-${state}`} data-state={state}>
      <StateSign of={state} />
      <q dir="auto">{query}</q>
      <span class="in">{source && <SourceSign of={source} />} {source ? text.source[source] : tool}</span>
      <span class="came">{state === "ok" && found !== undefined ? text.tried.found(found) : text.tried.state[state]}</span>
    </li>
  );
}
