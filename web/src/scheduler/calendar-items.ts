/** Items of the calendar: events, and the preview of an open interrupt. Pure. */
import type { CalendarItem, CalendarScene } from "./event-block";
import { responseEvent } from "./parsed-chips";
import { visibleEvents } from "./members";
import type { EventInstance, EventsResponse, ProposedResolution, Settings, WorkflowResponse } from "./types";
import { EMPTY_PREVIEW, previewResolution, type ResolutionPreview } from "./resolution-preview";

interface CalendarItemsInput {
  calendar?: EventsResponse;
  answer?: WorkflowResponse;
  /** The resolution under the pointer or with the focus. */
  hovered?: ProposedResolution;
  /** Ids of members whose events are hidden. */
  hidden: string[];
  members: Settings["members"];
  open(event: EventInstance): void;
}

export function buildCalendarItems({ calendar, answer, hovered, hidden, members, open }: CalendarItemsInput): { items: CalendarItem[]; scene: CalendarScene } {
  const events = calendar?.events ?? [];
  const preview = previewFor(answer, events, hovered);
  // The user's proposal may already be on the calendar; the preview replaces it.
  const isReplaced = ({ event_id, is_tentative }: EventInstance) => is_tentative && preview.removedIds.includes(event_id);
  const highlighted = answer ? [responseEvent(answer)?.id, ...(answer.result?.events ?? []).map(({ event_id, id }) => event_id ?? id)] : [];
  const conflicts = [...(calendar?.conflicts ?? []), ...(answer?.waiting?.conflicts ?? [])];
  return {
    items: [...visibleEvents(events, hidden).filter((event) => !isReplaced(event)), ...preview.previews],
    scene: {
      members,
      open,
      removedIds: preview.removedIds,
      highlightedIds: highlighted.filter((id) => id !== undefined),
      conflictingIds: conflicts.flatMap(({ conflicting_event_id }) => conflicting_event_id ?? []),
    },
  };
}

/** Only new and moved events have a preview. */
function previewFor(answer: WorkflowResponse | undefined, events: EventInstance[], hovered: ProposedResolution | undefined): ResolutionPreview {
  const request = answer?.waiting?.understood;
  return request?.event_type === "create" || request?.event_type === "modify" ? previewResolution(request, events, hovered) : EMPTY_PREVIEW;
}
