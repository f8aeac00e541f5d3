/** Calendar views: week and month, and their list versions for phones. */
import { useState } from "react";
import { AllDayBar, type CalendarItem, type CalendarScene, DayListRow, EventBlock, isPreview, itemKey, MonthEventLine } from "./event-block";
import { memberColor } from "./members";
import { itemsOnDay, layoutColumns, layoutLanes, segmentsOnDay, visibleHours } from "./calendar-layout";
import { formatDay, formatDayLong, formatTime, relativeDay } from "./date-format";
import { text } from "./strings";
import { type Day, daysOfWeek, type LocalTime, weeksOfMonth } from "./local-time";
import type { WeekStart } from "./types";

const strings = text.view;
/** Limits of a month cell. The rest is a count. */
const MAX_LINES = 3;
const MAX_DOTS = 4;

interface Props {
  items: CalendarItem[];
  scene: CalendarScene;
  /** A day in the visible range. */
  day: Day;
  start: WeekStart;
  now: LocalTime;
  goTo(day: Day): void;
}

/** Header of a day. Screen readers get the full date and the number of events. */
function DayHeader({ day, now, count }: { day: Day; now: LocalTime; count: number }) {
  return (
    <h3 class="day-header">
      <span aria-hidden="true" class="weekday">{formatDay(day, "weekday")}</span>
      <span aria-hidden="true" class="date">{Number(day.slice(8))}</span>
      <span class="visually-hidden">{[relativeDay(day, now.day), formatDayLong(day), strings.count(count)].filter(Boolean).join(", ")}</span>
    </h3>
  );
}

const dayClass = (day: Day, now: LocalTime) => (day === now.day ? "is-today" : day < now.day ? "is-past" : "");

export function WeekView({ items, scene, day, start, now }: Props) {
  const days = daysOfWeek(day, start);
  const segments = days.map((date) => segmentsOnDay(items, date));
  const hours = visibleHours(segments.flat());
  const lanes = layoutLanes(items, days);
  const hourMarks = Array.from({ length: hours[1] - hours[0] }, (_, index) => hours[0] + index);
  const nowOffset = `${((now.minutes - hours[0] * 60) / ((hours[1] - hours[0]) * 60)) * 100}%`;
  const isNowShown = days.includes(now.day) && now.minutes >= hours[0] * 60 && now.minutes <= hours[1] * 60;
  return (
    <div class="week" style={{ "--hours": String(hours[1] - hours[0]) }}>
      <div class="time-axis" aria-hidden="true">
        <span class="time-axis-days">{lanes.length > 0 ? strings.allDay : ""}</span>
        <ol class="time-axis-hours">{hourMarks.map((hour, index) => <li key={hour}>{index > 0 && <span>{formatTime(hour * 60, true)}</span>}</li>)}</ol>
      </div>
      {days.map((date, index) => {
        const bars = lanes.filter((bar) => bar.day === date);
        return (
          <section key={date} class={`day ${dayClass(date, now)}`} data-day={date}>
            <DayHeader day={date} now={now} count={bars.length + segments[index]!.filter(({ item }) => !isPreview(item)).length} />
            <ol class="all-day-row">{bars.map((bar) => <AllDayBar key={itemKey(bar.item)} segment={bar} scene={scene} isStart={index === 0} />)}</ol>
            <div class="hours">
              {date === now.day && isNowShown && <span class="now-line" style={{ "--top": nowOffset }} aria-hidden="true" />}
              <ol>{layoutColumns(segments[index]!).map((segment) => <EventBlock key={itemKey(segment.item)} segment={segment} scene={scene} hours={hours} />)}</ol>
            </div>
          </section>
        );
      })}
    </div>
  );
}

export function MonthView({ items, scene, day, start, now, goTo }: Props) {
  const weeks = weeksOfMonth(day, start);
  return (
    <div class="month">
      <div class="month-header" aria-hidden="true">{weeks[0]!.map((date) => <span key={date}>{formatDay(date, "weekday")}</span>)}</div>
      {weeks.map((week) => (
        <div key={week[0]} class="month-week">
          {week.map((date) => <MonthCell key={date} day={date} isInside={date.slice(0, 7) === day.slice(0, 7)} items={itemsOnDay(items, date)} scene={scene} now={now} goTo={goTo} />)}
        </div>
      ))}
    </div>
  );
}

interface CellProps {
  day: Day;
  isInside: boolean;
  items: CalendarItem[];
  scene: CalendarScene;
  now: LocalTime;
  goTo(day: Day): void;
}

function MonthCell({ day, isInside, items, scene, now, goTo }: CellProps) {
  const visibleCount = items.length > MAX_LINES + 1 ? MAX_LINES : items.length;
  return (
    <section class={`cell ${dayClass(day, now)} ${isInside ? "" : "is-outside"}`} data-day={day}>
      <h3>
        <button type="button" class="quiet date" title={strings.goTo} onClick={() => goTo(day)}>
          <span aria-hidden="true">{Number(day.slice(8))}</span>
          <span class="visually-hidden">{[relativeDay(day, now.day), formatDayLong(day), strings.count(items.length)].filter(Boolean).join(", ")}</span>
        </button>
      </h3>
      <ol>{items.slice(0, visibleCount).map((item) => <MonthEventLine key={itemKey(item)} item={item} day={day} scene={scene} />)}</ol>
      {items.length > visibleCount && <button type="button" class="quiet more-events" onClick={() => goTo(day)}>{strings.more(items.length - visibleCount)}</button>}
    </section>
  );
}

/** The week as a list of days, for phones. Past days are collapsed. */
export function WeekListView({ items, scene, day, start, now }: Props) {
  const days = daysOfWeek(day, start);
  const isNow = days.includes(now.day);
  const past = isNow ? days.filter((date) => date < now.day) : [];
  return (
    <>
      {past.length > 0 && (
        <details class="past-days">
          <summary>{strings.earlier}</summary>
          <DaySections days={past} items={items} scene={scene} now={now} />
        </details>
      )}
      <DaySections days={days.filter((date) => !past.includes(date))} items={items} scene={scene} now={now} />
    </>
  );
}

function DaySections({ days, items, scene, now }: Pick<Props, "items" | "scene" | "now"> & { days: Day[] }) {
  return (
    <div class="day-list">
      {days.map((date) => {
        const dayItems = itemsOnDay(items, date);
        return (
          <section key={date} class={dayClass(date, now)} data-day={date}>
            <h3>
              <span class="date">{Number(date.slice(8))}</span>
              <span class="weekday">{formatDay(date, "weekdayLong")}</span>
              {relativeDay(date, now.day) && <span class="relative-day">{relativeDay(date, now.day)}</span>}
            </h3>
            {dayItems.length === 0 ? <p class="empty">{strings.none}</p> : <ol>{dayItems.map((item) => <DayListRow key={itemKey(item)} item={item} day={date} scene={scene} />)}</ol>}
          </section>
        );
      })}
    </div>
  );
}

/** The month as days with dots and the list of the selected day, for phones. */
export function CompactMonthView({ items, scene, day, start, now }: Props) {
  const first = day.slice(0, 7) === now.day.slice(0, 7) ? now.day : day;
  const [selected, setSelected] = useState(first);
  const visibleDay = selected.slice(0, 7) === day.slice(0, 7) ? selected : first;
  return (
    <>
      <div class="month is-dots">
        <div class="month-header" aria-hidden="true">{daysOfWeek(day, start).map((date) => <span key={date}>{formatDay(date, "weekday")}</span>)}</div>
        {weeksOfMonth(day, start).map((week) => (
          <div key={week[0]} class="month-week">
            {week.map((date) => {
              const dayItems = itemsOnDay(items, date);
              return (
                <button key={date} type="button" data-day={date} class={`quiet cell ${dayClass(date, now)} ${date.slice(0, 7) === day.slice(0, 7) ? "" : "is-outside"}`} aria-pressed={date === visibleDay} onClick={() => setSelected(date)}>
                  <span class="visually-hidden">{formatDayLong(date)}, {strings.count(dayItems.length)}</span>
                  <span class="date" aria-hidden="true">{Number(date.slice(8))}</span>
                  <span class="dots">{dayItems.slice(0, MAX_DOTS).map((item) => <span key={itemKey(item)} class={`dot hue-${dotColor(item, scene)}`} />)}</span>
                </button>
              );
            })}
          </div>
        ))}
      </div>
      <DaySections days={[visibleDay]} items={items} scene={scene} now={now} />
    </>
  );
}

function dotColor(item: CalendarItem, { members }: CalendarScene): string {
  if (isPreview(item)) return memberColor(members, item.participants[0]);
  return item.is_busy ? "none" : memberColor(members, item.participants[0]?.id);
}
