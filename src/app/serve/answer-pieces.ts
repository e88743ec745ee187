// Streams an answer to clients that cannot retract text.
//
//   answer-text-complete. The concatenated text ends with the whole answer, if there is one.
//   answer-text-exact. It is exactly the answer when the agent wrote nothing else, or when `answerOnly` is set.
import { StreamedText } from '#base';
import type { AnswerPiece, RunEvent, RunOutcome } from '#contracts';

export type PiecesOptions = {
  /** Omits intermediate text: the answer is JSON, which cannot have a preface. */
  readonly answerOnly: boolean;
  readonly activity: boolean;
  /** The cell that answers; default: the cell of the first event. */
  readonly root?: string;
};

export async function* answerPieces(
  events: AsyncIterable<RunEvent>,
  outcome: Promise<Pick<RunOutcome, 'output'>>,
  { answerOnly, activity, root: known }: PiecesOptions,
): AsyncGenerator<AnswerPiece> {
  const paragraphs = new StreamedText();
  let root = known;
  for await (const event of events) {
    root ??= event.cell;
    const isRoot = event.cell === root;
    if (!answerOnly && isRoot && event.type === 'text-delta') yield* textPieces(paragraphs.add(event.text));
    else if (isRoot && event.type === 'text-reset') paragraphs.next();
    else if (event.type === 'text-lag') paragraphs.markLost();
    else if (event.type === 'question') yield* questionPieces(event, { answerOnly, activity });
    else if (activity) yield* activityPieces(event);
  }
  yield* textPieces(paragraphs.finish((await outcome).output));
}

const textPieces = (words: string): readonly AnswerPiece[] => (words === '' ? [] : [{ type: 'text', text: words }]);

/** Whoever reads only the answer is told nevertheless why nothing comes, except where it would have to be JSON. */
const questionPieces = (
  { why, question, tool }: RunEvent & { readonly type: 'question' },
  { answerOnly, activity }: PiecesOptions,
): readonly AnswerPiece[] => {
  // The client itself is asked, in the way of its protocol.
  if (why === 'client' || (answerOnly && !activity)) return [];
  const text =
    why === 'agent' ? `Waiting for an answer: ${question}\n` : `Waiting for approval: ${question} (${tool})\n`;
  return [{ type: answerOnly ? 'activity' : 'question', text }];
};

const activityPieces = (event: RunEvent): readonly AnswerPiece[] => {
  const words = describeActivity(event);
  return words === null ? [] : [{ type: 'activity', text: `${words}\n` }];
};

// Describes the activity of a run for clients that only show text: who does what, never any content.
const describeActivity = (event: RunEvent): string | null => {
  switch (event.type) {
    case 'child-start':
      return `${event.agent} calls ${event.tool}`;
    case 'child-end':
      return `${event.tool} ${event.ok ? 'answered' : `did not answer (${event.status})`}`;
    case 'tool-start':
      return `${event.agent} uses ${event.tool}`;
    case 'task':
      return `task ${event.task} is ${event.status}`;
    case 'wait-start':
      return event.for === undefined ? `${event.agent} is waiting` : `${event.agent} waits for the agents it started`;
    default:
      return null;
  }
};

// Subscribes to events now, and buffers them until they are read.
/** For one reader. Ends when the signal aborts. */
export const eagerEvents = (
  events: AsyncIterable<RunEvent>,
  outcome: Promise<unknown>,
  signal?: AbortSignal,
): AsyncIterable<RunEvent> => {
  const iterator = events[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<RunEvent>> | undefined = iterator.next();
  first.catch(() => undefined);
  if (signal !== undefined) returnOnAbort(signal, outcome, iterator);
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const next = first ?? iterator.next();
        first = undefined;
        return next;
      },
      return: async (value) => {
        first = undefined;
        return (await iterator.return?.(value)) ?? { done: true, value };
      },
    }),
  };
};

const returnOnAbort = (signal: AbortSignal, outcome: Promise<unknown>, iterator: AsyncIterator<RunEvent>): void => {
  const leave = (): void => void iterator.return?.();
  if (signal.aborted) return leave();
  signal.addEventListener('abort', leave, { once: true });
  const over = (): void => signal.removeEventListener('abort', leave);
  outcome.then(over, over);
};
