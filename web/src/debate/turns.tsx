/** The turns of a debate with their claims highlighted. */
import { memo } from "react";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { SpeakerIcon, VERDICT_ICON } from "./icons";
import type { Turn } from "./state";
import { text } from "./strings";
import { highlightClaims } from "./claim-highlight";
import type { FactCheckResult } from "./types";

interface Props {
  turns: Turn[];
  facts: FactCheckResult[];
  isRunning: boolean;
}

export function Turns({ turns, facts, isRunning }: Props) {
  return (
    <>
      <h2 class="visually-hidden" id="turns-title">{text.debate.turns}</h2>
      <ol class="turns" aria-labelledby="turns-title">
        {turns.map((turn) => (
          <TurnView key={turn.key} turn={turn} facts={facts} isRunning={isRunning} />
        ))}
      </ol>
    </>
  );
}

/** Memoized, so that only the growing turn renders again. */
const TurnView = memo(function TurnView({ turn, facts, isRunning }: { turn: Turn } & Omit<Props, "turns">) {
  const { name, side } = text.agents[turn.speaker];
  const isOpen = !turn.isDone && isRunning;
  const label = turn.speaker === "moderator" ? text.debate.summary : turn.speaker === "you" ? "" : text.debate.turnRound(turn.round);
  return (
    <li class={`turn is-${turn.speaker}${isOpen ? " is-streaming" : ""}`} data-speaker={turn.speaker} data-round={turn.round}>
      <h3>
        <SpeakerIcon speaker={turn.speaker} />
        <span class="speaker-name">{name}</span> <span class="stance">{side}</span> <span class="turn-label">{label}</span>
      </h3>
      <p class="turn-text" dir="auto">
        {highlightClaims(turn.text, facts).map((segment, index) =>
          segment.fact === undefined ? segment.text : <Claim key={index} text={segment.text} number={segment.fact} fact={facts[segment.fact]!} />,
        )}
        {isOpen && turn.text !== "" && <span class="caret" aria-hidden="true" />}
      </p>
      {isOpen && turn.text === "" && <TypingIndicator agent={name} />}
      {!turn.isDone && !isRunning && <p class="interrupted">{text.debate.interrupted}</p>}
    </li>
  );
});

function Claim({ text: content, number, fact }: { text: string; number: number; fact: FactCheckResult }) {
  const verdict = text.facts.verdict[fact.verdict];
  return (
    <a class={`claim is-${fact.verdict}`} data-claim={number} href={`#claim-${number}`} title={verdict}>
      {content}
      <span class="claim-marker" aria-hidden="true">{VERDICT_ICON[fact.verdict]}{number + 1}</span>
      <span class="visually-hidden"> ({text.facts.claimLabel(number + 1, verdict)})</span>
    </a>
  );
}

function TypingIndicator({ agent }: { agent: string }) {
  const loadingStage = useLoadingStage(true);
  return (
    <div class="progress-indicator">
      {loadingStage > 0 && <Skeleton lines={2} />}
      {loadingStage > 1 && <p>{text.debate.thinking(agent)}</p>}
    </div>
  );
}
