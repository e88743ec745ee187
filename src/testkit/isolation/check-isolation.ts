// Checks non-interference of a user's agents by running them in many pairs: of calls, then of messages, then of the task graphs
// of each team.
import { AssertionError } from 'node:assert';
import type { Agent, VerifyDifference, VerifyReport } from '#contracts';
import { teamRoster } from '#core/orchestration';
import { CallPairs } from './call-pairs.ts';
import { checkPairs } from './check-pairs.ts';
import type { PairCheckOptions, PairCheckReport } from './check-pairs.ts';
import { GraphPairs } from './graph-pairs.ts';
import { MailPairs, spawnsOrMails } from './mail-pairs.ts';
import type { Subject } from './subject.ts';

/** How many pairs of runs to compare, and from which seed. */
export type IsolationOptions = {
  /** How many pairs of runs to compare; default 1,000. */
  readonly pairs?: number;
  /** The first seed; random by default. The same seed gives the same pairs. */
  readonly seed?: number;
  /** Compare records and events only in every nth pair; default 1: in every pair. It takes about as long as the runs. */
  readonly recordsEvery?: number;
  /** Stops after the current pair and reports the pairs so far. */
  readonly signal?: AbortSignal;
  /** Called now and then with the number of compared pairs. */
  readonly progress?: (pairs: number) => void;
};

/** `notes` lists what could not be checked. */
export type IsolationReport = VerifyReport & { readonly notes: readonly string[] };

const pairsDefault = 1_000;
const progressEvery = 50;
/** Enough to spawn most agents, and for each member of a team to do something. */
const pairsMin = 20;

/** `again` returns the call or command that runs these pairs again. */
export const checkIsolation = async (
  subject: Subject,
  options: IsolationOptions & { readonly again?: PairCheckOptions['again'] } = {},
): Promise<IsolationReport> => {
  const { pairs = pairsDefault, seed = freshSeed(), recordsEvery, signal, progress } = options;
  checkNumber('pairs', pairs, 1);
  checkNumber('seed', seed, 0);
  const again = options.again ?? ((from, count) => `verifyIsolation(workflow, { seed: ${from}, pairs: ${count} })`);
  const check: PairCheckOptions = {
    seed,
    pairs,
    recordsEvery,
    signal,
    again,
    progress: (done) => {
      if (done % progressEvery === 0) progress?.(done);
    },
  };
  const report = await checkAgent(subject, check);
  progress?.(report.pairs);
  return { ...report, agent: subject.agent.name, seed };
};

const checkNumber = (name: string, value: number, least: number): void => {
  if (!Number.isSafeInteger(value) || value < least)
    throw new TypeError(`${name}: expected a whole number, ${least} or more; got ${value}.`);
};

const freshSeed = (): number => Math.floor(Math.random() * 1e9);

/** `ok`: pairs of every kind were compared, and none differs. Pairs of one kind are no evidence for another kind. */
type KindReport = PairCheckReport & { readonly ok: boolean };
type CheckKind = (subject: Subject, options: PairCheckOptions) => Promise<KindReport>;

const checkAgent: CheckKind = async (subject, options) => {
  const { agent } = subject;
  if (agent.team !== null) return checkTeam(subject, options);
  const { pairs } = options;
  const half = { ...options, pairs: Math.max(pairsMin, Math.ceil(pairs / 2)) };
  let report = await checkCalls(subject, options);
  if (spawnsOrMails(agent)) report = await alsoCheck(report, subject, afterCalls(half, options), checkMail);
  for (const team of teamsBelow(agent))
    report = await alsoCheck(report, memberOf(subject, team), repeatingAll(half, options), checkTeam);
  return report;
};

/** The task graphs of a team, and then each member that has agents of its own. */
const checkTeam: CheckKind = async (subject, options) => {
  const { pairs } = options;
  const quarter = repeatingAll({ ...options, pairs: Math.max(pairsMin, Math.ceil(pairs / 4)) }, options);
  let report = await checkGraphs(subject, options);
  for (const member of teamRoster(subject.agent.team!))
    // Messages within the team are part of the graph pairs.
    if (member.children.agents.length > 0 || member.children.spawns !== null)
      report = await alsoCheck(report, memberOf(subject, member), quarter, checkAgent);
  return report;
};

/** One pair of messages is the first one after one pair of calls; more than that take as many calls as before. */
const afterCalls = (half: PairCheckOptions, { again, seed, pairs }: PairCheckOptions): PairCheckOptions => ({
  ...half,
  again: (from, count) => (count === 1 ? again(from, 1) : again(seed, pairs)),
});

/** What is checked after other pairs is reproduced only by repeating all of them. */
const repeatingAll = (options: PairCheckOptions, { again, seed, pairs }: PairCheckOptions): PairCheckOptions => ({
  ...options,
  again: () => again(seed, pairs),
});

const memberOf = ({ input: _input, ...subject }: Subject, agent: Agent): Subject => ({ ...subject, agent });

const teamsBelow = (agent: Agent): readonly Agent[] => {
  const all = new Set(agent.children.agents);
  for (const one of all) for (const child of one.children.agents) all.add(child);
  return [...all].filter(({ team }) => team !== null);
};

/** Adds another kind of pairs, unless a difference was found or the user has had enough. */
const alsoCheck = async (
  before: KindReport,
  subject: Subject,
  options: PairCheckOptions,
  check: CheckKind,
): Promise<KindReport> => {
  const { signal, progress } = options;
  const isAborted = (): boolean => signal?.aborted === true;
  if (before.differences.length > 0 || isAborted()) return before;
  const more = await check(subject, { ...options, progress: (done) => progress(before.pairs + done) });
  return {
    pairs: before.pairs + more.pairs,
    sights: before.sights + more.sights,
    bytes: before.bytes + more.bytes,
    differences: more.differences,
    notes: [...new Set([...before.notes, ...more.notes])],
    ok: before.ok && (more.ok || (isAborted() && more.differences.length === 0)),
  };
};

const checkCalls: CheckKind = async (subject, options) => {
  const pairs = new CallPairs(subject, options.recordsEvery);
  const { all, root, notes } = pairs.tree;
  const isAlone = all.length === 1 && !spawnsOrMails(root.own);
  return withNotes(await checkPairs(pairs, options), [
    ...notes,
    ...(isAlone ? [`"${root.agent.name}" calls no other agents, so only its caller is compared.`] : []),
  ]);
};

const checkMail: CheckKind = async (subject, options) => {
  const pairs = new MailPairs(subject);
  const report = await checkPairs(pairs, options, 'such pairs');
  return withNotes(report, [pairs.note(report.pairs)]);
};

const checkGraphs: CheckKind = async (subject, options) => {
  const pairs = new GraphPairs(subject, options.recordsEvery);
  const report = await checkPairs(pairs, options);
  return withNotes(report, [...pairs.team.notes, ...(report.pairs === 0 ? [] : [pairs.note()])]);
};

const withNotes = (report: PairCheckReport, notes: readonly string[]): KindReport => ({
  ...report,
  notes: [...notes, ...report.notes],
  ok: report.pairs > 0 && report.differences.length === 0,
});

// ---- as an assertion

/** Throws unless pairs were compared and none differed. */
export const assertIsolated = (report: IsolationReport): IsolationReport => {
  const [difference] = report.differences;
  if (difference !== undefined)
    throw new AssertionError({
      message: differenceText(difference),
      actual: difference.other,
      expected: difference.one,
      operator: 'expectIsolated',
    });
  if (!report.ok)
    throw new AssertionError({
      message: ['No pair could be compared, so nothing was verified.', ...report.notes].join('\n  '),
      operator: 'expectIsolated',
    });
  return report;
};

const differenceText = ({ sink, offset, one, other, varied, shortest, again }: VerifyDifference): string =>
  [
    `Private content of ${varied} reaches another cell.`,
    `  seen by:   ${sink}, at character ${offset}`,
    `  one run:   …${JSON.stringify(one)}`,
    `  the other: …${JSON.stringify(other)}`,
    `  shortest:  ${shortest}`,
    `  reproduce: ${again}`,
  ].join('\n');
