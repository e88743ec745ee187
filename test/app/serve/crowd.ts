// Many callers at once, over every protocol, whose questions differ only in a word: whoever is told another's word was crossed.
import { openCloister, openServer } from 'cloister';
import { crowdAgent, ownerOf, tokensFor, wordsIn } from './crowd-agent.ts';
import { Visitor } from './crowd-visitor.ts';
import { Newest } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import { drawFrom } from './drawn.ts';
import { overSocket } from './over-socket.ts';

export type CrowdOptions = {
  readonly callers: number;
  /** Requests that are waited for; those that are given up come on top. */
  readonly answers: number;
  readonly seed: number;
};

export type CrowdReport = {
  readonly answers: number;
  readonly aborted: number;
  readonly probed: number;
  readonly listed: number;
  /** How often each kind was asked, and each attempt was made. */
  readonly happened: Readonly<Record<string, number>>;
  /** Runs that were still under way when everybody had gone. */
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
    places: { running: 500, runningPerAgent: 500, waiting: 2 * callers },
    // Client and server share one thread here: on a busy machine the one may have to wait long for the other.
    limits: { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000, stallMs: 300_000, idleMs: 300_000 },
  });
  const { url } = await server.listen();
  const problems: string[] = [];
  const counts = { answers: 0, aborted: 0, probed: 0, listed: 0 };
  const happened: Record<string, number> = {};
  const crowd: Crowd = {
    fetch: server.fetch,
    runs: new Newest(),
    calls: new Newest(),
    sessions: new Newest(),
    isForgotten: async (run) => (await cloister.runs({ run })).length === 0,
    problem: (words) => void problems.push(words),
    happened: (what) => void (happened[what] = (happened[what] ?? 0) + 1),
  };
  const farAway: Crowd = { ...crowd, fetch: overSocket };

  const live = async (caller: number): Promise<Visitor> => {
    const draw = drawFrom(seed * 1_000_003 + caller);
    const visitor = new Visitor(caller, { token: tokens[caller]!.token, url }, draw);
    const share = Math.floor(answers / callers) + (caller < answers % callers ? 1 : 0);
    for (let done = 0; done < share;) {
      if (draw.chance(0.1)) {
        await visitor.giveUp(draw.chance(0.1) ? farAway : crowd);
        counts.aborted += 1;
        continue;
      }
      await visitor.ask(crowd, farAway);
      counts.answers += 1;
      done += 1;
      if (draw.chance(0.1)) counts.probed += await visitor.probe(crowd);
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
