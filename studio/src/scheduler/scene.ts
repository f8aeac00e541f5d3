/** What the calendar shows: events that are, and what a question would make of them. Pure. */
import type { Item, Scene } from "./block";
import { eventOf } from "./chips";
import { shownOf } from "./family";
import type { Answer, Instance, ProposedResolution, Settings, Shown } from "./types";
import { NOTHING, previewOf, type Preview } from "./ways";

interface Given {
  shown?: Shown;
  answer?: Answer;
  /** The way out that is pointed at. */
  pointed?: ProposedResolution;
  /** Members whose events are not shown. */
  hidden: string[];
  members: Settings["members"];
  open(event: Instance): void;
}

export function sceneOf({ shown, answer, pointed, hidden, members, open }: Given): { items: Item[]; scene: Scene } {
  const events = shown?.events ?? [];
  const preview = previewFor(answer, events, pointed);
  // One's own proposal may stand on the calendar already; its preview takes its place.
  const isReplaced = ({ event_id, is_tentative }: Instance) => is_tentative && preview.gone.includes(event_id);
  const marked = answer ? [eventOf(answer)?.id, ...(answer.result?.events ?? []).map(({ event_id, id }) => event_id ?? id)] : [];
  const conflicts = [...(shown?.conflicts ?? []), ...(answer?.waiting?.conflicts ?? [])];
  return {
    items: [...shownOf(events, hidden).filter((event) => !isReplaced(event)), ...preview.ghosts],
    scene: {
      members,
      open,
      gone: preview.gone,
      marked: marked.filter((id) => id !== undefined),
      clashing: conflicts.flatMap(({ conflicting_event_id }) => conflicting_event_id ?? []),
    },
  };
}

/** Only what would be planned or moved is shown beforehand; a cancellation or a question has no place of its own. */
function previewFor(answer: Answer | undefined, events: Instance[], pointed: ProposedResolution | undefined): Preview {
  const wanted = answer?.waiting?.understood;
  return wanted?.event_type === "create" || wanted?.event_type === "modify" ? previewOf(wanted, events, pointed) : NOTHING;
}
