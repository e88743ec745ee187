// Checks non-interference of a team: its task graphs, and then each member that has agents of its own.
import type { Agent, VerifyReport } from '#contracts';
import { teamRoster } from '#core/orchestration';
import type { PairCheckReport } from './check-pairs.ts';
import { checkGraphs } from './graph-check.ts';
import type { GraphOptions } from './graph-check.ts';
import type { Subject } from './subject.ts';

type TeamReport = VerifyReport & { readonly notes: readonly string[] };
type CheckMember = (subject: Subject, options: GraphOptions) => Promise<TeamReport>;

export const checkTeamIsolation = async (
  subject: Subject,
  options: GraphOptions,
  checkMember: CheckMember,
): Promise<TeamReport> => {
  const { seed, pairs, signal, again, progress } = options;
  const { input: _input, ...rest } = subject;
  let report = await checkGraphs(subject, options);
  let isShown = report.pairs > 0;
  for (const agent of teamRoster(subject.agent).filter(hasOwnAgents)) {
    if (report.differences.length > 0 || signal?.aborted === true) break;
    const before = report.pairs;
    const own = await checkMember(
      { ...rest, agent },
      {
        ...options,
        pairs: Math.max(memberPairsMin, Math.ceil(pairs / 4)),
        progress: (done) => progress(before + done),
        // The member is checked after the graphs, so only repeating everything reproduces it.
        again: () => again(seed, pairs),
      },
    );
    report = sum(report, own);
    isShown &&= own.ok || own.pairs > 0;
  }
  return { ...report, ok: isShown && report.differences.length === 0, agent: subject.agent.name, seed };
};

const memberPairsMin = 20;

/** Messages within the team are part of the graph pairs. */
const hasOwnAgents = ({ agents, spawns }: Agent): boolean => agents.length > 0 || spawns !== null;

const sum = (one: PairCheckReport, other: PairCheckReport): PairCheckReport => ({
  pairs: one.pairs + other.pairs,
  sights: one.sights + other.sights,
  bytes: one.bytes + other.bytes,
  differences: [...one.differences, ...other.differences],
  notes: [...new Set([...one.notes, ...other.notes])],
});

/** Also checks each team that the agent calls, directly or indirectly. */
export const withTeamsBelow = async (
  report: TeamReport,
  subject: Subject,
  options: GraphOptions,
  checkMember: CheckMember,
): Promise<TeamReport> => {
  const { signal, pairs } = options;
  const { input: _input, ...rest } = subject;
  let { ok } = report;
  let whole: PairCheckReport = report;
  for (const agent of teamsBelow(subject.agent)) {
    if (whole.differences.length > 0 || signal?.aborted === true) break;
    const half = { ...options, pairs: Math.max(memberPairsMin, Math.ceil(pairs / 2)) };
    const own = await checkTeamIsolation({ ...rest, agent }, half, checkMember);
    whole = sum(whole, own);
    ok &&= own.ok;
  }
  return { ...report, ...whole, ok };
};

const teamsBelow = (agent: Agent): readonly Agent[] => {
  const all = new Set(agent.agents);
  for (const one of all) for (const child of one.agents) all.add(child);
  return [...all].filter(({ team }) => team !== null);
};
