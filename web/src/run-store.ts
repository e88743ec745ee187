// One run on the page: its view, kept up to date.
//
//   store-once. Each recorded event is applied once, whatever is cut, reloaded or sent again: a stream continues after the last id.
// The page is drawn once a frame, however many events come.
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { RunEvent } from '#contracts';
import { applyEvent, cutLiveText, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import type { RunFacts, Source, SourceProblem } from './source.ts';

export type RunStore = {
  readonly run: string;
  /** Changed in place. Read `version` to be told. */
  readonly view: RunView;
  readonly version: Signal<number>;
  /** `loading`: what is recorded is still being read. `live`: events come as they happen. */
  readonly state: Signal<'loading' | 'live' | 'ended' | 'lost'>;
  /** What the server says of the whole run; read again when the run has ended. */
  readonly facts: Signal<RunFacts | null>;
  readonly problem: Signal<SourceProblem | null>;
  /** When the next try begins, in epoch milliseconds, while the server does not answer. */
  readonly retryAt: Signal<number | null>;
  /** Reads `facts` again. */
  refresh(): void;
  close(): void;
};

const firstRetryMs = 500;
const lastRetryMs = 8_000;
const hiddenDrawMs = 1_000;
const loadingDrawMs = 1_000;

export const openRunStore = (source: Source, run: string): RunStore => {
  const closing = new AbortController();
  const store = {
    run,
    view: newRunView(),
    version: signal(0),
    state: signal<'loading' | 'live' | 'ended' | 'lost'>('loading'),
    facts: signal<RunFacts | null>(null),
    problem: signal<SourceProblem | null>(null),
    retryAt: signal<number | null>(null),
    refresh: () => void readFacts(source, store).catch(() => undefined),
    close: () => closing.abort(),
  };
  void keepCurrent(source, store, closing.signal);
  return store;
};

/** Until the run has ended, or nothing more can be had. Ends when it is closed. */
const keepCurrent = async (source: Source, store: RunStore, closed: AbortSignal): Promise<void> => {
  const { run, view, state, facts, problem, retryAt } = store;
  const draw = frameDrawer(store);
  const apply = (event: RunEvent): void => {
    applyEvent(view, event);
    draw();
  };
  let waitMs = firstRetryMs;
  while (!closed.aborted) {
    const before = view.events;
    let isCut = false;
    try {
      await readFacts(source, store);
      await readRecorded(source, store, draw, closed);
      problem.value = null;
      state.value = facts.value?.endedAt == null ? 'live' : 'ended';
      cutLiveText(view);
      if (state.value === 'ended') return;
      await source.follow(run, view.lastId, apply, closed);
    } catch (error) {
      if (closed.aborted) return;
      problem.value = error as SourceProblem;
      if (!isPassing(error as SourceProblem)) {
        state.value = 'lost';
        return;
      }
      retryAt.value = Date.now() + waitMs;
      isCut = true;
    }
    // A run that nobody continues, or another process has, is looked at less and less often.
    if (view.events > before) waitMs = firstRetryMs;
    if (isCut || view.cells.values().next().value?.status == null) await pause(waitMs, closed);
    retryAt.value = null;
    waitMs = Math.min(lastRetryMs, waitMs * 2);
  }
};

const readFacts = async (source: Source, { run, facts }: RunStore): Promise<void> => {
  const read = await source.run(run);
  facts.value = read;
};

const readRecorded = async (
  source: Source,
  { run, view }: RunStore,
  draw: () => void,
  closed: AbortSignal,
): Promise<void> => {
  let drawnAt = performance.now();
  let drawn = view.events;
  for (;;) {
    const page = await source.eventPage(run, { after: view.lastId ?? undefined });
    for (const event of page.events) applyEvent(view, event);
    const isLast = page.next === null || closed.aborted;
    // A long run is shown while it is read, but not after each page: drawing it would take longer than reading it.
    if (view.events > drawn && (isLast || performance.now() - drawnAt > loadingDrawMs)) {
      draw();
      drawnAt = performance.now();
      drawn = view.events;
    }
    if (isLast) return;
  }
};

/** Draws once a frame, however often it is called. */
const frameDrawer = ({ version }: RunStore): (() => void) => {
  let isWaiting = false;
  const draw = (): void => {
    isWaiting = false;
    version.value++;
  };
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    // A tab in the background draws no frames.
    if (document.hidden) setTimeout(draw, hiddenDrawMs);
    else requestAnimationFrame(draw);
  };
};

/** Whether it may be over soon: the server is away, busy or restarting. */
const isPassing = ({ code, status }: SourceProblem): boolean =>
  code === 'offline' || status === 429 || status === 502 || status === 503 || status === 504;

const pause = (ms: number, closed: AbortSignal): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  closed.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  });
  // A laptop that wakes up, or is online again, tries at once.
  const wake = (): void => resolve();
  addEventListener('online', wake, { once: true });
  return promise.finally(() => removeEventListener('online', wake));
};
