/** What a page says about its line to the server, and about what the server refused. */
import type { Problem } from "./api";
import type { LineIs } from "./listen";
import { text } from "./strings";

export function LineState({ line }: { line: LineIs }) {
  return (
    <p class={`line is-${line.is}`} role="status">
      {line.is === "trying" ? text.line.reconnecting(line.attempt) : line.is === "back" ? text.line.caughtUp : ""}
    </p>
  );
}

export function Trouble({ problem, tryAgain }: { problem: Problem; tryAgain?(): void }) {
  return (
    <div class="problem" role="alert">
      <p><strong>{text.line.wentWrong}</strong> {problem.message || text.nobodyThere}</p>
      {problem.hint && <p>{problem.hint}</p>}
      {tryAgain && <button type="button" onClick={tryAgain}>{text.tryAgain}</button>}
    </div>
  );
}
