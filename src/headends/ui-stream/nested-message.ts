// A sub-agent as the AI SDK shows it: a message of its own, as the output of the tool call that started it.
import { parseStrictJson } from '#base';
import type { CellId, Json, JsonObject } from '#base';
import type { RunActivity } from '#headends/shared';

type ActivityOf<T extends RunActivity['type']> = RunActivity & { readonly type: T };
type Part = Record<string, Json>;

export class NestedMessage {
  readonly cell: CellId;
  /** The call that started it. */
  readonly call: string;
  /** The agent above; null: the agent that was asked. */
  readonly by: CellId | null;
  readonly #name: string;
  #parts: Part[] = [];
  #status: 'running' | 'done' | 'failed' = 'running';

  constructor({ cell, name, by }: Pick<ActivityOf<'agent'>, 'cell' | 'name' | 'by'>, call: string) {
    this.cell = cell;
    this.call = call;
    this.by = by;
    this.#name = name;
  }

  get message(): JsonObject {
    const metadata = { agent: this.#name, status: this.#status };
    return { id: this.cell, role: 'assistant', metadata, parts: this.#parts };
  }

  /** Whether one of its texts is this one, apart from white space at its end. */
  says(text: string): boolean {
    return this.#parts.some((part) => part['type'] === 'text' && part['text'] === text.trimEnd());
  }

  addStep(): void {
    this.#parts.push({ type: 'step-start' });
  }

  addText({ kind, id, text }: Pick<ActivityOf<'text'>, 'kind' | 'id' | 'text'>): void {
    const known = this.#find('id', id);
    if (known === undefined) this.#parts.push({ type: kind, id, text, state: 'streaming' });
    else known['text'] = `${known['text'] as string}${text}`;
  }

  endText(id: string): void {
    const known = this.#find('id', id);
    if (known !== undefined) known['state'] = 'done';
  }

  withdraw(ids: readonly string[]): void {
    this.#parts = this.#parts.filter(({ id }) => typeof id !== 'string' || !ids.includes(id));
  }

  addCall({ id, tool, args }: Pick<ActivityOf<'call'>, 'id' | 'tool' | 'args'>): void {
    const input = parsedInput(args);
    const own = { toolName: tool, toolCallId: id, providerExecuted: true };
    this.#parts.push({ type: 'dynamic-tool', ...own, state: 'input-available', input });
  }

  /** Changes the state or the output of a call. */
  setCall(id: string, fields: JsonObject): void {
    const known = this.#find('toolCallId', id);
    if (known !== undefined) Object.assign(known, fields);
  }

  end(status: 'done' | 'failed'): void {
    this.#status = status;
  }

  #find(field: 'id' | 'toolCallId', value: string): Part | undefined {
    return this.#parts.findLast((part) => part[field] === value);
  }
}

/** The arguments as JSON; as text if they were cut. */
export const parsedInput = (args: string): Json => {
  const read = parseStrictJson(args, 64);
  return 'problem' in read ? args : read.value;
};
