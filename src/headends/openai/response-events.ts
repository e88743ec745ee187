// The events of a response as it comes.
//
//   P1. The first is response.created; the last is response.completed, response.incomplete or response.failed.
//   P2. They are numbered without a gap, from 0.
import { clientError } from '#headends/shared';
import type { ServedRun, ServerEvent, SpentTokens } from '#contracts';
import { answerOf } from '#headends/shared';
import { ResponseItems } from './response-items.ts';
import { responseObject } from './response-object.ts';
import type { ResponseHead, ResponseState } from './response-object.ts';
import type { ItemEvent } from './response-items.ts';

/** `activity`: tell what is done meanwhile, as reasoning. */
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
  const told = (what: string, state: ResponseState): ServerEvent =>
    event({ type: `response.${what}`, response: responseObject(head, state) });

  yield told('created', { status: 'in_progress' });
  yield told('in_progress', { status: 'in_progress' });
  const items = new ResponseItems(head.run);
  let spent: SpentTokens | undefined;
  try {
    for await (const { type, text } of run.pieces()) {
      if (type === 'text') yield* items.text(text).map(event);
      else if (activity) yield* items.activity(text).map(event);
    }
    const pause = await run.pause?.();
    const outcome = pause === undefined || pause === null ? await run.outcome : null;
    spent = (outcome ?? pause)?.spent;
    const status = outcome === null || answerOf(outcome).whole ? 'completed' : 'incomplete';
    yield* items.end(status).map(event);
    for (const call of pause?.calls ?? []) yield* items.call(call).map(event);
    yield told(status, { status, output: items.done, ...usedUp(spent) });
  } catch (error) {
    yield* items.end('incomplete').map(event);
    yield told('failed', { status: 'failed', output: items.done, failure: clientError(error), ...usedUp(spent) });
  }
}

const usedUp = (spent: SpentTokens | undefined): Pick<ResponseState, 'spent'> => (spent === undefined ? {} : { spent });
