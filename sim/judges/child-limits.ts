// A child gets no more than its parent has, and no more than its own definition allows. A spawned one has at most the limits that
// the definitions of the agents above it set.
import type { AgentDefinition, Limits } from '#contracts';
import type { Hash } from '#base';
import { withChildren } from '../agents.ts';
import { askedMs } from './asked-time.ts';
import { runFacts, pausedMs, waitedMs } from './facts.ts';
import { recordedArgs } from './mail-walk.ts';
import type { Judge, ReportProblem } from './judge.ts';
import type { RunHistory } from '../history.ts';
import type { CellFacts } from './facts.ts';
import type { AgentPlan } from '../plan.ts';

// invariants: child-caps-from-definitions, started-agent-recorded
export const childLimits: Judge = {
  name: 'children inherit caps and deadlines',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
      const definitions = new Map<Hash, AgentDefinition>();
      for (const { definitions: some = [] } of run.frames)
        for (const { digest, definition } of some) definitions.set(digest, definition);
      for (const cell of runFacts(run).cells.values()) {
        const { birth, parent, createdIn } = cell;
        const inherited = Object.entries(inheritedLimits(plans, cell)) as [keyof Limits, number][];
        const actual = definitions.get(birth.digest)?.limits ?? {};
        for (const [key, most] of inherited) {
          checks++;
          const value = inEffect(actual, key);
          if (value > most) report(`at most ${most} ${key} for ${birth.cell}, as its parent sets`, `${value}`);
        }
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
            : parent.birth.deadline +
                pausedMs(run, parent.createdIn, createdIn) +
                waitedMs(parent, createdIn) +
                askedMs(parent, createdIn),
        );
        if ((birth.deadline || Infinity) > until)
          report(`${birth.cell} to end by ${until}`, `${birth.deadline || 'no deadline'}`);
      }
      checks += judgeShorterCalls(run, definitions, report);
    }
    return checks;
  },
};

/** Who asks for less time in its call gets an agent with at most that. */
const judgeShorterCalls = (
  run: RunHistory,
  definitions: ReadonlyMap<Hash, AgentDefinition>,
  report: ReportProblem,
): number => {
  let checks = 0;
  const cells = [...runFacts(run).cells.values()];
  for (const { cell, no, record } of run.frames) {
    if (record.type !== 'post' || record.name !== 'tool:spawn_agent') continue;
    const most = recordedArgs(record.about)?.['timeout_ms'];
    const name = /sub_agent_id\W+([\w.:-]+)/u.exec(JSON.stringify(record.value ?? null))?.[1];
    const child = cells.findLast(
      ({ birth, createdIn }) => birth.parent === cell && birth.spawned?.name === name && createdIn < no,
    );
    if (typeof most !== 'number' || name === undefined || child === undefined) continue;
    checks++;
    const value = definitions.get(child.birth.digest)?.limits.timeout_ms ?? defaults.timeout_ms!;
    if (value > most) report(`at most ${most} ms for ${child.birth.cell}, as its caller asked`, `${value}`);
  }
  return checks;
};

/** A request to a model takes no longer than its agent has. */
const inEffect = (limits: Limits, key: keyof Limits): number => {
  const value = limits[key] ?? defaults[key] ?? Infinity;
  return key === 'llmTimeout' ? Math.min(value, limits.timeout_ms ?? Infinity) : value;
};

/** The defaults of a child, where it has one. */
const defaults: Limits = {
  max_steps: 20,
  max_tokens_per_step: 2_000,
  max_output_files: 10,
  max_output_size_bytes: 1_000_000,
  timeout_ms: 600_000,
  mailTimeout: 600_000,
  maxToolTurns: 10,
  llmTimeout: 120_000,
  toolTimeout: 60_000,
  maxRetries: 2,
  maxToolCallsPerTurn: 50,
  parallelToolCalls: 4,
  maxHops: 100,
  answersPerMinute: 60,
};

/** What the agents that spawned a cell, one after another, set in their plans; an agent that is called inherits nothing. */
export const inheritedLimits = (
  plans: ReadonlyMap<string, AgentPlan>,
  { birth, parent }: Pick<CellFacts, 'birth' | 'parent'>,
): Limits => {
  if (birth.spawned === undefined || parent === null) return {};
  const set: Limits = plans.get(parent.birth.agent)?.limits ?? {};
  const above = inheritedLimits(plans, parent);
  const keys = [...new Set([...Object.keys(set), ...Object.keys(above)])] as (keyof Limits)[];
  return Object.fromEntries(keys.map((key) => [key, least(set[key], above[key])]));
};

const least = (one = Infinity, other = Infinity): number => Math.min(one, other);
