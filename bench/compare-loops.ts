// Runs one goal repeatedly on both loops and compares the cost of a session.
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import type { Line } from './benchmark.ts';
import { expectAnswer, compare, runSequentially, threadMs } from './measure.ts';
import type { Comparison } from './measure.ts';
import { fastModel } from './models.ts';
import type { FastModel } from './models.ts';
import { runRaw } from './raw-loop.ts';
import type { RawAgent } from './raw-loop.ts';

export type LoopPair = {
  readonly agent: (model: FastModel) => Agent;
  readonly rawAgent: (model: FastModel) => RawAgent;
  readonly goal: string;
  /** Sessions per sample. */
  readonly times: number;
  readonly rounds: { readonly warm: number; readonly measured: number };
};

/** Milliseconds per session. Both sides must call the model equally often. */
export const compareLoops = async (pair: LoopPair, stream: 'bare' | 'piped' = 'bare'): Promise<Comparison> => {
  const { goal, times, rounds } = pair;
  const [model, rawModel] = [fastModel({ stream }), fastModel({ stream })];
  const [agent, rawAgent] = [pair.agent(model), pair.rawAgent(rawModel)];
  const { raw, cloister, ratio } = await compare(rounds, {
    raw: () =>
      threadMs(async () => {
        for (let time = 0; time < times; time++) expectAnswer(await runRaw(rawAgent, goal));
      }),
    cloister: async () => {
      await using runtime = await openCloister({ store: 'memory', agents: [agent] });
      return await threadMs(() => runSequentially(runtime, agent.name, goal, times));
    },
  });
  if (model.requests !== rawModel.requests) throw new Error('The two loops did not call the model equally often.');
  return { raw: raw / times, cloister: cloister / times, ratio };
};

/**
 * The target applies to a piped stream: streams of AI SDK providers pass through four pipes (text, events, JSON, their own
 * parts), so one pipe is the minimum. The bare stream, which no provider produces, shows the loop alone.
 */
export const ratioLines = async (pair: LoopPair, atMost: number): Promise<readonly Line[]> => {
  const line = (what: string, { raw, cloister, ratio }: Comparison, target: Line['target']): Line => ({
    what,
    unit: 'µs',
    raw: raw * 1_000,
    cloister: cloister * 1_000,
    figure: ratio,
    figureUnit: '×',
    target,
  });
  return [
    line('time per run', await compareLoops(pair, 'piped'), { atMost }),
    line('… on a bare stream', await compareLoops(pair, 'bare'), null),
  ];
};
