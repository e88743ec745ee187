// Shows one run in its thread, from its start to its end.
//
//   turn-shown-whole. It resolves only after the answer, the cards and what became of each question are in the thread.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { AgentService, Caller, Cause, RunOutcome } from '#contracts';
import { clientFailure, failureWithAdvice } from '#headends/shared';
import { actions, button } from './blocks.ts';
import type { ButtonValues } from './button-values.ts';
import { QuestionCards } from './question-cards.ts';
import { eventsUntil } from './run-reader.ts';
import type { FoundRun } from './run-reader.ts';
import { RunThreadView } from './run-thread-view.ts';
import type { SlackMessages } from './slack-messages.ts';
import type { SessionStatus, ThreadEnd, ThreadPlace, ThreadView } from './thread-view.ts';

/** Writes one answer into a thread. */
type AnswerWriter = {
  /** Shows this soon. */
  show(view: ThreadView): void;
  /** Resolves when what was shown is in the thread, and later text begins a new message. */
  pause(): Promise<void>;
  /** Resolves when all of it is in the thread. */
  finish(view: ThreadView, end: ThreadEnd): Promise<void>;
  /** Writes no more. */
  close(): void;
};

export type TurnPorts = {
  readonly service: Pick<AgentService, 'questions'>;
  readonly messages: SlackMessages;
  readonly values: ButtonValues;
  readonly stopping: AbortSignal;
  /** `marker`: of what is written; `isLate`: some of it may be there already; `stop`: the block with the button that stops the run. */
  readonly openWriter: (place: ThreadPlace, marker: string, isLate: boolean, stop?: JsonObject) => AnswerWriter;
};

/** Slack shows at most this many blocks in a message. */
const cardsMax = 40;

/** Rejects with `server_stopping` if the run is left to be continued later. */
export const showRun = async (
  ports: TurnPorts,
  { served, isLate }: FoundRun,
  place: ThreadPlace,
  caller: Caller,
): Promise<void> => {
  const { values } = ports;
  const stop = runButtons(values, served.run, ['stop']);
  const writer = ports.openWriter(place, values.mark('run', served.run), isLate, stop);
  try {
    await showWith(writer, ports, { served, isLate }, place, caller);
  } finally {
    // Whoever tries again opens another one.
    writer.close();
  }
};

const showWith = async (
  writer: AnswerWriter,
  ports: TurnPorts,
  { served, isLate }: FoundRun,
  place: ThreadPlace,
  caller: Caller,
): Promise<void> => {
  const { messages, values, stopping } = ports;
  const view = new RunThreadView(isLate);
  const before = (): Promise<void> => writer.pause();
  const cards = new QuestionCards({ ...ports, caller, address: place, isLate, before });
  let status: SessionStatus = 'processing';
  for await (const event of eventsUntil(served, stopping)) {
    view.next(event);
    writer.show(view.view(cardsMax));
    cards.next(event);
    const now = view.waitsForPeople ? 'suspended' : 'processing';
    if (now === status || !('id' in event)) continue;
    status = now;
    await messages.setStatus(place, status);
  }
  if (stopping.aborted) throw new CloisterError('server_stopping');
  const outcome = await served.outcome;
  view.finish(outcome);
  await cards.settle();
  const { text, cards: shown } = view.view(cardsMax);
  const whole = { text: withEnd(text, outcome, (await served.causes()) ?? []), cards: shown };
  const buttons = runButtons(values, served.run, ['retry', 'details', 'json']);
  await writer.finish(whole, { blocks: [buttons], status: 'active' });
};

const withEnd = (text: string, outcome: RunOutcome, causes: readonly Cause[]): string => {
  const note = endNote(outcome, causes);
  return note === '' ? text : text === '' ? note : `${text}\n\n${note}`;
};

const endNote = ({ status, failure }: RunOutcome, causes: readonly Cause[]): string => {
  if (status === 'completed') return '';
  if (status === 'cancelled') return 'Stopped.';
  const why = failureWithAdvice(clientFailure(failure ?? { code: 'defect' }, causes));
  return status === 'partial' ? `This answer is incomplete. ${why}` : `There is no answer. ${why}`;
};

const buttonTexts = { stop: 'Stop', retry: 'Retry', details: 'Details', json: 'JSON' } as const;

/** Buttons about a run. */
export const runButtons = (
  values: ButtonValues,
  run: string,
  names: readonly (keyof typeof buttonTexts)[],
): ReturnType<typeof actions> => {
  const value = values.ofRun(run);
  return actions(...names.map((name) => button({ action: `cloister_${name}`, text: buttonTexts[name], value })));
};
