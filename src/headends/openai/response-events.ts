// The events of a streamed response.
//
//   response-first-and-last-event. The first is response.created; the last is response.completed, response.incomplete or
//       response.failed.
//   response-events-numbered. From 0, without gaps.
import type { JsonObject } from '#base';
import type { AnswerPiece, CallerQuestion, ClientCall, ServedRun, ServerEvent, SpentTokens } from '#contracts';
import { clientError, answerFromOutcome } from '#headends/shared';
import { approvalItem } from './approvals.ts';
import { messageId, reasoningId } from './ids.ts';
import { responseObject, callItem, messageItem, reasoningItem, summaryPart, textPart } from './response-object.ts';
import type { ResponseHead, ResponseState } from './response-object.ts';

/** `activity`: whether to send what sub-agents and tools do, as reasoning. */
export async function* responseEvents(
  run: ServedRun,
  head: ResponseHead,
  activity: boolean,
): AsyncGenerator<ServerEvent> {
  let number = 0;
  const event = ({ type, ...fields }: ItemEvent): ServerEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: number++, ...fields }),
  });
  const responseEvent = (what: string, state: ResponseState): ServerEvent =>
    event({ type: `response.${what}`, response: responseObject(head, state) });

  yield responseEvent('created', { status: 'in_progress' });
  yield responseEvent('in_progress', { status: 'in_progress' });
  const items = new ResponseItems(head.run);
  let spent: SpentTokens | undefined;
  try {
    for await (const piece of piecesOrQuestions(run)) {
      if (piece.type === 'questions') {
        yield* items.end('completed').map(event);
        for (const question of piece.questions) yield* items.whole(approvalItem(question)).map(event);
        yield responseEvent('completed', { status: 'completed', output: items.done });
        return;
      }
      if (piece.type === 'text') yield* items.text(piece.text).map(event);
      else if (activity || piece.type === 'question') yield* items.activity(piece.text).map(event);
    }
    const pause = await run.pause?.();
    const outcome = pause === undefined || pause === null ? await run.outcome : null;
    spent = (outcome ?? pause)?.spent;
    const isWhole = outcome === null ? pause?.partial !== true : (await answerFromOutcome(outcome, run)).whole;
    const status = isWhole ? 'completed' : 'incomplete';
    yield* items.end(status).map(event);
    for (const call of pause?.calls ?? []) yield* items.call(call).map(event);
    yield responseEvent(status, { status, output: items.done, causes: await run.causes(), ...withSpent(spent) });
  } catch (error) {
    yield* items.end('incomplete').map(event);
    yield responseEvent('failed', {
      status: 'failed',
      output: items.done,
      failure: clientError(error),
      ...withSpent(spent),
    });
  }
}

type AskedQuestions = { readonly type: 'questions'; readonly questions: readonly CallerQuestion[] };

/** The pieces of the answer; when the client is asked, the questions come last, after the text before them. */
async function* piecesOrQuestions(run: ServedRun): AsyncGenerator<AnswerPiece | AskedQuestions> {
  const asked = run.asked?.().then(async (questions): Promise<AskedQuestions> => {
    // The pieces before are there, but not read yet.
    await new Promise((resolve) => void setImmediate(resolve));
    return { type: 'questions', questions };
  });
  asked?.catch(() => undefined);
  const pieces = run.pieces()[Symbol.asyncIterator]();
  for (;;) {
    const next = pieces.next();
    const first = await (asked === undefined ? next : Promise.race([next, asked]));
    if ('type' in first) {
      // It ends with the run, which may be long after this response.
      next.catch(() => undefined);
      yield first;
      return;
    }
    if (first.done === true) return;
    yield first.value;
  }
}

const withSpent = (spent: SpentTokens | undefined): Pick<ResponseState, 'spent'> =>
  spent === undefined ? {} : { spent };

// The items of a streamed response: activity as reasoning, the answer as one message, and calls of the client's tools.
//
//   response-items-end. Every item that starts also ends, and no event mentions it afterwards.
//   response-one-message. Reasoning may come before, between and after its parts, each time as a separate item.
/** An event without its number. */
type ItemEvent = JsonObject & { readonly type: string };

type OpenItem = { readonly index: number; text: string };

class ResponseItems {
  readonly #run: string;
  readonly #done = new Map<number, JsonObject>();
  #nextIndex = 0;
  #message: OpenItem | null = null;
  #reasoning: OpenItem | null = null;

  constructor(run: string) {
    this.#run = run;
  }

  text(delta: string): readonly ItemEvent[] {
    const before = this.#endReasoning();
    const isNew = this.#message === null;
    const message = (this.#message ??= { index: this.#nextIndex++, text: '' });
    message.text += delta;
    const at = this.#inMessage(message);
    return [
      ...before,
      ...(isNew ? this.#beginMessage(message) : []),
      { type: 'response.output_text.delta', ...at, delta, logprobs: [] },
    ];
  }

  activity(delta: string): readonly ItemEvent[] {
    const isNew = this.#reasoning === null;
    const reasoning = (this.#reasoning ??= { index: this.#nextIndex++, text: '' });
    reasoning.text += delta;
    const at = this.#inReasoning(reasoning);
    return [
      ...(isNew ? this.#beginReasoning(reasoning) : []),
      { type: 'response.reasoning_summary_text.delta', ...at, delta },
    ];
  }

  /** Call it after all text. */
  call(call: ClientCall): readonly ItemEvent[] {
    const output_index = this.#nextIndex++;
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

  /** An item that has no parts. Call it after all text. */
  whole(item: JsonObject): readonly ItemEvent[] {
    const output_index = this.#nextIndex++;
    this.#done.set(output_index, item);
    return [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ];
  }

  end(status: 'completed' | 'incomplete'): readonly ItemEvent[] {
    return [...this.#endReasoning(), ...this.#endMessage(status)];
  }

  /** The items that have ended, in the order in which they started. */
  get done(): readonly JsonObject[] {
    return [...this.#done].sort(([one], [other]) => one - other).map(([, item]) => item);
  }

  #inMessage({ index }: OpenItem): JsonObject {
    return { item_id: messageId(this.#run), output_index: index, content_index: 0 };
  }

  #inReasoning({ index }: OpenItem): JsonObject {
    return { item_id: reasoningId(this.#run, index), output_index: index, summary_index: 0 };
  }

  #beginMessage(message: OpenItem): readonly ItemEvent[] {
    const item = { ...messageItem(this.#run, '', 'in_progress'), content: [] };
    return [
      { type: 'response.output_item.added', output_index: message.index, item },
      { type: 'response.content_part.added', ...this.#inMessage(message), part: textPart('') },
    ];
  }

  #endMessage(status: 'completed' | 'incomplete'): readonly ItemEvent[] {
    const message = this.#message;
    if (message === null) return [];
    this.#message = null;
    const at = this.#inMessage(message);
    const item = messageItem(this.#run, message.text, status);
    this.#done.set(message.index, item);
    return [
      { type: 'response.output_text.done', ...at, text: message.text, logprobs: [] },
      { type: 'response.content_part.done', ...at, part: textPart(message.text) },
      { type: 'response.output_item.done', output_index: message.index, item },
    ];
  }

  #beginReasoning(reasoning: OpenItem): readonly ItemEvent[] {
    const item = { ...reasoningItem(this.#run, reasoning.index, ''), summary: [] };
    return [
      { type: 'response.output_item.added', output_index: reasoning.index, item },
      { type: 'response.reasoning_summary_part.added', ...this.#inReasoning(reasoning), part: summaryPart('') },
    ];
  }

  #endReasoning(): readonly ItemEvent[] {
    const reasoning = this.#reasoning;
    if (reasoning === null) return [];
    this.#reasoning = null;
    const at = this.#inReasoning(reasoning);
    const item = reasoningItem(this.#run, reasoning.index, reasoning.text);
    this.#done.set(reasoning.index, item);
    return [
      { type: 'response.reasoning_summary_text.done', ...at, text: reasoning.text },
      { type: 'response.reasoning_summary_part.done', ...at, part: summaryPart(reasoning.text) },
      { type: 'response.output_item.done', output_index: reasoning.index, item },
    ];
  }
}
