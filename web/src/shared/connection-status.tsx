/** Connection status and error messages of a page. */
import type { Problem } from "./api";
import type { ConnectionState } from "./use-run-stream";
import { text } from "./strings";

export function ConnectionStatus({ connection }: { connection: ConnectionState }) {
  return (
    <p class={`connection-status is-${connection.status}`} role="status">
      {connection.status === "reconnecting" ? text.connection.reconnecting(connection.attempt) : connection.status === "reconnected" ? text.connection.reconnected : ""}
    </p>
  );
}

export function ErrorNotice({ problem, onRetry }: { problem: Problem; onRetry?(): void }) {
  return (
    <div class="problem" role="alert">
      <p><strong>{text.connection.failed}</strong> {problem.message || text.unreachable}</p>
      {problem.hint && <p>{problem.hint}</p>}
      {onRetry && <button type="button" onClick={onRetry}>{text.tryAgain}</button>}
    </div>
  );
}
