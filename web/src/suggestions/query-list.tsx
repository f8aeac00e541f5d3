/** List of executed queries with their states. */
import { QueryStateIcon, SourceIcon } from "./icons";
import { type ExecutedQuery, sourceForTool } from "./state";
import { text } from "./strings";

export function QueryList({ queries, isSearching }: { queries: ExecutedQuery[]; isSearching: boolean }) {
  return (
    <section class="query-list" aria-labelledby="queries-title">
      <h2 id="queries-title">{text.queries.title}</h2>
      {queries.length === 0 && !isSearching && <p class="empty">{text.queries.none}</p>}
      <ol>
        {queries.map((item) => <QueryItem key={item.key} executed={item} />)}
      </ol>
    </section>
  );
}

function QueryItem({ executed }: { executed: ExecutedQuery }) {
  const { tool, query, state, count } = executed;
  const source = sourceForTool(tool);
  return (
    <li class={`is-${state}`} data-state={state}>
      <QueryStateIcon name={state} />
      <q dir="auto">{query}</q>
      <span class="query-source">{source && <SourceIcon name={source} />} {source ? text.source[source] : tool}</span>
      <span class="query-result">{state === "ok" && count !== undefined ? text.queries.found(count) : text.queries.state[state]}</span>
    </li>
  );
}
