/** The whole page of one member: the line, what came of it, the calendar, and what stands beside it. */
import { useEffect, useMemo, useRef, useState } from "react";
import { Aloud, type Speech } from "../shared/aloud";
import { useKeys } from "../shared/keys";
import { LineState, Trouble } from "../shared/line";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { remember, remembered } from "../shared/theme";
import { useActs } from "./acts";
import { AnswerPanel } from "./answer";
import { Details } from "./details";
import { zoneOf } from "./family";
import { addressOf, moved, placeOf, type Place, type View } from "./place";
import { sceneOf } from "./scene";
import { Side } from "./side";
import { text } from "./strings";
import { Tell } from "./tell";
import { Toolbar } from "./toolbar";
import type { Answer, Instance, ProposedResolution, Settings } from "./types";
import { UndoBar } from "./undo-bar";
import { useCalendar, useMedia, useNow } from "./use";
import { DayList, DotMonth, Month, Week } from "./views";
import { addDays, monthOf, weekOf, written } from "./wall";

const HIDDEN = "superstep.scheduler.hidden";
const PHONE = "(max-width: 40rem)";

export function Desk({ settings, userId }: { settings: Settings; userId: string }) {
  const [place, go] = usePlace();
  const now = useNow(settings);
  const zone = zoneOf(settings, userId);
  const start = settings.family.week_start;
  const day = place.day ?? now.day;
  const days = useMemo(() => (place.view === "week" ? weekOf(day, start) : monthOf(day, start).flat()), [place.view, day, start]);
  const { shown, isElsewhere, line, problem, refresh } = useCalendar(userId, written(days[0]!, 0, zone), written(addDays(days.at(-1)!, 1), 0, zone));
  const acts = useActs({
    settings, userId, refresh, thread: place.thread,
    moved: (thread) => go({ thread }),
    show: (on) => { if (!days.includes(on)) go({ day: on }); },
  });
  const [opened, setOpened] = useState<Instance>();
  const [pointed, setPointed] = useState<ProposedResolution>();
  const [hidden, toggle] = useHidden();
  const { conversation, changed } = acts;
  const { answer } = conversation;
  const waiting = answer?.waiting ?? undefined;
  useEffect(() => setPointed(undefined), [waiting?.question_id]);
  useEffect(() => {
    document.title = [settings.family.name, text.page].filter(Boolean).join(" · ");
  }, [settings.family.name]);
  const step = (by: 1 | -1) => go({ day: moved(place.view, day, by) });
  const today = () => go({ day: undefined });
  useKeys({ ArrowLeft: () => step(-1), ArrowRight: () => step(1), t: today, w: () => go({ view: "week" }), m: () => go({ view: "month" }), p: () => print() });

  const isBusy = isElsewhere && !problem;
  const { items, scene } = sceneOf({ shown, answer, pointed, hidden, members: settings.members, open: setOpened });
  return (
    <main id="content" class={answer ? "desk has-answer" : "desk"} tabIndex={-1}>
      <h1 class="hidden">{settings.family.name}: {text.page}</h1>
      <Tell examples={answer ? [] : settings.examples} isSending={conversation.isSending} problem={waiting ? undefined : conversation.problem} tell={acts.tell} />
      {answer && (
        <div class="came">
          <AnswerPanel answer={answer} settings={settings} zone={zone} events={shown?.events ?? []} today={now.day} days={days} isFresh={!conversation.isPast} isSending={conversation.isSending}
            reply={(reply) => void acts.reply(reply)} point={setPointed} correct={acts.correct} goTo={(on) => go({ day: on })} close={conversation.close} />
          {waiting && conversation.problem && <Trouble problem={conversation.problem} />}
        </div>
      )}
      <section class="calendar" aria-labelledby="calendar-title" aria-busy={isBusy}>
        <Toolbar view={place.view} days={days} day={day} zone={zone} label={settings.parser?.label} turn={(view) => go({ view })} step={step} today={today} />
        <LineState line={line} />
        {problem && <Trouble problem={problem} tryAgain={refresh} />}
        {acts.trouble && <Trouble problem={acts.trouble} />}
        <Shown view={place.view} isBusy={isBusy} isFirst={!shown} items={items} scene={scene} day={day} start={start} now={now} goTo={(on) => go({ view: "week", day: on })} />
      </section>
      <Side settings={settings} userId={userId} hidden={hidden} toggle={toggle} conflicts={shown?.conflicts ?? []} thread={place.thread}
        stamp={`${answer?.workflow_id}/${answer?.status}`} open={conversation.open} changed={changed} />
      {acts.flash ? <p class="undo is-said" aria-hidden="true">{acts.flash}</p> : acts.last && <UndoBar last={acts.last} undo={acts.undo} />}
      {opened && <Details key={`${opened.event_id}/${opened.start}`} event={opened} settings={settings} userId={userId} zone={zone} close={() => setOpened(undefined)} changed={changed} />}
      <Aloud label={text.answer.title} speeches={speechesOf(answer)} isPast={conversation.isPast} />
      <Aloud label={text.undo.title} speeches={acts.notes} isPast={false} />
    </main>
  );
}

/** Where one is, in step with the address. */
function usePlace(): [Place, (more: Partial<Place>) => void] {
  const [place, setPlace] = useState(() => placeOf(location.search));
  const current = useRef(place);
  current.current = place;
  useEffect(() => {
    const back = () => setPlace(placeOf(location.search));
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  const go = (more: Partial<Place>) => {
    const next = { ...current.current, ...more };
    if (addressOf(next) === addressOf(current.current)) return;
    current.current = next;
    history.pushState(null, "", addressOf(next));
    setPlace(next);
  };
  return [place, go];
}

function useHidden(): [string[], (member: string) => void] {
  const [hidden, setHidden] = useState<string[]>(() => remembered(HIDDEN)?.split(",").filter(Boolean) ?? []);
  const toggle = (member: string) => {
    const next = hidden.includes(member) ? hidden.filter((one) => one !== member) : [...hidden, member];
    remember(HIDDEN, next.join(","));
    setHidden(next);
  };
  return [hidden, toggle];
}

function speechesOf(answer: Answer | undefined): Speech[] {
  if (!answer) return [];
  const { workflow_id, waiting, messages, status, explanation } = answer;
  return [{ key: `${workflow_id}/${waiting?.question_id ?? `${status}/${messages?.length}`}`, text: waiting?.question ?? explanation ?? "", isDone: true }];
}

type ShownProps = Parameters<typeof Week>[0] & { view: View; isBusy: boolean; isFirst: boolean };

function Shown({ view, isBusy, isFirst, ...props }: ShownProps) {
  const isPhone = useMedia(PHONE);
  const slow = useSlow(isBusy);
  // Empty days are drawn for a blink at most: nobody should take them for free.
  if (isBusy && (isFirst || slow > 0)) {
    return (
      <>
        {slow > 0 && <Skeleton lines={9} />}
        {slow > 1 && <p role="status">{text.loading}</p>}
      </>
    );
  }
  if (view === "week") return isPhone ? <DayList {...props} /> : <Week {...props} />;
  return isPhone ? <DotMonth {...props} /> : <Month {...props} />;
}
