/** What came of a sentence: what was understood, the question that waits, or what was found. */
import { useEffect, useRef } from "react";
import { Chips } from "./correct";
import { eventOf, type Chip, type Correction } from "./chips";
import { Question, type QuestionProps } from "./question";
import { namesOf } from "./family";
import { clocks, dayShort, listed, stretch } from "./said";
import { Sign } from "./signs";
import { text } from "./strings";
import type { Answer, QueryData, Settings } from "./types";
import { wallOf, type Day } from "./wall";

const words = text.answer;

interface Props extends Pick<QuestionProps, "settings" | "zone" | "events" | "isSending" | "reply" | "point"> {
  answer: Answer;
  today: Day;
  /** What the calendar shows. */
  days: Day[];
  /** Opened just now: the question is where to go on. */
  isFresh: boolean;
  correct(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
  goTo(day: Day): void;
  close(): void;
}

/** How a piece is corrected, as things stand. */
export function wayOf({ status, waiting, result, ...answer }: Answer): "answer" | "patch" | "again" {
  if (status === "awaiting_user") return waiting?.kind === "clarification" ? "answer" : "again";
  const isThere = result?.action === "created" || result?.action === "changed";
  return isThere && eventOf({ status, waiting, result, ...answer })?.id ? "patch" : "again";
}

export function AnswerPanel({ answer, settings, today, days, isFresh, correct, goTo, close, ...question }: Props) {
  const { status, waiting, result, understood, explanation, errors = [], messages = [] } = answer;
  const head = useRef<HTMLHeadingElement>(null);
  const event = eventOf(answer);
  const isThere = wayOf(answer) === "patch";
  const heard = waiting?.understood ?? understood?.data;
  // What stands on the calendar counts, which may be later than what was said.
  const data = heard && isThere && event?.start ? { ...heard, start_time: event.start, end_time: event.end } : heard;
  const found = waiting?.found ?? understood?.found ?? [];
  const said = messages.findLast(({ role }) => role === "user")?.content;
  useEffect(() => {
    if (waiting && isFresh) head.current?.focus();
  }, [waiting?.question_id]);
  const title = waiting ? text.ask.turn : status === "failed" ? words.failed : status === "in_progress" ? words.running : words.done[result?.action ?? "none"];
  const sign = waiting ? "ask" : status === "failed" ? "conflict" : "done";
  return (
    <section class={`answer is-${status} ${waiting ? `asks-${waiting.kind}` : ""}`} data-status={status} data-thread={answer.workflow_id} data-question={waiting?.question_id} aria-labelledby="answer-title">
      <header>
        <h2 id="answer-title" ref={head} tabIndex={-1}>{status !== "in_progress" && <Sign of={sign} />} {title}</h2>
        <button type="button" class="quiet square" aria-label={words.dismiss} onClick={close}><Sign of="close" /></button>
      </header>
      {said && <p class="sentence"><span class="hidden">{words.youSaid}: </span><q dir="auto">{said}</q></p>}
      <p class="explanation" dir="auto">{waiting ? waiting.question : explanation}</p>
      {event?.start && isThere && !days.includes(wallOf(event.start).day) && (
        <p class="landed"><button type="button" class="quiet" onClick={() => goTo(wallOf(event.start!).day)}>{stretch(event.start, event.end ?? event.start)}</button></p>
      )}
      {errors.length > 0 && status === "failed" && <ul class="errors">{errors.map((error, index) => <li key={index} dir="auto">{error.message}</li>)}</ul>}
      {data && <Chips data={data} found={found} confidence={understood?.confidence} settings={settings} today={today} way={wayOf(answer)} correct={correct} />}
      {waiting && <Question key={waiting.question_id} waiting={waiting} settings={settings} {...question} />}
      {result?.query && !waiting && <Results query={result.query} settings={settings} goTo={goTo} />}
      <Steps answer={answer} />
    </section>
  );
}

function Results({ query: { results }, settings, goTo }: { query: QueryData; settings: Settings; goTo(day: Day): void }) {
  const names = namesOf(settings);
  const { free, events, resources, fits, conflicts, slots } = results;
  const isAll = (ids: string[]) => ids.length === settings.members.length;
  const Jump = ({ start, children }: { start: string; children: string }) => <button type="button" class="quiet jump" onClick={() => goTo(wallOf(start).day)}>{children}</button>;
  return (
    <div class="results">
      {fits !== undefined && <p class={fits ? "verdict is-yes" : "verdict is-no"}>{fits ? text.query.fits : text.query.fitsNot}</p>}
      {conflicts && conflicts.length > 0 && <ul>{conflicts.map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}</ul>}
      {slots && slots.length > 0 && <p>{text.query.instead}</p>}
      {slots && <ul>{slots.map(({ start_time, end_time }) => <li key={start_time}><Jump start={start_time}>{stretch(start_time, end_time)}</Jump></li>)}</ul>}
      {free && (free.length === 0 ? <p class="empty">{text.query.noneFree}</p> : (
        <ul>
          {free.map(({ start, end, members }) => (
            <li key={start}>
              <Jump start={start}>{`${dayShort(wallOf(start).day)}, ${clocks(wallOf(start).minutes, wallOf(end).minutes)}`}</Jump>
              <span class="whom">{isAll(members) ? text.query.everyone : listed(members.map(names.of))}</span>
            </li>
          ))}
        </ul>
      ))}
      {events && (events.length === 0 ? <p class="empty">{text.query.nothing}</p> : (
        <ul>{events.map(({ event_id, title, start, end, is_all_day }) => <li key={event_id + start}><strong dir="auto">{title}</strong> <Jump start={start}>{stretch(start, end, is_all_day)}</Jump></li>)}</ul>
      ))}
      {resources && (
        <ul>
          {resources.map(({ resource_id, resource_name, available, current_capacity, max_capacity }) => (
            <li key={resource_id}><strong dir="auto">{resource_name}</strong> {(available ? text.query.available : text.query.taken)(current_capacity, max_capacity)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Which agents were asked, and what each of them says. */
function Steps({ answer: { workflow_steps = [], agent_outputs = {} } }: { answer: Answer }) {
  if (workflow_steps.length === 0) return null;
  return (
    <details class="steps">
      <summary>{words.steps}</summary>
      <ol>
        {workflow_steps.map((step, index) => (
          <li key={index}>
            <code>{step}</code> {agent_outputs[step]?.confidence !== undefined && <span class="sure">{words.sure(agent_outputs[step]!.confidence!)}</span>}
            {agent_outputs[step]?.explanation && <p dir="auto">{agent_outputs[step]!.explanation}</p>}
          </li>
        ))}
      </ol>
    </details>
  );
}
