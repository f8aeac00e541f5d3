/** Always in sight: where the debate stands, who the voices are, and the way to stop. */
import { ModelLabel } from "../shared/model";
import { StatusWord } from "../shared/status";
import { Shape } from "./shapes";
import type { Debate } from "./state";
import { text } from "./strings";
import type { Voice } from "./types";

interface Props {
  debate: Debate;
  isStopping: boolean;
  stop(): void;
}

export function Bar({ debate, isStopping, stop }: Props) {
  const { status, round, maxRounds, model } = debate;
  const canStop = status === "running" || status === "waiting";
  const isSummary = status === "running" && debate.turns.some((turn) => turn.speaker === "moderator");
  const stands = isSummary ? text.debate.summary : round > 0 ? text.debate.round(round, maxRounds) : text.debate.starting;
  return (
    <div class="bar">
      <p><StatusWord of={status} /></p>
      <p class="stands">{stands}</p>
      <Score debate={debate} label={stands} />
      {model && <ModelLabel model={model} />}
      {canStop && (
        <button type="button" class="stop" disabled={isStopping} onClick={stop}>
          {isStopping ? text.debate.stopping : text.debate.stop}
        </button>
      )}
    </div>
  );
}

/** Every turn of the debate as a small shape: said, being said, to come. */
function Score({ debate, label }: { debate: Debate; label: string }) {
  const rounds = Array.from({ length: debate.maxRounds }, (_, index) => index + 1);
  const done = debate.turns.filter((turn) => turn.done && turn.speaker !== "you").length;
  const sign = (voice: Voice, round: number) => {
    const turn = debate.turns.find((other) => other.speaker === voice && (voice === "moderator" || other.round === round));
    const state = turn ? (turn.done ? "is-done" : "is-open") : "is-due";
    return <span key={voice} class={`beat is-${voice} ${state}`}><Shape of={voice} small /></span>;
  };
  return (
    <div class="score" role="progressbar" aria-label={text.debate.progress} aria-valuemin={0} aria-valuemax={2 * debate.maxRounds + 1} aria-valuenow={done} aria-valuetext={label}>
      {rounds.map((round) => (
        <span key={round} class="pair">{sign("optimist", round)}{sign("skeptic", round)}</span>
      ))}
      {sign("moderator", 0)}
    </div>
  );
}
