/** Response to a request: parsed chips, open interrupt, query results. */
import { useEffect, useRef } from "react";
import { ParsedChips } from "./chip-editor";
import { type Chip, type Correction, responseEvent } from "./parsed-chips";
import { InterruptPanel, type InterruptPanelProps } from "./interrupt-panel";
import { nameLookup } from "./members";
import { formatDayShort, formatRange, formatTimeRange, joinNames } from "./date-format";
import { Icon } from "./icons";
import { text } from "./strings";
import type { QueryData, Settings, WorkflowResponse } from "./types";
import { type Day, toLocalTime } from "./local-time";

const strings = text.answer;

interface Props extends Pick<InterruptPanelProps, "settings" | "zone" | "events" | "isSending" | "reply" | "onHover"> {
  answer: WorkflowResponse;
  today: Day;
  /** The visible days. */
  days: Day[];
  /** The interrupt is new, so it gets the focus. */
  isNew: boolean;
  onCorrect(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
  goTo(day: Day): void;
  close(): void;
}

/** Returns how a correction is applied in the current state. */
export function correctionMethod({ status, waiting, result, ...answer }: WorkflowResponse): "answer" | "patch" | "again" {
  if (status === "awaiting_user") return waiting?.kind === "clarification" ? "answer" : "again";
  const isOnCalendar = result?.action === "created" || result?.action === "changed";
  return isOnCalendar && responseEvent({ status, waiting, result, ...answer })?.id ? "patch" : "again";
}

export function ResponsePanel({ answer, settings, today, days, isNew, onCorrect, goTo, close, ...question }: Props) {
  const { status, waiting, result, understood, explanation, errors = [], messages = [] } = answer;
  const titleRef = useRef<HTMLHeadingElement>(null);
  const event = responseEvent(answer);
  const isOnCalendar = correctionMethod(answer) === "patch";
  const parsed = waiting?.understood ?? understood?.data;
  // The event on the calendar may have changed since the request.
  const data = parsed && isOnCalendar && event?.start ? { ...parsed, start_time: event.start, end_time: event.end } : parsed;
  const spans = waiting?.found ?? understood?.found ?? [];
  const sentence = messages.findLast(({ role }) => role === "user")?.content;
  useEffect(() => {
    if (waiting && isNew) titleRef.current?.focus();
  }, [waiting?.question_id]);
  const title = waiting ? text.ask.yourTurn : status === "failed" ? strings.failed : status === "in_progress" ? strings.running : strings.done[result?.action ?? "none"];
  const icon = waiting ? "question" : status === "failed" ? "conflict" : "done";
  return (
    <section class={`answer is-${status} ${waiting ? `has-${waiting.kind}` : ""}`} data-status={status} data-thread={answer.workflow_id} data-question={waiting?.question_id} aria-labelledby="answer-title">
      <header>
        <h2 id="answer-title" ref={titleRef} tabIndex={-1}>{status !== "in_progress" && <Icon name={icon} />} {title}</h2>
        <button type="button" class="quiet square" aria-label={strings.dismiss} onClick={close}><Icon name="close" /></button>
      </header>
      {sentence && <p class="request-text"><span class="visually-hidden">{strings.yourRequest}: </span><q dir="auto">{sentence}</q></p>}
      <p class="explanation" dir="auto">{waiting ? waiting.question : explanation}</p>
      {event?.start && isOnCalendar && !days.includes(toLocalTime(event.start).day) && (
        <p class="event-date"><button type="button" class="quiet" onClick={() => goTo(toLocalTime(event.start!).day)}>{formatRange(event.start, event.end ?? event.start)}</button></p>
      )}
      {errors.length > 0 && status === "failed" && <ul class="errors">{errors.map((error, index) => <li key={index} dir="auto">{error.message}</li>)}</ul>}
      {data && <ParsedChips data={data} spans={spans} confidence={understood?.confidence} settings={settings} today={today} method={correctionMethod(answer)} onCorrect={onCorrect} />}
      {waiting && <InterruptPanel key={waiting.question_id} interrupt={waiting} settings={settings} {...question} />}
      {result?.query && !waiting && <QueryResults query={result.query} settings={settings} goTo={goTo} />}
      <WorkflowSteps answer={answer} />
    </section>
  );
}

function QueryResults({ query: { results }, settings, goTo }: { query: QueryData; settings: Settings; goTo(day: Day): void }) {
  const names = nameLookup(settings);
  const { free, events, resources, fits, conflicts, slots } = results;
  const isAll = (ids: string[]) => ids.length === settings.members.length;
  const Jump = ({ start, children }: { start: string; children: string }) => <button type="button" class="quiet date-link" onClick={() => goTo(toLocalTime(start).day)}>{children}</button>;
  return (
    <div class="results">
      {fits !== undefined && <p class={fits ? "verdict is-yes" : "verdict is-no"}>{fits ? text.query.fits : text.query.conflicting}</p>}
      {conflicts && conflicts.length > 0 && <ul>{conflicts.map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}</ul>}
      {slots && slots.length > 0 && <p>{text.query.instead}</p>}
      {slots && <ul>{slots.map(({ start_time, end_time }) => <li key={start_time}><Jump start={start_time}>{formatRange(start_time, end_time)}</Jump></li>)}</ul>}
      {free && (free.length === 0 ? <p class="empty">{text.query.noneFree}</p> : (
        <ul>
          {free.map(({ start, end, members }) => (
            <li key={start}>
              <Jump start={start}>{`${formatDayShort(toLocalTime(start).day)}, ${formatTimeRange(toLocalTime(start).minutes, toLocalTime(end).minutes)}`}</Jump>
              <span class="free-members">{isAll(members) ? text.query.everyone : joinNames(members.map(names.of))}</span>
            </li>
          ))}
        </ul>
      ))}
      {events && (events.length === 0 ? <p class="empty">{text.query.nothing}</p> : (
        <ul>{events.map(({ event_id, title, start, end, is_all_day }) => <li key={event_id + start}><strong dir="auto">{title}</strong> <Jump start={start}>{formatRange(start, end, is_all_day)}</Jump></li>)}</ul>
      ))}
      {resources && (
        <ul>
          {resources.map(({ resource_id, resource_name, available, current_capacity, max_capacity }) => (
            <li key={resource_id}><strong dir="auto">{resource_name}</strong> {(available ? text.query.available : text.query.booked)(current_capacity, max_capacity)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Agents of the workflow with their explanations. */
function WorkflowSteps({ answer: { workflow_steps = [], agent_outputs = {} } }: { answer: WorkflowResponse }) {
  if (workflow_steps.length === 0) return null;
  return (
    <details class="steps">
      <summary>{strings.steps}</summary>
      <ol>
        {workflow_steps.map((step, index) => (
          <li key={index}>
            <code>{step}</code> {agent_outputs[step]?.confidence !== undefined && <span class="confidence">{strings.confidence(agent_outputs[step]!.confidence!)}</span>}
            {agent_outputs[step]?.explanation && <p dir="auto">{agent_outputs[step]!.explanation}</p>}
          </li>
        ))}
      </ol>
    </details>
  );
}
