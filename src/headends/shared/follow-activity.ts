// Reads a run for a chat front end, until it ends or needs something of its client.
//
//   activity-one-end. The last step is the only one with an end, whatever happens to the run, also if the server stops.
//   activity-once. A client that comes back with answers is told what has happened since it left: nothing twice, and nothing is lost.
import type {
  CallerQuestion,
  ClientCall,
  ClientFailure,
  ClientToolPause,
  RunEvent,
  RunOutcome,
  ServedRun,
} from '#contracts';
import { answerFromOutcome } from './answer.ts';
import { clientError } from './client-failure.ts';
import { RunActivityFold } from './run-activity-fold.ts';
import type { QuestionCall, RunActivity } from './run-activity.ts';

/** How the answer to one request ends. `frame`: the newest frame that the client was told of. */
export type ActivityEnd =
  /** `isWhole`: false if something kept the run from finishing. */
  | { readonly type: 'answer'; readonly outcome: RunOutcome; readonly isWhole: boolean }
  | { readonly type: 'asked'; readonly questions: readonly QuestionCall[]; readonly frame: number }
  | { readonly type: 'calls'; readonly calls: readonly ClientCall[]; readonly frame: number }
  | { readonly type: 'cancelled' }
  | { readonly type: 'failed'; readonly failure: ClientFailure };

/** `isKnown`: the client was told of it before; it is here for whoever needs to know what came before. */
type ActivityStep =
  | { readonly type: 'activity'; readonly activity: RunActivity; readonly isKnown: boolean }
  | { readonly type: 'end'; readonly end: ActivityEnd };

export type FollowActivity = {
  readonly steps: AsyncGenerator<ActivityStep>;
  readonly fold: RunActivityFold;
};

/** What the client knows already: everything up to a frame, or up to the answers to these questions. */
export type ClientPosition = { readonly frame: number } | { readonly questions: readonly string[] };

/** `known` is left out for a run that was started for this request. `isReplay`: everything is told, from the start. */
export const followActivity = (
  run: ServedRun,
  { known, isReplay = false }: { readonly known?: ClientPosition | undefined; readonly isReplay?: boolean } = {},
): FollowActivity => {
  const fold = new RunActivityFold(known !== undefined || isReplay);
  return { fold, steps: activitySteps(run, fold, isKnownBefore(known)) };
};

async function* activitySteps(
  run: ServedRun,
  fold: RunActivityFold,
  isKnown: (event: RunEvent) => boolean,
): AsyncGenerator<ActivityStep> {
  const reader = new InterruptibleReader(run);
  let [frame, wasKnown] = [-1, false];
  const step = (activity: RunActivity): ActivityStep => ({ type: 'activity', activity, isKnown: wasKnown });
  try {
    for await (const event of reader.events()) {
      const isNew = !isKnown(event);
      if (isNew && wasKnown) {
        // The stream before this one has ended them.
        for (const activity of fold.closeTexts()) yield step(activity);
        fold.resetUsage();
      }
      wasKnown = !isNew;
      if ('id' in event) frame = frameOf(event.id);
      for (const activity of fold.next(event)) yield step(activity);
    }
    wasKnown = false;
    const { stop } = reader;
    if (stop?.type === 'asked') {
      for (const activity of fold.closeTexts()) yield step(activity);
      yield { type: 'end', end: { type: 'asked', questions: fold.callsOf(stop.questions), frame } };
    } else if (stop?.type === 'calls') {
      for (const activity of fold.closeTexts()) yield step(activity);
      yield { type: 'end', end: { type: 'calls', calls: stop.pause.calls, frame } };
    } else {
      const outcome = await run.outcome;
      for (const activity of fold.finish(outcome.output)) yield step(activity);
      yield { type: 'end', end: await endOf(run, outcome) };
    }
  } catch (error) {
    for (const activity of fold.close()) yield { type: 'activity', activity, isKnown: false };
    yield { type: 'end', end: { type: 'failed', failure: clientError(error) } };
  }
}

const endOf = async (run: ServedRun, outcome: RunOutcome): Promise<ActivityEnd> => {
  if (outcome.status === 'cancelled') return { type: 'cancelled' };
  const { whole } = await answerFromOutcome(outcome, run);
  return { type: 'answer', outcome, isWhole: whole };
};

/** Throws nothing away: a frame number that cannot be read counts as the first. */
const frameOf = (id: string): number => Number(/\/(\d+)[a-z]*$/u.exec(id)?.[1] ?? 0);

const isKnownBefore = (known: ClientPosition | undefined): ((event: RunEvent) => boolean) => {
  if (known === undefined) return () => false;
  let isPast = false;
  return (event) => {
    if (isPast || !('id' in event)) return !isPast;
    isPast =
      'frame' in known
        ? frameOf(event.id) > known.frame
        : (event.type === 'ruling' || event.type === 'question-end') && known.questions.includes(event.question);
    return !isPast;
  };
};

type Stop =
  | { readonly type: 'asked'; readonly questions: readonly CallerQuestion[] }
  | { readonly type: 'calls'; readonly pause: ClientToolPause }
  | { readonly type: 'failed'; readonly error: unknown };

/** Reads the events of a run until it ends, or until its client is asked for something. */
class InterruptibleReader {
  readonly #run: ServedRun;
  /** The ids of the questions that were read. */
  readonly #seen = new Set<string>();
  stop: Stop | null = null;
  #wake: () => void = () => undefined;

  constructor(run: ServedRun) {
    this.#run = run;
  }

  async *events(): AsyncGenerator<RunEvent> {
    const iterator = this.#run.events()[Symbol.asyncIterator]();
    this.#listen();
    let pending: Promise<IteratorResult<RunEvent>> | null = null;
    try {
      for (;;) {
        pending ??= iterator.next();
        const next = await this.#nextOrStop(pending);
        if (next === 'stopped') break;
        pending = null;
        if (next.done === true) return;
        if (next.value.type === 'question') this.#seen.add(next.value.question);
        yield next.value;
      }
      if (this.stop?.type === 'failed') throw this.stop.error;
      yield* this.#rest(pending, iterator);
    } finally {
      pending?.catch(() => undefined);
      void iterator.return?.();
    }
  }

  #listen(): void {
    const run = this.#run;
    const stop = (reason: Stop): void => {
      this.stop ??= reason;
      this.#wake();
    };
    const fail = (error: unknown): void => stop({ type: 'failed', error });
    run.asked?.().then((questions) => stop({ type: 'asked', questions }), fail);
    run.pause?.().then((pause) => (pause === null ? undefined : stop({ type: 'calls', pause })), fail);
    // The server stops: the run continues later, without this reader.
    run.outcome.catch(fail);
  }

  /** One listener at a time: a race against a promise that stays pending for long would collect one for each event. */
  #nextOrStop(next: Promise<IteratorResult<RunEvent>>): Promise<IteratorResult<RunEvent> | 'stopped'> {
    return new Promise((resolve, reject) => {
      const wake = (): void => resolve('stopped');
      this.#wake = wake;
      if (this.stop !== null) wake();
      else next.then(resolve, reject);
    });
  }

  /** What has happened before the client was asked and is not read yet; whatever is missed here is told with the next answer. */
  async *#rest(first: Promise<IteratorResult<RunEvent>>, iterator: AsyncIterator<RunEvent>): AsyncGenerator<RunEvent> {
    const missing = new Set(this.#askedIds().filter((id) => !this.#seen.has(id)));
    for (let next = first; ; next = iterator.next()) {
      next.catch(() => undefined);
      const found = await (missing.size > 0 ? next : Promise.race([next, idle()]));
      if (found === undefined || found.done === true) return;
      if (found.value.type === 'question') missing.delete(found.value.question);
      yield found.value;
    }
  }

  #askedIds(): readonly string[] {
    if (this.stop?.type === 'asked') return this.stop.questions.map(({ id }) => id);
    return this.stop?.type === 'calls' ? this.stop.pause.calls.map(({ id }) => id) : [];
  }
}

/** After everything that is due now. */
const idle = async (): Promise<undefined> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
};
