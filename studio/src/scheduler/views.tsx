/** The calendar itself: a week of hours, a month of days, and both as lists on a phone. */
import { useState } from "react";
import { Bar, Block, isGhost, keyOf, Line, Row, type Item, type Scene } from "./block";
import { hueOf } from "./family";
import { hoursShown, inLanes, onDay, piecesOn, sideBySide } from "./lay";
import { clock, dayLong, dayName, near } from "./said";
import { text } from "./strings";
import { monthOf, weekOf, type Day, type Wall } from "./wall";
import type { WeekStart } from "./types";

const words = text.view;
/** In a cell of a month; what is more is counted. */
const MOST_LINES = 3;
const MOST_DOTS = 4;

interface Props {
  items: Item[];
  scene: Scene;
  /** A day of what is shown. */
  day: Day;
  start: WeekStart;
  now: Wall;
  goTo(day: Day): void;
}

/** The day in words for those who hear, with how much is on it. */
function DayHead({ day, now, count }: { day: Day; now: Wall; count: number }) {
  return (
    <h3 class="day-head">
      <span aria-hidden="true" class="weekday">{dayName(day, "weekday")}</span>
      <span aria-hidden="true" class="date">{Number(day.slice(8))}</span>
      <span class="hidden">{[near(day, now.day), dayLong(day), words.count(count)].filter(Boolean).join(", ")}</span>
    </h3>
  );
}

const dayClass = (day: Day, now: Wall) => (day === now.day ? "is-today" : day < now.day ? "is-past" : "");

export function Week({ items, scene, day, start, now }: Props) {
  const days = weekOf(day, start);
  const pieces = days.map((one) => piecesOn(items, one));
  const hours = hoursShown(pieces.flat());
  const laned = inLanes(items, days);
  const marks = Array.from({ length: hours[1] - hours[0] }, (_, index) => hours[0] + index);
  const share = `${((now.minutes - hours[0] * 60) / ((hours[1] - hours[0]) * 60)) * 100}%`;
  const isNowShown = days.includes(now.day) && now.minutes >= hours[0] * 60 && now.minutes <= hours[1] * 60;
  return (
    <div class="week" style={{ "--hours": String(hours[1] - hours[0]) }}>
      <div class="rule" aria-hidden="true">
        <span class="rule-days">{laned.length > 0 ? words.allDay : ""}</span>
        <ol class="rule-hours">{marks.map((hour, index) => <li key={hour}>{index > 0 && <span>{clock(hour * 60, true)}</span>}</li>)}</ol>
      </div>
      {days.map((one, index) => {
        const bars = laned.filter((bar) => bar.day === one);
        return (
          <section key={one} class={`day ${dayClass(one, now)}`} data-day={one}>
            <DayHead day={one} now={now} count={bars.length + pieces[index]!.filter(({ of }) => !isGhost(of)).length} />
            <ol class="days-row">{bars.map((bar) => <Bar key={keyOf(bar.of)} laned={bar} scene={scene} isStart={index === 0} />)}</ol>
            <div class="hours">
              {one === now.day && isNowShown && <span class="now" style={{ "--top": share }} aria-hidden="true" />}
              <ol>{sideBySide(pieces[index]!).map((placed) => <Block key={keyOf(placed.of)} placed={placed} scene={scene} hours={hours} />)}</ol>
            </div>
          </section>
        );
      })}
    </div>
  );
}

export function Month({ items, scene, day, start, now, goTo }: Props) {
  const weeks = monthOf(day, start);
  return (
    <div class="month">
      <div class="month-head" aria-hidden="true">{weeks[0]!.map((one) => <span key={one}>{dayName(one, "weekday")}</span>)}</div>
      {weeks.map((week) => (
        <div key={week[0]} class="month-week">
          {week.map((one) => <Cell key={one} day={one} isInside={one.slice(0, 7) === day.slice(0, 7)} items={onDay(items, one)} scene={scene} now={now} goTo={goTo} />)}
        </div>
      ))}
    </div>
  );
}

interface CellProps {
  day: Day;
  isInside: boolean;
  items: Item[];
  scene: Scene;
  now: Wall;
  goTo(day: Day): void;
}

function Cell({ day, isInside, items, scene, now, goTo }: CellProps) {
  const most = items.length > MOST_LINES + 1 ? MOST_LINES : items.length;
  return (
    <section class={`cell ${dayClass(day, now)} ${isInside ? "" : "is-outside"}`} data-day={day}>
      <h3>
        <button type="button" class="quiet date" title={words.goTo} onClick={() => goTo(day)}>
          <span aria-hidden="true">{Number(day.slice(8))}</span>
          <span class="hidden">{[near(day, now.day), dayLong(day), words.count(items.length)].filter(Boolean).join(", ")}</span>
        </button>
      </h3>
      <ol>{items.slice(0, most).map((item) => <Line key={keyOf(item)} item={item} day={day} scene={scene} />)}</ol>
      {items.length > most && <button type="button" class="quiet more" onClick={() => goTo(day)}>{words.more(items.length - most)}</button>}
    </section>
  );
}

/** On a phone a week is a list of its days; those that are over are folded. */
export function DayList({ items, scene, day, start, now }: Props) {
  const days = weekOf(day, start);
  const isNow = days.includes(now.day);
  const past = isNow ? days.filter((one) => one < now.day) : [];
  return (
    <>
      {past.length > 0 && (
        <details class="earlier">
          <summary>{words.earlier}</summary>
          <Days days={past} items={items} scene={scene} now={now} />
        </details>
      )}
      <Days days={days.filter((one) => !past.includes(one))} items={items} scene={scene} now={now} />
    </>
  );
}

function Days({ days, items, scene, now }: Pick<Props, "items" | "scene" | "now"> & { days: Day[] }) {
  return (
    <div class="day-list">
      {days.map((one) => {
        const here = onDay(items, one);
        return (
          <section key={one} class={dayClass(one, now)} data-day={one}>
            <h3>
              <span class="date">{Number(one.slice(8))}</span>
              <span class="weekday">{dayName(one, "weekdayWhole")}</span>
              {near(one, now.day) && <span class="near">{near(one, now.day)}</span>}
            </h3>
            {here.length === 0 ? <p class="empty">{words.none}</p> : <ol>{here.map((item) => <Row key={keyOf(item)} item={item} day={one} scene={scene} />)}</ol>}
          </section>
        );
      })}
    </div>
  );
}

/** On a phone a month is its days with dots, and the list of the one that is chosen. */
export function DotMonth({ items, scene, day, start, now }: Props) {
  const first = day.slice(0, 7) === now.day.slice(0, 7) ? now.day : day;
  const [chosen, setChosen] = useState(first);
  const shown = chosen.slice(0, 7) === day.slice(0, 7) ? chosen : first;
  return (
    <>
      <div class="month is-dots">
        <div class="month-head" aria-hidden="true">{weekOf(day, start).map((one) => <span key={one}>{dayName(one, "weekday")}</span>)}</div>
        {monthOf(day, start).map((week) => (
          <div key={week[0]} class="month-week">
            {week.map((one) => {
              const here = onDay(items, one);
              return (
                <button key={one} type="button" data-day={one} class={`quiet cell ${dayClass(one, now)} ${one.slice(0, 7) === day.slice(0, 7) ? "" : "is-outside"}`} aria-pressed={one === shown} onClick={() => setChosen(one)}>
                  <span class="hidden">{dayLong(one)}, {words.count(here.length)}</span>
                  <span class="date" aria-hidden="true">{Number(one.slice(8))}</span>
                  <span class="dots">{here.slice(0, MOST_DOTS).map((item) => <span key={keyOf(item)} class={`dot hue-${dotHue(item, scene)}`} />)}</span>
                </button>
              );
            })}
          </div>
        ))}
      </div>
      <Days days={[shown]} items={items} scene={scene} now={now} />
    </>
  );
}

function dotHue(item: Item, { members }: Scene): string {
  if (isGhost(item)) return hueOf(members, item.participants[0]);
  return item.is_busy ? "none" : hueOf(members, item.participants[0]?.id);
}
