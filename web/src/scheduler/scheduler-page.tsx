/** Page of one member: request input, response, calendar and sidebar. */
import { useEffect, useMemo, useRef, useState } from "react";
import { type Announcement, LiveAnnouncer } from "../shared/live-announcer";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ConnectionStatus, ErrorNotice } from "../shared/connection-status";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { readSetting, writeSetting } from "../shared/local-storage";
import { useSchedulerActions } from "./use-scheduler-actions";
import { ResponsePanel } from "./response-panel";
import { EventDialog } from "./event-dialog";
import { displayTimeZone } from "./members";
import { type CalendarViewMode, formatUrlState, parseUrlState, shiftDay, type UrlState } from "./url-state";
import { buildCalendarItems } from "./calendar-items";
import { Sidebar } from "./sidebar";
import { text } from "./strings";
import { RequestInput } from "./request-input";
import { Toolbar } from "./toolbar";
import type { EventInstance, ProposedResolution, Settings, WorkflowResponse } from "./types";
import { UndoBar } from "./undo-bar";
import { useCalendarEvents, useMediaQuery, useNow } from "./hooks";
import { CompactMonthView, MonthView, WeekListView, WeekView } from "./calendar-views";
import { addDays, daysOfWeek, toIsoWithOffset, weeksOfMonth } from "./local-time";

const HIDDEN_KEY = "superstep.scheduler.hidden";
const PHONE_QUERY = "(max-width: 40rem)";

export function SchedulerPage({ settings, userId }: { settings: Settings; userId: string }) {
  const [urlState, navigate] = useUrlState();
  const now = useNow(settings);
  const zone = displayTimeZone(settings, userId);
  const start = settings.family.week_start;
  const day = urlState.day ?? now.day;
  const days = useMemo(() => (urlState.view === "week" ? daysOfWeek(day, start) : weeksOfMonth(day, start).flat()), [urlState.view, day, start]);
  const { response, isStale, connection, problem, refresh } = useCalendarEvents(userId, toIsoWithOffset(days[0]!, 0, zone), toIsoWithOffset(addDays(days.at(-1)!, 1), 0, zone));
  const actions = useSchedulerActions({
    settings, userId, refresh, thread: urlState.thread,
    onThreadChange: (thread) => navigate({ thread }),
    showDay: (date) => { if (!days.includes(date)) navigate({ day: date }); },
  });
  const [selectedEvent, setSelectedEvent] = useState<EventInstance>();
  const [hovered, setHovered] = useState<ProposedResolution>();
  const [hidden, toggle] = useHidden();
  const { conversation, onChanged: changed } = actions;
  const { answer } = conversation;
  const waiting = answer?.waiting ?? undefined;
  useEffect(() => setHovered(undefined), [waiting?.question_id]);
  useEffect(() => {
    document.title = [settings.family.name, text.page].filter(Boolean).join(" · ");
  }, [settings.family.name]);
  const step = (by: 1 | -1) => navigate({ day: shiftDay(urlState.view, day, by) });
  const today = () => navigate({ day: undefined });
  useKeyboardShortcuts({ ArrowLeft: () => step(-1), ArrowRight: () => step(1), t: today, w: () => navigate({ view: "week" }), m: () => navigate({ view: "month" }), p: () => print() });

  const isBusy = isStale && !problem;
  const { items, scene } = buildCalendarItems({ calendar: response, answer, hovered, hidden, members: settings.members, open: setSelectedEvent });
  return (
    <main id="content" class={answer ? "scheduler-layout has-answer" : "scheduler-layout"} tabIndex={-1}>
      <h1 class="visually-hidden">{settings.family.name}: {text.page}</h1>
      <RequestInput examples={answer ? [] : settings.examples} isSending={conversation.isSending} problem={waiting ? undefined : conversation.problem} onSend={actions.send} />
      {answer && (
        <div class="response">
          <ResponsePanel answer={answer} settings={settings} zone={zone} events={response?.events ?? []} today={now.day} days={days} isNew={!conversation.isHistory} isSending={conversation.isSending}
            reply={(reply) => void actions.reply(reply)} onHover={setHovered} onCorrect={actions.correct} goTo={(date) => navigate({ day: date })} close={conversation.close} />
          {waiting && conversation.problem && <ErrorNotice problem={conversation.problem} />}
        </div>
      )}
      <section class="calendar" aria-labelledby="calendar-title" aria-busy={isBusy}>
        <Toolbar view={urlState.view} days={days} day={day} zone={zone} label={settings.parser?.label} onViewChange={(view) => navigate({ view })} step={step} today={today} />
        <ConnectionStatus connection={connection} />
        {problem && <ErrorNotice problem={problem} onRetry={refresh} />}
        {actions.problem && <ErrorNotice problem={actions.problem} />}
        <CalendarView view={urlState.view} isBusy={isBusy} isFirst={!response} items={items} scene={scene} day={day} start={start} now={now} goTo={(date) => navigate({ view: "week", day: date })} />
      </section>
      <Sidebar settings={settings} userId={userId} hidden={hidden} toggle={toggle} conflicts={response?.conflicts ?? []} thread={urlState.thread}
        revision={`${answer?.workflow_id}/${answer?.status}`} onOpen={conversation.open} onChanged={changed} />
      {actions.flash ? <p class="undo-bar is-notice" aria-hidden="true">{actions.flash}</p> : actions.last && <UndoBar entry={actions.last} undo={actions.undo} />}
      {selectedEvent && <EventDialog key={`${selectedEvent.event_id}/${selectedEvent.start}`} event={selectedEvent} settings={settings} userId={userId} zone={zone} close={() => setSelectedEvent(undefined)} onChanged={changed} />}
      <LiveAnnouncer label={text.answer.title} announcements={announcementsOf(answer)} isHistory={conversation.isHistory} />
      <LiveAnnouncer label={text.undo.title} announcements={actions.notes} isHistory={false} />
    </main>
  );
}

/** URL state, synchronized with the history. */
function useUrlState(): [UrlState, (changes: Partial<UrlState>) => void] {
  const [urlState, setUrlState] = useState(() => parseUrlState(location.search));
  const current = useRef(urlState);
  current.current = urlState;
  useEffect(() => {
    const handlePopState = () => setUrlState(parseUrlState(location.search));
    addEventListener("popstate", handlePopState);
    return () => removeEventListener("popstate", handlePopState);
  }, []);
  const navigate = (changes: Partial<UrlState>) => {
    const next = { ...current.current, ...changes };
    if (formatUrlState(next) === formatUrlState(current.current)) return;
    current.current = next;
    history.pushState(null, "", formatUrlState(next));
    setUrlState(next);
  };
  return [urlState, navigate];
}

function useHidden(): [string[], (member: string) => void] {
  const [hidden, setHidden] = useState<string[]>(() => readSetting(HIDDEN_KEY)?.split(",").filter(Boolean) ?? []);
  const toggle = (member: string) => {
    const next = hidden.includes(member) ? hidden.filter((other) => other !== member) : [...hidden, member];
    writeSetting(HIDDEN_KEY, next.join(","));
    setHidden(next);
  };
  return [hidden, toggle];
}

function announcementsOf(answer: WorkflowResponse | undefined): Announcement[] {
  if (!answer) return [];
  const { workflow_id, waiting, messages, status, explanation } = answer;
  return [{ key: `${workflow_id}/${waiting?.question_id ?? `${status}/${messages?.length}`}`, text: waiting?.question ?? explanation ?? "", isDone: true }];
}

type CalendarViewProps = Parameters<typeof WeekView>[0] & { view: CalendarViewMode; isBusy: boolean; isFirst: boolean };

function CalendarView({ view, isBusy, isFirst, ...props }: CalendarViewProps) {
  const isPhone = useMediaQuery(PHONE_QUERY);
  const loadingStage = useLoadingStage(isBusy);
  // Unloaded days must not look free.
  if (isBusy && (isFirst || loadingStage > 0)) {
    return (
      <>
        {loadingStage > 0 && <Skeleton lines={9} />}
        {loadingStage > 1 && <p role="status">{text.loading}</p>}
      </>
    );
  }
  if (view === "week") return isPhone ? <WeekListView {...props} /> : <WeekView {...props} />;
  return isPhone ? <CompactMonthView {...props} /> : <MonthView {...props} />;
}
