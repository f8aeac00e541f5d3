/** The question that waits: what is missing, which way out, or yes and no. */
import { useState } from "react";
import { useKeys } from "../shared/keys";
import { filledReply, type Filled } from "./chips";
import { stretch } from "./said";
import { Sign } from "./signs";
import { text } from "./strings";
import type { Conflict, Instance, ProposedResolution, Reply, Settings, Waiting } from "./types";
import { missingOf, replyOfChoice, waysOf } from "./ways";

const words = text.ask;
/** Keys that choose. */
const MOST_KEYS = 9;

export interface QuestionProps {
  waiting: Waiting;
  settings: Settings;
  zone: string;
  events: Instance[];
  isSending: boolean;
  reply(answer: Reply): void;
  /** The way out that is pointed at. */
  point(way: ProposedResolution | undefined): void;
}

export function Question(props: QuestionProps) {
  const { kind } = props.waiting;
  useKeys({ a: () => document.querySelector<HTMLElement>(".question-form button, .question-form input")?.focus() });
  return kind === "resolution" ? <WhichWay {...props} /> : kind === "confirmation" ? <YesOrNo {...props} /> : <WhatIsMissing {...props} />;
}

function numbered<T>(all: T[], act: (one: T) => void): Record<string, () => void> {
  return Object.fromEntries(all.slice(0, MOST_KEYS).map((one, index) => [String(index + 1), () => act(one)]));
}

function Number_({ index }: { index: number }) {
  return index < MOST_KEYS ? <kbd aria-hidden="true">{index + 1}</kbd> : null;
}

function WhatIsMissing({ waiting, settings, zone, isSending, reply }: QuestionProps) {
  const [filled, setFilled] = useState<Filled>({ title: "", day: "", from: "", to: "", words: "" });
  const missing = missingOf(waiting);
  const choices = waiting.choices ?? [];
  const answer = filledReply(filled, waiting.understood, waiting.found ?? [], zone);
  const put = (name: keyof Filled) => (event: { currentTarget: HTMLInputElement }) => setFilled({ ...filled, [name]: event.currentTarget.value });
  const choose = (choice: (typeof choices)[number]) => isSending || reply(replyOfChoice(choice, waiting, settings));
  useKeys(numbered(choices, choose));
  const submit = (event: Event) => {
    event.preventDefault();
    if (answer && !isSending) reply(answer);
  };
  return (
    <form class="question-form" onSubmit={submit} noValidate>
      {choices.length > 0 && (
        <ul class="choices">
          {choices.map((choice, index) => (
            <li key={choice.id}>
              <button type="button" data-choice={choice.id} disabled={isSending} onClick={() => choose(choice)}>
                <Number_ index={index} /> <span class="label" dir="auto">{choice.label}</span>
                {choice.detail && <span class="detail" dir="auto">{choice.detail}</span>}
              </button>
            </li>
          ))}
        </ul>
      )}
      {missing.includes("title") && <label>{words.missing.title}<input id="missing-title" dir="auto" autoComplete="off" value={filled.title} onInput={put("title")} /></label>}
      {missing.includes("date") && <label>{words.missing.date}<input id="missing-date" type="date" value={filled.day} onInput={put("day")} /></label>}
      {(missing.includes("time") || filled.day !== "") && (
        <div class="pair">
          <label>{words.missing.time}<input id="missing-time" type="time" value={filled.from} onInput={put("from")} /></label>
          <label>{words.missing.until}<input id="missing-until" type="time" value={filled.to} onInput={put("to")} /></label>
        </div>
      )}
      <label>{missing.some((part) => ["title", "date", "time"].includes(part)) || choices.length > 0 ? words.missing.words : words.words}
        <input id="missing-words" dir="auto" autoComplete="off" value={filled.words} onInput={put("words")} />
      </label>
      <div class="row"><button class="primary" disabled={!answer || isSending}>{isSending ? words.sending : words.send}</button></div>
    </form>
  );
}

function YesOrNo({ waiting, events, isSending, reply }: QuestionProps) {
  return (
    <div class="question-form">
      {(waiting.conflicts ?? []).length > 0 && <InTheWay conflicts={waiting.conflicts!} events={events} />}
      <div class="row">
        <button type="button" class="primary" data-answer="yes" disabled={isSending} onClick={() => reply({ confirm: true })}>{words.yes}</button>
        <button type="button" data-answer="no" disabled={isSending} onClick={() => reply({ confirm: false })}>{words.no}</button>
      </div>
    </div>
  );
}

/** What is wanted beside what stands in its way; then the ways out, each with what is lost. */
function WhichWay({ waiting, events, isSending, reply, point }: QuestionProps) {
  const ways = waysOf(waiting);
  const { understood, conflicts = [], recommended } = waiting;
  const choose = (way: ProposedResolution) => isSending || reply({ resolution_id: way.resolution_id });
  useKeys({ ...numbered(ways, choose), d: () => isSending || reply({ decline: true }) });
  return (
    <div class="question-form">
      <div class="clash">
        {understood?.start_time && (
          <div class="side-of is-wanted">
            <h4>{words.wanted}</h4>
            <p class="name" dir="auto">{understood.title}</p>
            <p class="time">{stretch(understood.start_time, understood.end_time ?? understood.start_time)}</p>
          </div>
        )}
        <InTheWay conflicts={conflicts} events={events} />
      </div>
      <h4 id="ways-title">{words.ways}</h4>
      {ways.length === 0 ? <p class="empty">{words.noWays}</p> : <p class="hint point">{words.preview}</p>}
      <ol class="ways" aria-labelledby="ways-title" onMouseLeave={() => point(undefined)}>
        {ways.map((way, index) => (
          <li key={way.resolution_id}>
            <button type="button" class={way.resolution_id === recommended ? "way is-recommended" : "way"} data-way={way.resolution_id} disabled={isSending}
              onClick={() => choose(way)} onMouseEnter={() => point(way)} onFocus={() => point(way)} onBlur={() => point(undefined)}>
              <span class="way-head"><Number_ index={index} /> <span class="strategy">{words.strategy[way.strategy] ?? way.strategy}</span> {way.resolution_id === recommended && <span class="badge">{words.recommended}</span>}</span>
              <span class="description" dir="auto">{way.description}</span>
              <span class="lost"><span class="hidden">{words.lost}: </span>{way.side_effects.length > 0 ? way.side_effects.join(" ") : words.nothingLost}</span>
              {way.conflicts_resolved.length < conflicts.length && <span class="lost">{words.resolves(way.conflicts_resolved.length, conflicts.length)}</span>}
            </button>
          </li>
        ))}
      </ol>
      <div class="row"><button type="button" data-answer="decline" disabled={isSending} onClick={() => reply({ decline: true })}>{words.decline} <kbd aria-hidden="true">d</kbd></button></div>
    </div>
  );
}

export function InTheWay({ conflicts, events }: { conflicts: Conflict[]; events: Instance[] }) {
  return (
    <div class="side-of is-in-the-way">
      <h4>{words.inTheWay}</h4>
      <ul>
        {conflicts.map((conflict) => {
          const event = events.find(({ event_id }) => event_id === conflict.conflicting_event_id);
          return (
            <li key={conflict.id} data-conflict={conflict.id}>
              {conflict.conflicting_event_title && <p class="name" dir="auto">{conflict.conflicting_event_title}</p>}
              {event && <p class="time">{stretch(event.start, event.end, event.is_all_day)}</p>}
              <p class="because" dir="auto">{conflict.details}</p>
              <p class={`severity is-${conflict.severity}`}><Sign of="conflict" /> {words.severity[conflict.severity]}</p>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
