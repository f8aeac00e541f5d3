/** Form that edits an event. */
import { useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { focusFirstError, FormField, SelectInput } from "../shared/form-field";
import { api, ConflictProblem, toProblem } from "./api";
import { RecurrenceSelect } from "./chip-editor";
import { type EventFormValues, formValuesOf, toEventPatch, validateForm, withSeriesScope, withStart } from "./event-form-state";
import { MemberBadge } from "./icons";
import { text } from "./strings";
import type { EventInstance, Flexibility, Priority, SeriesScope, Settings } from "./types";

const strings = text.event;

interface Props {
  event: EventInstance;
  settings: Settings;
  userId: string;
  zone: string;
  back(): void;
  onChanged(message: string): void;
}

export function EventForm({ event, settings, userId, zone, back, onChanged }: Props) {
  const [values, setValues] = useState(() => formValuesOf(event));
  const [which, setWhich] = useState<SeriesScope>("this");
  const [isSubmitted, setSubmitted] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isSeries = event.recurrence_rule !== null && event.occurrence !== null;
  const errorKey = isSubmitted ? validateForm(values, event.is_all_day) : undefined;
  const update = (changes: Partial<EventFormValues>) => setValues({ ...values, ...changes });

  const save = async (isForced: boolean) => {
    setSubmitted(true);
    setProblem(undefined);
    if (isSending) return;
    if (validateForm(values, event.is_all_day)) return focusFirstError(form.current);
    const patch = toEventPatch(event, values, zone);
    if (!patch) return back();
    setSending(true);
    try {
      await api.change(userId, event.event_id, { ...withSeriesScope(event, patch, which), ...(isForced ? { force: true } : {}) });
      onChanged(strings.changed(values.title.trim()));
    } catch (cause) {
      setProblem(toProblem(cause));
      setSending(false);
      focusFirstError(form.current);
    }
  };
  const submit = (input: Event) => {
    input.preventDefault();
    void save(false);
  };
  const fieldError = (pointer: string) => problem?.fieldError(pointer);
  const timeError = errorKey === "endFirst" || errorKey === "noDay" ? strings[errorKey] : undefined;

  return (
    <form class="event-form" ref={form} onSubmit={submit} noValidate>
      <FormField name="title" label={strings.title} error={errorKey === "noTitle" ? strings.noTitle : fieldError("/title")}>
        {(attributes) => <input {...attributes} dir="auto" autoFocus autoComplete="off" value={values.title} onInput={(input) => update({ title: input.currentTarget.value })} />}
      </FormField>
      <div class="field-pair">
        <FormField name="startDay" label={strings.starts} error={fieldError("/start")}>
          {(attributes) => <input {...attributes} type="date" value={values.startDay} onInput={(input) => setValues(withStart(values, input.currentTarget.value, values.startTime))} />}
        </FormField>
        {!event.is_all_day && (
          <FormField name="startTime" label={strings.startTime}>
            {(attributes) => <input {...attributes} type="time" value={values.startTime} onInput={(input) => setValues(withStart(values, values.startDay, input.currentTarget.value))} />}
          </FormField>
        )}
      </div>
      <div class="field-pair">
        <FormField name="endDay" label={strings.ends} error={timeError ?? fieldError("/end")}>
          {(attributes) => <input {...attributes} type="date" value={values.endDay} onInput={(input) => update({ endDay: input.currentTarget.value })} />}
        </FormField>
        {!event.is_all_day && (
          <FormField name="endTime" label={strings.endTime}>
            {(attributes) => <input {...attributes} type="time" value={values.endTime} onInput={(input) => update({ endTime: input.currentTarget.value })} />}
          </FormField>
        )}
      </div>
      <ParticipantFields values={values} update={update} settings={settings} />
      {(settings.resources?.length ?? 0) > 0 && (
        <fieldset>
          <legend>{strings.resources}</legend>
          {settings.resources!.map(({ id, name }) => (
            <label key={id} class="check">
              <input type="checkbox" checked={values.resources.includes(id)} onChange={() => update({ resources: values.resources.includes(id) ? values.resources.filter((other) => other !== id) : [...values.resources, id] })} /> <span dir="auto">{name}</span>
            </label>
          ))}
        </fieldset>
      )}
      <FormField name="recurrence" label={strings.recurrence} error={fieldError("/recurrence_rule")}>
        {(attributes) => <RecurrenceSelect id={attributes.id} day={values.startDay || formValuesOf(event).startDay} rule={values.rule} onSelect={(rule) => update({ rule })} />}
      </FormField>
      <div class="field-pair">
        <FormField name="priority" label={strings.priority}>
          {(attributes) => <SelectInput<Priority> {...attributes} value={values.priority} options={strings.priorities} onSelect={(priority) => update({ priority })} />}
        </FormField>
        <FormField name="flexibility" label={strings.flexibility}>
          {(attributes) => <SelectInput<Flexibility> {...attributes} value={values.flexibility} options={strings.flexibilities} onSelect={(flexibility) => update({ flexibility })} />}
        </FormField>
      </div>
      <FormField name="location" label={strings.location}>
        {(attributes) => <input {...attributes} dir="auto" autoComplete="off" value={values.location} onInput={(input) => update({ location: input.currentTarget.value })} />}
      </FormField>
      <FormField name="notes" label={strings.notes}>
        {(attributes) => <textarea {...attributes} dir="auto" rows={2} value={values.notes} onInput={(input) => update({ notes: input.currentTarget.value })} />}
      </FormField>
      {isSeries && <SeriesScopeSelect which={which} onSelect={setWhich} />}
      {problem && <SaveError problem={problem} />}
      <div class="row">
        <button class="primary" data-action="save" disabled={isSending}>{isSending ? strings.saving : strings.save}</button>
        {problem instanceof ConflictProblem && canForce(problem) && <button type="button" data-action="force" disabled={isSending} onClick={() => void save(true)}>{strings.force}</button>}
        <button type="button" onClick={back}>{strings.cancel}</button>
      </div>
    </form>
  );
}

/** A fully booked resource cannot be overbooked. */
function canForce({ conflicts }: ConflictProblem): boolean {
  return conflicts.length > 0 && conflicts.every(({ type }) => type !== "resource_conflict");
}

function SaveError({ problem }: { problem: Problem }) {
  const conflicts = problem instanceof ConflictProblem ? problem.conflicts : [];
  return (
    <div class="problem" role="alert">
      <p><strong>{strings.refused}</strong> {conflicts.length > 0 ? strings.conflictsTitle : problem.message || text.unreachable}</p>
      {conflicts.length > 0 && <ul>{conflicts.map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}</ul>}
      {conflicts.some(({ type }) => type === "resource_conflict") && <p>{strings.fullyBooked}</p>}
      {problem.hint && <p>{problem.hint}</p>}
    </div>
  );
}

function ParticipantFields({ values, update, settings }: { values: EventFormValues; update(changes: Partial<EventFormValues>): void; settings: Settings }) {
  const others = (id: string) => values.people.filter((other) => other.id !== id);
  return (
    <fieldset>
      <legend>{strings.people}</legend>
      {settings.members.map(({ id, name }) => {
        const person = values.people.find((other) => other.id === id);
        return (
          <div key={id} class="person">
            <label class="check">
              <input type="checkbox" checked={person !== undefined} onChange={() => update({ people: person ? others(id) : [...values.people, { id, is_required: true }] })} />
              <MemberBadge id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span>
            </label>
            {person && (
              <label class="check is-optional">
                <input type="checkbox" checked={!person.is_required} onChange={() => update({ people: values.people.map((other) => (other.id === id ? { id, is_required: !other.is_required } : other)) })} /> {strings.optional}<span class="visually-hidden">: {name}</span>
              </label>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

export function SeriesScopeSelect({ which, onSelect }: { which: SeriesScope; onSelect(which: SeriesScope): void }) {
  return (
    <fieldset class="series-scope">
      <legend>{strings.which}</legend>
      {(Object.keys(strings.scopes) as SeriesScope[]).map((other) => (
        <label key={other}><input type="radio" name="which" value={other} checked={which === other} onChange={() => onSelect(other)} /> {strings.scopes[other]}</label>
      ))}
    </fieldset>
  );
}
