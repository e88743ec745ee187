// The events of a streamed response.
//
//   response-first-and-last-event. The first is response.created; the last is response.completed, response.incomplete or
//       response.failed.
//   response-events-numbered. From 0, without gaps.
import { clientError } from '#headends/shared';
import type { ServedRun, ServerEvent, SpentTokens } from '#contracts';
import { answerFromOutcome } from '#headends/shared';
import { ResponseItems } from './response-items.ts';
import { responseObject } from './response-object.ts';
import type { ResponseHead, ResponseState } from './response-object.ts';
import type { ItemEvent } from './response-items.ts';

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
    for await (const { type, text } of run.pieces()) {
      if (type === 'text') yield* items.text(text).map(event);
      else if (activity) yield* items.activity(text).map(event);
    }
    const pause = await run.pause?.();
    const outcome = pause === undefined || pause === null ? await run.outcome : null;
    spent = (outcome ?? pause)?.spent;
    const isWhole = outcome === null ? pause?.partial !== true : answerFromOutcome(outcome).whole;
    const status = isWhole ? 'completed' : 'incomplete';
    yield* items.end(status).map(event);
    for (const call of pause?.calls ?? []) yield* items.call(call).map(event);
    yield responseEvent(status, { status, output: items.done, ...withSpent(spent) });
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

const withSpent = (spent: SpentTokens | undefined): Pick<ResponseState, 'spent'> =>
  spent === undefined ? {} : { spent };
