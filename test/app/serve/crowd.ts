// Many concurrent callers over every protocol, whose questions differ only in a word: another caller's word in an answer is a leak.
import { openCloister, openServer } from 'cloister';
import { crowdAgent, ownerOf, tokensFor, wordsIn } from './crowd-agent.ts';
import { Visitor } from './crowd-visitor.ts';
import { RecentIds } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import { patientLimits } from '../../slow-machine.ts';
import { seededRng } from './seeded-rng.ts';
import { overSocket } from './over-socket.ts';

export type CrowdOptions = {
  readonly callers: number;
  /** Requests that are awaited; abandoned ones come on top. */
  readonly answers: number;
  readonly seed: number;
};

export type CrowdReport = {
  readonly answers: number;
  readonly aborted: number;
  readonly probed: number;
  readonly listed: number;
  /** How often each kind of request and each attempt was made. */
  readonly happened: Readonly<Record<string, number>>;
  /** Runs that were still running when all callers had left. */
  readonly left: number;
  readonly problems: readonly string[];
};

export const runCrowd = async ({ callers, answers, seed }: CrowdOptions): Promise<CrowdReport> => {
  const tokens = tokensFor(callers);
  await using cloister = await openCloister({ agents: [crowdAgent()], store: 'memory' });
  const server = await openServer(cloister, {
    port: 0,
    tokens: tokens.map(({ entry }) => entry),
    clients: { tools: true },
    slots: { running: 500, runningPerAgent: 500, waiting: 2 * callers },
    limits: patientLimits({}),
  });
  const { url } = await server.listen();
  const problems: string[] = [];
  const counts = { answers: 0, aborted: 0, probed: 0, listed: 0 };
  const happened: Record<string, number> = {};
  const crowd: Crowd = {
    fetch: server.fetch,
    runs: new RecentIds(),
    calls: new RecentIds(),
    sessions: new RecentIds(),
    isForgotten: async (run) => (await cloister.runs({ run })).length === 0,
    reportProblem: (words) => void problems.push(words),
    count: (what) => void (happened[what] = (happened[what] ?? 0) + 1),
  };
  const farAway: Crowd = { ...crowd, fetch: overSocket };

  const live = async (caller: number): Promise<Visitor> => {
    const rng = seededRng(seed * 1_000_003 + caller);
    const visitor = new Visitor(caller, { token: tokens[caller]!.token, url }, rng);
    const share = Math.floor(answers / callers) + (caller < answers % callers ? 1 : 0);
    for (let done = 0; done < share;) {
      if (rng.chance(0.1)) {
        await visitor.giveUp(rng.chance(0.1) ? farAway : crowd);
        counts.aborted += 1;
        continue;
      }
      await visitor.ask(crowd, farAway);
      counts.answers += 1;
      done += 1;
      if (rng.chance(0.1)) counts.probed += await visitor.probe(crowd);
    }
    return visitor;
  };

  const visitors = await Promise.all(Array.from({ length: callers }, (_, caller) => live(caller)));
  const left = await server.stop();
  const kept = await cloister.runs();
  const under = kept.filter(({ state }) => state !== 'ended');
  const byOwner = Map.groupBy(kept, ({ goal }) => ownerOf(wordsIn(goal)[0] ?? ''));
  for (const [caller, visitor] of visitors.entries())
    counts.listed += await visitor.list(
      crowd,
      (byOwner.get(caller) ?? []).map(({ run }) => run),
    );
  return { ...counts, happened, left: left.length + under.length, problems };
};
