/** What was said, turn by turn, claims marked where they were made. */
import { memo } from "react";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { Shape, VERDICT_SIGN } from "./shapes";
import type { Turn } from "./state";
import { text } from "./strings";
import { pieces } from "./text";
import type { Fact } from "./types";

interface Props {
  turns: Turn[];
  facts: Fact[];
  isRunning: boolean;
}

export function Turns({ turns, facts, isRunning }: Props) {
  return (
    <>
      <h2 class="hidden" id="turns-title">{text.debate.turns}</h2>
      <ol class="turns" aria-labelledby="turns-title">
        {turns.map((turn) => (
          <OneTurn key={turn.key} turn={turn} facts={facts} isRunning={isRunning} />
        ))}
      </ol>
    </>
  );
}

/** Only the turn that grows is drawn again. */
const OneTurn = memo(function OneTurn({ turn, facts, isRunning }: { turn: Turn } & Omit<Props, "turns">) {
  const { name, side } = text.voice[turn.speaker];
  const isOpen = !turn.done && isRunning;
  const place = turn.speaker === "moderator" ? text.debate.summary : turn.speaker === "you" ? "" : text.debate.turnRound(turn.round);
  return (
    <li class={`turn is-${turn.speaker}${isOpen ? " is-open" : ""}`} data-speaker={turn.speaker} data-round={turn.round}>
      <h3>
        <Shape of={turn.speaker} />
        <span class="who">{name}</span> <span class="side">{side}</span> <span class="place">{place}</span>
      </h3>
      <p class="said" dir="auto">
        {pieces(turn.text, facts).map((piece, index) =>
          piece.fact === undefined ? piece.text : <Claim key={index} text={piece.text} number={piece.fact} fact={facts[piece.fact]!} />,
        )}
        {isOpen && turn.text !== "" && <span class="caret" aria-hidden="true" />}
      </p>
      {isOpen && turn.text === "" && <Thinking voice={name} />}
      {!turn.done && !isRunning && <p class="cut">{text.debate.cutOff}</p>}
    </li>
  );
});

function Claim({ text: said, number, fact }: { text: string; number: number; fact: Fact }) {
  const verdict = text.facts.verdict[fact.verdict];
  return (
    <a class={`claim is-${fact.verdict}`} data-claim={number} href={`#claim-${number}`} title={verdict}>
      {said}
      <span class="mark" aria-hidden="true">{VERDICT_SIGN[fact.verdict]}{number + 1}</span>
      <span class="hidden"> ({text.facts.mark(number + 1, verdict)})</span>
    </a>
  );
}

function Thinking({ voice }: { voice: string }) {
  const slow = useSlow(true);
  return (
    <div class="thinking">
      {slow > 0 && <Skeleton lines={2} />}
      {slow > 1 && <p>{text.debate.thinking(voice)}</p>}
    </div>
  );
}
