/** Form field with label, hint and error, and the error message of a form. */
import type { ReactNode } from "react";
import type { Problem } from "./api";
import { text } from "./strings";

export interface InputAttributes {
  id: string;
  name: string;
  "aria-invalid"?: boolean;
  "aria-describedby"?: string;
}

interface Props {
  name: string;
  label: string;
  hint?: ReactNode;
  error?: string;
  children(attributes: InputAttributes): ReactNode;
}

export function FormField({ name, label, hint, error, children }: Props) {
  const describedBy = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(" ");
  return (
    <div class={`field is-${name}`}>
      <label for={name}>{label}</label>
      {children({ id: name, name, "aria-invalid": error ? true : undefined, "aria-describedby": describedBy || undefined })}
      {error && <p class="field-error" id={`${name}-error`}><span aria-hidden="true">⚠ </span>{error}</p>}
      {hint && <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </div>
  );
}

export function SelectInput<T extends string>(props: InputAttributes & { value: T; options: Record<T, string>; onSelect(value: T): void }) {
  const { value, options, onSelect, ...attributes } = props;
  return (
    <select {...attributes} value={value} onChange={(event) => onSelect(event.currentTarget.value as T)}>
      {(Object.keys(options) as T[]).map((name) => <option key={name} value={name}>{options[name]}</option>)}
    </select>
  );
}

/** `fields`: JSON pointers of the form's fields, which show their own errors. */
export function FormError({ problem, title, fields }: { problem: Problem; title: string; fields: string[] }) {
  const hasFieldError = fields.some((pointer) => problem.fieldError(pointer));
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{title}</strong> {hasFieldError ? text.field.correctFields : problem.message || text.unreachable}
      </p>
      {problem.hint && <p>{problem.hint}</p>}
      {problem.retryAfter && <p>{text.field.retryAfter(problem.retryAfter)}</p>}
    </div>
  );
}

/** Focuses the first invalid field after the next render. */
export function focusFirstError(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
}
