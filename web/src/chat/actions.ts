// What can be done to a run from the chat.
import { signal } from '@preact/signals';
import type { Checkpoint } from '#contracts';
import { address, go } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import type { SourceProblem } from '../source.ts';
import { source } from '../state.ts';
import { readConversations } from './context.ts';
import { takeBack, waitsFor } from './outbox.ts';

/** Runs that this page has asked to stop. */
export const stopped = signal<ReadonlySet<string>>(new Set());
/** What is being done, by its name and run, such as `retry r1`. */
export const busy = signal<string | null>(null);
export const actionProblem = signal<{ readonly run: string; readonly error: Error } | null>(null);

const act = async (name: string, run: string, work: () => Promise<void>): Promise<void> => {
  if (busy.peek() !== null) return;
  busy.value = `${name} ${run}`;
  actionProblem.value = null;
  try {
    await work();
  } catch (error) {
    actionProblem.value = { run, error: error as Error };
  } finally {
    busy.value = null;
  }
};

const runPath = (run: string, rest: string): string => `/runs/${encodeURIComponent(run)}/${rest}`;

/** Nothing starts afterwards: a message that waits for its turn is taken back. */
export const stopRun = (run: string): Promise<void> =>
  act('stop', run, async () => {
    if (waitsFor.peek()?.why === 'turn') takeBack();
    stopped.value = new Set([...stopped.peek(), run]);
    try {
      await source.value.send('POST', runPath(run, 'cancel'));
    } catch (error) {
      stopped.value = new Set([...stopped.peek()].filter((one) => one !== run));
      // It ended before it was asked to.
      if ((error as SourceProblem).code !== 'cell_ended') throw error;
    }
  });

/** The same goal once more. The first run is kept. */
export const retryRun = (run: string, store: RunStore | null): Promise<void> =>
  act('retry', run, async () => {
    const started = await source.value
      .send<{ run: string }>('POST', runPath(run, 'retry'))
      .catch((error: SourceProblem) => forkAtStart(run, store, error));
    showRun(started.run);
  });

/** A server that cannot retry can fork where the run began. */
const forkAtStart = (run: string, store: RunStore | null, error: SourceProblem): Promise<{ run: string }> => {
  const root = store?.run === run ? store.view.cells.keys().next().value : undefined;
  if (error.status !== 404 || root === undefined) throw error;
  return source.value.send('POST', runPath(run, 'fork'), { at: root });
};

/** A new conversation that goes on after this turn. */
export const branchFrom = (run: string, agent: string): Promise<void> =>
  act('branch', run, async () => {
    const { checkpoints } = await source.value.get<{ checkpoints: readonly Checkpoint[] }>('/checkpoints', { run });
    const from = checkpoints[0] ?? (await source.value.send<Checkpoint>('POST', runPath(run, 'checkpoints'), {}));
    const path = `/checkpoints/${encodeURIComponent(from.id)}/branch`;
    const { conversation, run: goesOn } = await source.value.send<Continuation>('POST', path, {});
    void readConversations(agent);
    go({
      page: 'chat',
      agent: conversation?.agent ?? agent,
      ...(conversation === null ? {} : { conversation: conversation.name }),
      ...(goesOn === null ? {} : { run: goesOn }),
    });
  });

type Continuation = {
  readonly conversation: { readonly agent: string; readonly name: string } | null;
  readonly run: string | null;
};

/** A long-lived run ends once its current work is done. */
export const finishRun = (run: string): Promise<void> =>
  act('finish', run, () => source.value.send('POST', runPath(run, 'finish')));

/** A run that nobody works on goes on. */
export const resumeRun = (store: RunStore): Promise<void> =>
  act('resume', store.run, async () => {
    await source.value.send('POST', runPath(store.run, 'resume'));
    store.refresh();
  });

/** Another run in place of the shown one: what was selected in that one is not in this. */
export const showRun = (run: string): void => {
  const { agent, conversation, pane } = address.peek();
  go({
    page: 'chat',
    run,
    ...(agent === undefined ? {} : { agent }),
    ...(conversation === undefined ? {} : { conversation }),
    ...(pane === undefined ? {} : { pane }),
  });
};
