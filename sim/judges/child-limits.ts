// A child gets no more than its parent has, and no more than its own definition allows.
import { withChildren } from '../agents.ts';
import { runFacts, pausedMs, waitedMs } from './facts.ts';
import type { Judge } from './judge.ts';

export const childLimits: Judge = {
  name: 'children inherit caps and deadlines',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
      for (const { birth, parent, createdIn } of runFacts(run).cells.values()) {
        const own = { ...plans.get(birth.agent)?.budget, ...(parent === null ? run.budget : {}) };
        const limits = {
          tokens: least(own.tokens, parent?.birth.caps.tokens),
          nanoUsd: least(own.usd === undefined ? undefined : Math.round(own.usd * 1e9), parent?.birth.caps.nanoUsd),
          spawns: least(own.spawns, parent?.birth.caps.spawns),
        };
        for (const key of ['tokens', 'nanoUsd', 'spawns'] as const) {
          checks++;
          if ((birth.caps[key] ?? Infinity) > limits[key])
            report(`at most ${limits[key]} ${key} for ${birth.cell}`, `${birth.caps[key]}`);
        }
        const createdAt = run.frames[createdIn]?.at ?? 0;
        const until = least(
          own.ms === undefined ? undefined : Math.max(1, createdAt + own.ms),
          parent === null || parent.birth.deadline === 0
            ? undefined
            : parent.birth.deadline + pausedMs(run, parent.createdIn, createdIn) + waitedMs(parent, createdIn),
        );
        if ((birth.deadline || Infinity) > until)
          report(`${birth.cell} to end by ${until}`, `${birth.deadline || 'no deadline'}`);
      }
    }
    return checks;
  },
};

const least = (one = Infinity, other = Infinity): number => Math.min(one, other);
