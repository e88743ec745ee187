// The messages that a client of AG-UI has by now: those that it sent, and those that it has made of the events. AG-UI cannot take back a
// text; a snapshot of the messages without it can.
import { isObject } from '#base';
import type { CellId, Json, JsonObject } from '#base';

type ShownMessage = Record<string, Json>;

/** With more text than this, the messages are forgotten: a void text then stays. */
const charsMax = 4_000_000;

export class ShownMessages {
  #messages: ShownMessage[] | null;
  #chars = 0;

  constructor(sent: readonly Json[]) {
    this.#messages = sent.flatMap((message) => (isObject(message) ? [{ ...(message as ShownMessage) }] : []));
  }

  get messages(): readonly JsonObject[] {
    return this.#messages ?? [];
  }

  addText({ id, text, by }: { readonly id: string; readonly text: string; readonly by: CellId | null }): void {
    this.#count(text);
    const known = this.#find(id);
    if (known === undefined) this.#messages?.push({ id, role: 'assistant', content: text, ...owner(by) });
    else known['content'] = `${typeof known['content'] === 'string' ? known['content'] : ''}${text}`;
  }

  addCall({ id, tool, args, by, text }: ShownCall): void {
    this.#count(args);
    const call = { id, type: 'function', function: { name: tool, arguments: args } };
    const parent = text === null ? undefined : this.#find(text);
    if (parent === undefined) this.#messages?.push({ id, role: 'assistant', toolCalls: [call], ...owner(by) });
    else parent['toolCalls'] = [...((parent['toolCalls'] as readonly Json[] | undefined) ?? []), call];
  }

  addResult({
    id,
    call,
    text,
    by,
  }: {
    readonly id: string;
    readonly call: string;
    readonly text: string;
    readonly by: CellId | null;
  }): void {
    this.#count(text);
    this.#messages?.push({ id, role: 'tool', toolCallId: call, content: text, ...owner(by) });
  }

  /** Whether a snapshot is needed. */
  remove(ids: readonly string[]): boolean {
    const before = this.#messages?.length ?? 0;
    this.#messages = this.#messages?.filter(({ id }) => typeof id !== 'string' || !ids.includes(id)) ?? null;
    return (this.#messages?.length ?? 0) < before;
  }

  #find(id: string): ShownMessage | undefined {
    return this.#messages?.findLast((message) => message['id'] === id);
  }

  #count(text: string): void {
    this.#chars += text.length;
    if (this.#chars > charsMax) this.#messages = null;
  }
}

type ShownCall = {
  readonly id: string;
  readonly tool: string;
  readonly args: string;
  readonly by: CellId | null;
  readonly text: string | null;
};

const owner = (by: CellId | null): { readonly subagentRunId?: CellId } => (by === null ? {} : { subagentRunId: by });
