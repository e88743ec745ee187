// The items of a response while it comes: what is done meanwhile as reasoning, the answer as one message, calls of the client's tools.
//
//   I1. An item that was begun is ended, and nothing is told of it afterwards.
//   I2. There is one message. Reasoning may come before, between and after its words, each time as an item of its own.
import type { JsonObject } from '#base';
import type { ClientCall } from '#contracts';
import { messageId, reasoningId } from './ids.ts';
import { callItem, messageItem, reasoningItem, summaryPart, textPart } from './response-object.ts';

/** An event without its number. */
export type ItemEvent = JsonObject & { readonly type: string };

type Open = { readonly place: number; text: string };

export class ResponseItems {
  readonly #run: string;
  readonly #done = new Map<number, JsonObject>();
  #places = 0;
  #message: Open | null = null;
  #reasoning: Open | null = null;

  constructor(run: string) {
    this.#run = run;
  }

  text(delta: string): readonly ItemEvent[] {
    const before = this.#endReasoning();
    const begun = this.#message === null;
    const message = (this.#message ??= { place: this.#places++, text: '' });
    message.text += delta;
    const at = this.#inMessage(message);
    return [
      ...before,
      ...(begun ? this.#beginMessage(message) : []),
      { type: 'response.output_text.delta', ...at, delta, logprobs: [] },
    ];
  }

  activity(delta: string): readonly ItemEvent[] {
    const begun = this.#reasoning === null;
    const reasoning = (this.#reasoning ??= { place: this.#places++, text: '' });
    reasoning.text += delta;
    const at = this.#inReasoning(reasoning);
    return [
      ...(begun ? this.#beginReasoning(reasoning) : []),
      { type: 'response.reasoning_summary_text.delta', ...at, delta },
    ];
  }

  /** Once nothing more is said. */
  call(call: ClientCall): readonly ItemEvent[] {
    const output_index = this.#places++;
    const item = callItem(call, 'completed');
    const at = { item_id: item['id'], output_index };
    this.#done.set(output_index, item);
    return [
      { type: 'response.output_item.added', output_index, item: callItem(call, 'in_progress') },
      { type: 'response.function_call_arguments.delta', ...at, delta: item['arguments'] },
      { type: 'response.function_call_arguments.done', ...at, name: call.name, arguments: item['arguments'] },
      { type: 'response.output_item.done', output_index, item },
    ] as readonly ItemEvent[];
  }

  end(status: 'completed' | 'incomplete'): readonly ItemEvent[] {
    return [...this.#endReasoning(), ...this.#endMessage(status)];
  }

  /** Those that have ended, in the order in which they began. */
  get done(): readonly JsonObject[] {
    return [...this.#done].sort(([one], [other]) => one - other).map(([, item]) => item);
  }

  #inMessage({ place }: Open): JsonObject {
    return { item_id: messageId(this.#run), output_index: place, content_index: 0 };
  }

  #inReasoning({ place }: Open): JsonObject {
    return { item_id: reasoningId(this.#run, place), output_index: place, summary_index: 0 };
  }

  #beginMessage(message: Open): readonly ItemEvent[] {
    const item = { ...messageItem(this.#run, '', 'in_progress'), content: [] };
    return [
      { type: 'response.output_item.added', output_index: message.place, item },
      { type: 'response.content_part.added', ...this.#inMessage(message), part: textPart('') },
    ];
  }

  #endMessage(status: 'completed' | 'incomplete'): readonly ItemEvent[] {
    const message = this.#message;
    if (message === null) return [];
    this.#message = null;
    const at = this.#inMessage(message);
    const item = messageItem(this.#run, message.text, status);
    this.#done.set(message.place, item);
    return [
      { type: 'response.output_text.done', ...at, text: message.text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part: textPart(message.text) },
      { type: 'response.output_item.done', output_index: message.place, item },
    ];
  }

  #beginReasoning(reasoning: Open): readonly ItemEvent[] {
    const item = { ...reasoningItem(this.#run, reasoning.place, ''), summary: [] };
    return [
      { type: 'response.output_item.added', output_index: reasoning.place, item },
      { type: 'response.reasoning_summary_part.added', ...this.#inReasoning(reasoning), part: summaryPart('') },
    ];
  }

  #endReasoning(): readonly ItemEvent[] {
    const reasoning = this.#reasoning;
    if (reasoning === null) return [];
    this.#reasoning = null;
    const at = this.#inReasoning(reasoning);
    const item = reasoningItem(this.#run, reasoning.place, reasoning.text);
    this.#done.set(reasoning.place, item);
    return [
      { type: 'response.reasoning_summary_text.done', ...at, text: reasoning.text },
      { type: 'response.reasoning_summary_part.done', ...at, part: summaryPart(reasoning.text) },
      { type: 'response.output_item.done', output_index: reasoning.place, item },
    ];
  }
}
