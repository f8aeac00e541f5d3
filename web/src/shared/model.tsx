/** Label and select of the model. */
import type { InputAttributes } from "./form-field";
import { text } from "./strings";

export interface Model {
  name: string;
  kind: string;
  label: string;
}

export type ModelChoice = Model & { configured: boolean; hint?: string | null };

export function ModelLabel({ model }: { model: Model }) {
  return <p class="label" data-kind={model.kind}>{model.label}</p>;
}

/** Returns the named model, or else the first configured one. */
export function selectedModel(models: ModelChoice[] | undefined, name: string): ModelChoice | undefined {
  return models?.find((model) => model.name === name) ?? models?.find(({ configured }) => configured);
}

interface Props extends InputAttributes {
  models?: ModelChoice[];
  selected?: ModelChoice;
  onSelect(name: string): void;
}

export function ModelSelect({ models, selected, onSelect, ...attributes }: Props) {
  return (
    <select {...attributes} value={selected?.name ?? ""} onChange={(event) => onSelect(event.currentTarget.value)}>
      {models?.map(({ name, configured }) => (
        <option key={name} value={name}>{configured ? name : `${name} (${text.field.notConfigured})`}</option>
      ))}
    </select>
  );
}
