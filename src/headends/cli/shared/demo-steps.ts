// The steps of the demo's team on both sides: who replied, what the reply called, and whether its prompt showed the secret.
import type { DurableEvent, ShownPart, Transcript } from '#contracts';
import type { DemoTeam, PlainRun } from './cli-world.ts';

/** One reply of a model. */
export type DemoStep = {
  readonly agent: string;
  readonly calls: readonly string[];
  readonly sawSecret: boolean;
  /** Why something that it called did not happen. */
  readonly stopped: string | null;
};

/** The same step on both sides; null: it was not taken there. */
export type StepPair = {
  readonly agent: string;
  readonly calls: readonly string[];
  readonly plain: DemoStep | null;
  readonly cloister: DemoStep | null;
};

export const plainSteps = ({ requests }: PlainRun, { secret }: DemoTeam): readonly DemoStep[] =>
  requests.map(({ agent, prompt, calls }) => ({
    agent,
    calls,
    sawSecret: prompt.includes(secret),
    stopped: null,
  }));

type Refusal = DurableEvent & { readonly type: 'crossing-refused' };

/** `prompt`: the last one of the agent that was stopped, part by part. */
export const cloisterSteps = (
  { cells }: Transcript,
  refusals: readonly Refusal[],
  { secret }: DemoTeam,
): {
  readonly steps: readonly DemoStep[];
  readonly prompt: { readonly agent: string; readonly parts: readonly ShownPart[] };
} => {
  const entries = cells
    .flatMap(({ cell, agent, entries: all }) => all.map((entry) => ({ cell, agent, entry })))
    .toSorted((one, other) => one.entry.at - other.entry.at);
  const steps = entries.map(({ cell, agent, entry: { at, shown, said, results } }) => {
    const next = entries.find((one) => one.cell === cell && one.entry.at > at)?.entry.at ?? Infinity;
    const refusal = refusals.find((event) => event.cell === cell && event.at >= at && event.at < next);
    const failure = results.find(({ error }) => error !== null)?.error;
    return {
      agent,
      calls: said.flatMap((part) => (part.type === 'call' ? [part.tool] : [])),
      sawSecret: shown.some(({ text }) => text.includes(secret)),
      stopped: refusal?.reason ?? failure?.code ?? null,
    };
  });
  const stopped = entries[steps.findLastIndex((step) => step.stopped !== null)];
  const last = entries.findLast(({ cell }) => cell === stopped?.cell);
  return { steps, prompt: { agent: last?.agent ?? '', parts: last?.entry.shown ?? [] } };
};

/** In the order of the plain loop; what was done only in Cloister comes after the step of that agent before it. */
export const mergeSteps = (plain: readonly DemoStep[], cloister: readonly DemoStep[]): readonly StepPair[] => {
  const left = [...cloister];
  const pairs: StepPair[] = [];
  const takeExtra = (agent: string, until: DemoStep | null): void => {
    for (let at = nextOf(left, agent); at >= 0 && left[at] !== until; at = nextOf(left, agent)) {
      const [step] = left.splice(at, 1);
      pairs.push({ agent, calls: step!.calls, plain: null, cloister: step! });
    }
  };
  for (const step of plain) {
    const same = left.find((one) => isSameStep(one, step)) ?? null;
    if (same !== null) takeExtra(step.agent, same);
    if (same !== null) left.splice(left.indexOf(same), 1);
    pairs.push({ agent: step.agent, calls: step.calls, plain: step, cloister: same });
  }
  for (const { agent } of cloister) takeExtra(agent, null);
  return pairs;
};

const nextOf = (steps: readonly DemoStep[], agent: string): number => steps.findIndex((step) => step.agent === agent);

const isSameStep = (one: DemoStep, other: DemoStep): boolean =>
  one.agent === other.agent && one.calls.join() === other.calls.join();
