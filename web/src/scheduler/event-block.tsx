/** Renders one event: hour block, all-day bar, month line, list row, or preview. */
import type { ReactNode } from "react";
import { memberColor } from "./members";
import { dayRange, isAllDayOrLonger, type LaneSegment, type PositionedSegment } from "./calendar-layout";
import { formatRange, formatTime, formatTimeRange } from "./date-format";
import { Icon, MemberBadge } from "./icons";
import { text } from "./strings";
import type { EventInstance, Member } from "./types";
import { type Day, toLocalTime } from "./local-time";
import type { PreviewEvent } from "./resolution-preview";

const strings = text.event;

/** Display state that all views share. */
export interface CalendarScene {
  members: Member[];
  /** Events of the last response, shown with a frame. */
  highlightedIds: string[];
  /** Events that the previewed resolution would move or remove. */
  removedIds: string[];
  /** Events that conflict with others. */
  conflictingIds: string[];
  open(event: EventInstance): void;
}

export type CalendarItem = EventInstance | PreviewEvent;

export function isPreview(item: CalendarItem): item is PreviewEvent {
  return "key" in item;
}

export function itemKey(item: CalendarItem): string {
  return isPreview(item) ? `preview/${item.key}` : `${item.event_id}/${item.occurrence ?? ""}/${item.start}`;
}

function classNames(item: CalendarItem, scene: CalendarScene): string {
  if (isPreview(item)) return `hue-${memberColor(scene.members, item.participants[0])} is-preview`;
  const flags = {
    busy: item.is_busy, tentative: item.is_tentative, highlighted: scene.highlightedIds.includes(item.event_id),
    removed: scene.removedIds.includes(item.event_id), conflicting: scene.conflictingIds.includes(item.event_id),
  };
  const color = item.is_busy ? "none" : memberColor(scene.members, item.participants[0]?.id);
  return [`hue-${color}`, ...Object.entries(flags).filter(([, isSet]) => isSet).map(([name]) => `is-${name}`)].join(" ");
}

const displayTitle = (item: CalendarItem) => (!isPreview(item) && item.is_busy ? strings.busy : item.title);

/** Returns the whole event as text for screen readers. */
function accessibleLabel(item: CalendarItem, scene: CalendarScene): string {
  const time = formatRange(item.start, item.end, item.is_all_day);
  if (isPreview(item)) return [item.title, time, strings.proposed].join(", ");
  const marks = [
    item.is_tentative && strings.tentative, scene.removedIds.includes(item.event_id) && strings.removedPreview,
    scene.conflictingIds.includes(item.event_id) && strings.conflict, item.recurrence_rule && strings.repeats,
  ];
  return [displayTitle(item), time, ...item.participants.map(({ name }) => name), ...marks].filter(Boolean).join(", ");
}

/** Attributes for the browser checks. */
function dataAttributes(item: CalendarItem) {
  return { "data-event": isPreview(item) ? undefined : item.event_id, "data-preview": isPreview(item) ? item.key : undefined, "data-start": item.start, "data-end": item.end };
}

/** Button that opens an event. Previews cannot be opened. Screen readers get one text. */
function EventButton({ item, scene, className = "", children }: { item: CalendarItem; scene: CalendarScene; className?: string; children: ReactNode }) {
  const content = (
    <>
      <span class="event-content" aria-hidden="true">{children}</span>
      <span class="visually-hidden">{accessibleLabel(item, scene)}</span>
    </>
  );
  const classes = `event ${className} ${classNames(item, scene)}`;
  if (isPreview(item)) return <div class={classes} {...dataAttributes(item)}>{content}</div>;
  return <button type="button" class={classes} {...dataAttributes(item)} onClick={() => scene.open(item)}>{content}</button>;
}

function MemberBadges({ item, members }: { item: CalendarItem; members: Member[] }) {
  if (isPreview(item) || item.participants.length === 0) return null;
  return <span class="member-badges">{item.participants.slice(0, 4).map(({ id, name }) => <MemberBadge key={id} id={id} name={name} members={members} />)}</span>;
}

function EventIcons({ item, scene, isBrief = false }: { item: CalendarItem; scene: CalendarScene; isBrief?: boolean }) {
  if (isPreview(item)) return null;
  return (
    <>
      {scene.conflictingIds.includes(item.event_id) && <Icon name="conflict" />}
      {item.recurrence_rule && !isBrief && <Icon name="repeat" />}
    </>
  );
}

export function EventBlock({ segment, scene, hours: [first, last] }: { segment: PositionedSegment<CalendarItem>; scene: CalendarScene; hours: [number, number] }) {
  const { item, from, to, column, columns, span: over } = segment;
  const percent = (minutes: number) => `${((minutes - first * 60) / ((last - first) * 60)) * 100}%`;
  const minutes = to - from;
  const size = minutes <= 30 ? "is-short" : minutes <= 75 ? "is-compact" : minutes >= 150 ? "is-tall" : "";
  // Set through the DOM: the content security policy forbids inline style attributes.
  const style = { "--top": percent(from), "--bottom": percent(to), "--left": `${(column / columns) * 100}%`, "--width": `${(over / columns) * 100}%` };
  return (
    <li class={`event-slot ${size}`} style={style}>
      <EventButton item={item} scene={scene}>
        <span class="title" dir="auto">{displayTitle(item)}</span>
        <span class="event-footer">
          <span class="time">{formatTimeRange(toLocalTime(item.start).minutes, toLocalTime(item.end).minutes)} <EventIcons item={item} scene={scene} /></span>
          <MemberBadges item={item} members={scene.members} />
        </span>
      </EventButton>
    </li>
  );
}

/** One day of an all-day bar. The title is on its first visible day. */
export function AllDayBar({ segment, scene, isStart }: { segment: LaneSegment<CalendarItem>; scene: CalendarScene; isStart: boolean }) {
  const { item, lane, isFirst, isLast } = segment;
  return (
    <li class="all-day-slot" style={{ "--lane": String(lane + 1) }}>
      <EventButton item={item} scene={scene} className={`all-day-event ${isFirst ? "is-first" : ""} ${isLast ? "is-last" : ""}`}>
        <span class="title" dir="auto">{isFirst || isStart ? displayTitle(item) : "\u00a0"}</span>
      </EventButton>
    </li>
  );
}

/** An event in a month cell. */
export function MonthEventLine({ item, day, scene }: { item: CalendarItem; day: Day; scene: CalendarScene }) {
  const isAllDay = isAllDayOrLonger(item);
  return (
    <li>
      <EventButton item={item} scene={scene} className={isAllDay ? "month-event is-all-day" : "month-event"}>
        {!isAllDay && <span class="time">{dayRange(item)[0] === day ? formatTime(toLocalTime(item.start).minutes, true) : ""}</span>}
        <span class="title" dir="auto">{displayTitle(item)}</span>
        <EventIcons item={item} scene={scene} isBrief />
      </EventButton>
    </li>
  );
}

/** An event in the list of a day, for phones. */
export function DayListRow({ item, day, scene }: { item: CalendarItem; day: Day; scene: CalendarScene }) {
  const [from, to] = [toLocalTime(item.start), toLocalTime(item.end)];
  const startsHere = dayRange(item)[0] === day;
  return (
    <li>
      <EventButton item={item} scene={scene} className="list-event">
        <span class="time">
          {isAllDayOrLonger(item) ? text.view.allDay : startsHere ? formatTime(from.minutes, true) : text.view.until(formatTime(to.minutes, true))}
          {!isAllDayOrLonger(item) && startsHere && <span class="end-time">{formatTime(to.minutes, true)}</span>}
        </span>
        <span class="title" dir="auto">{displayTitle(item)} <EventIcons item={item} scene={scene} /></span>
        <MemberBadges item={item} members={scene.members} />
      </EventButton>
    </li>
  );
}
