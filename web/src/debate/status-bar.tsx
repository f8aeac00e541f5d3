/** Sticky bar with status, progress, model and the stop button. */
import { ModelLabel } from "../shared/model";
import { StatusLabel } from "../shared/status";
import { SpeakerIcon } from "./icons";
import type { DebateViewState } from "./state";
import { text } from "./strings";
import type { DebateAgent } from "./types";

interface Props {
  debate: DebateViewState;
  isStopping: boolean;
  stop(): void;
}

export function DebateStatusBar({ debate, isStopping, stop }: Props) {
  const { status, round, maxRounds, model } = debate;
  const canStop = status === "running" || status === "waiting";
  const isSummary = status === "running" && debate.turns.some((turn) => turn.speaker === "moderator");
  const statusText = isSummary ? text.debate.summary : round > 0 ? text.debate.round(round, maxRounds) : text.debate.starting;
  return (
    <div class="status-bar">
      <p><StatusLabel status={status} /></p>
      <p class="status-text">{statusText}</p>
      <TurnProgress debate={debate} label={statusText} />
      {model && <ModelLabel model={model} />}
      {canStop && (
        <button type="button" class="stop" disabled={isStopping} onClick={stop}>
          {isStopping ? text.debate.stopping : text.debate.stop}
        </button>
      )}
    </div>
  );
}

/** Progress of the debate: one icon per turn (completed, streaming, pending). */
function TurnProgress({ debate, label }: { debate: DebateViewState; label: string }) {
  const rounds = Array.from({ length: debate.maxRounds }, (_, index) => index + 1);
  const done = debate.turns.filter((turn) => turn.isDone && turn.speaker !== "you").length;
  const renderIcon = (agent: DebateAgent, round: number) => {
    const turn = debate.turns.find((other) => other.speaker === agent && (agent === "moderator" || other.round === round));
    const state = turn ? (turn.isDone ? "is-done" : "is-streaming") : "is-pending";
    return <span key={agent} class={`progress-step is-${agent} ${state}`}><SpeakerIcon speaker={agent} isSmall /></span>;
  };
  return (
    <div class="turn-progress" role="progressbar" aria-label={text.debate.progress} aria-valuemin={0} aria-valuemax={2 * debate.maxRounds + 1} aria-valuenow={done} aria-valuetext={label}>
      {rounds.map((round) => (
        <span key={round} class="round">{renderIcon("optimist", round)}{renderIcon("skeptic", round)}</span>
      ))}
      {renderIcon("moderator", 0)}
    </div>
  );
}
