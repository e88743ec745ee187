// What all views of the page share.
import { computed, effect, signal } from '@preact/signals';
import { address } from './address.ts';
import { openRunStore } from './run-store.ts';
import type { RunStore } from './run-store.ts';
import type { AgentFacts, CallerQuestion, Me, Source, SourceProblem } from './source.ts';

/** Set once, before anything is drawn. */
export const source = signal<Source>(undefined as unknown as Source);
export const me = signal<Me | null>(null);
export const agents = signal<readonly AgentFacts[]>([]);
/** Questions that wait, of all runs that this person sees. */
export const questions = signal<readonly CallerQuestion[]>([]);
/** A problem that concerns the whole page: no token, a refused one. */
export const problem = signal<SourceProblem | null>(null);
/** Read out by screen readers. States only, never text that is being written. */
export const announcement = signal('');

/** The run that is shown; null: none is selected. */
export const run = signal<RunStore | null>(null);

/** Whether something can be started: there are agents, and this person may. */
export const mayAct = computed(() => me.value !== null && !me.value.watchOnly && !isKeptFile);

export const followRun = (): void => {
  effect(() => {
    const wanted = address.value.run ?? null;
    const shown = run.peek();
    if (shown?.run === wanted || (shown === null && wanted === null)) return;
    shown?.close();
    run.value = wanted === null ? null : openRunStore(source.peek(), wanted);
  });
};

/** Reads again which questions wait. */
export const readQuestions = async (): Promise<void> => {
  if (isKeptFile) return;
  const { questions: waiting } = await source.value.get<{ questions: readonly CallerQuestion[] }>('/questions');
  questions.value = waiting;
};
