// One goal, over and over, on both loops: what a session takes on each.
import { openCloister } from 'cloister';
import type { Agent } from 'cloister';
import type { Line } from './benchmark.ts';
import { answered, compare, runEach, threadMs } from './measure.ts';
import type { Compared } from './measure.ts';
import { fastModel } from './models.ts';
import type { FastModel } from './models.ts';
import { runRaw } from './raw-loop.ts';
import type { RawAgent } from './raw-loop.ts';

export type Contest = {
  readonly agent: (model: FastModel) => Agent;
  readonly rawAgent: (model: FastModel) => RawAgent;
  readonly goal: string;
  /** How many sessions one sample has. */
  readonly times: number;
  readonly rounds: { readonly warm: number; readonly measured: number };
};

/** Milliseconds of one session. Both sides must ask the model equally often. */
export const sideBySide = async (contest: Contest, stream: 'bare' | 'piped' = 'bare'): Promise<Compared> => {
  const { goal, times, rounds } = contest;
  const [model, rawModel] = [fastModel({ stream }), fastModel({ stream })];
  const [agent, rawAgent] = [contest.agent(model), contest.rawAgent(rawModel)];
  const { raw, cloister, ratio } = await compare(rounds, {
    raw: () =>
      threadMs(async () => {
        for (let time = 0; time < times; time++) answered(await runRaw(rawAgent, goal));
      }),
    cloister: async () => {
      await using runtime = await openCloister({ store: 'memory', agents: [agent] });
      return await threadMs(() => runEach(runtime, agent.name, goal, times));
    },
  });
  if (model.requests !== rawModel.requests) throw new Error('The two loops did not ask the model equally often.');
  return { raw: raw / times, cloister: cloister / times, ratio };
};

/**
 * The promised ratio on a piped stream: providers of the AI SDK hand out streams that went through four pipes (text, events,
 * JSON, their own parts), so one is the least there is. The bare stream, which no provider makes, shows the loop alone.
 */
export const ratioLines = async (contest: Contest, atMost: number): Promise<readonly Line[]> => {
  const line = (what: string, { raw, cloister, ratio }: Compared, target: Line['target']): Line => ({
    what,
    unit: 'µs',
    raw: raw * 1_000,
    cloister: cloister * 1_000,
    figure: ratio,
    figureUnit: '×',
    target,
  });
  return [
    line('time of a run', await sideBySide(contest, 'piped'), { atMost }),
    line('… on a bare stream', await sideBySide(contest, 'bare'), null),
  ];
};
