// Checks non-interference of a user's agents by running them in many pairs.
import type { VerifyReport } from '#contracts';
import { checkMail, spawnsOrMails } from './check-mail.ts';
import { checkPairs, nothingVaried } from './check-pairs.ts';
import type { DifferenceFound, PairCheckOptions, PairCheckReport } from './check-pairs.ts';
import { Pairs } from './compare-pair.ts';
import type { PairResult } from './compare-pair.ts';
import { describeCase, variedName } from './describe-case.ts';
import { checkTeamIsolation, withTeamsBelow } from './graph-team.ts';
import { IsolationSetup } from './isolation-setup.ts';
import { shortestCase } from './shortest-case.ts';
import type { Subject } from './subject.ts';

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

const checkNumber = (name: string, value: number, least: number): void => {
  if (!Number.isSafeInteger(value) || value < least)
    throw new TypeError(`${name}: expected a whole number, ${least} or more; got ${value}.`);
};

const pairsDefault = 1_000;
const progressEvery = 50;

/** `again` returns the call or command that runs these pairs again. */
export const checkIsolation = async (
  subject: Subject,
  options: IsolationOptions & { readonly again?: (seed: number, pairs: number) => string } = {},
): Promise<IsolationReport> => {
  const { pairs: wanted = pairsDefault, seed = freshSeed(), recordsEvery, signal, progress } = options;
  const again = options.again ?? ((from, count) => `verifyIsolation(workflow, { seed: ${from}, pairs: ${count} })`);
  checkNumber('pairs', wanted, 1);
  checkNumber('seed', seed, 0);
  const reportProgress = (done: number): void => {
    if (done % progressEvery === 0) progress?.(done);
  };
  const graphs = { seed, pairs: wanted, recordsEvery, signal, progress: reportProgress, again };
  if (subject.agent.team !== null) return checkTeamIsolation(subject, graphs, checkIsolation);
  const setup = new IsolationSetup(subject);
  const pairs = new Pairs(setup, recordsEvery);
  const compared = await checkPairs(pairs, graphs, {
    explain: (found, at) => explain(pairs, found, at),
    noun: 'pairs',
  });
  progress?.(compared.pairs);
  const calls = { ...compared, notes: [...setupNotes(setup), ...compared.notes] };
  const { differences } = calls;
  const checksMail = spawnsOrMails(subject.agent) && differences.length === 0 && signal?.aborted !== true;
  const mail = checksMail ? await checkMail(subject, mailOptions(calls, { ...options, seed, again })) : null;
  const report = mail === null ? calls : addMailReport(calls, mail);
  // Pairs of one kind are no evidence for the other kind.
  const hasEvidence = calls.pairs > 0 && (mail === null || mail.pairs > 0 || signal?.aborted === true);
  const ok = report.differences.length === 0 && hasEvidence;
  const complete = { ...report, ok, agent: subject.agent.name, seed };
  return withTeamsBelow(complete, subject, { ...graphs, again: () => again(seed, wanted) }, checkIsolation);
};

/** Half as many more, but enough to spawn most agents. */
const mailOptions = (
  calls: PairCheckReport,
  { seed, again, signal, progress, pairs = pairsDefault }: IsolationOptions & Pick<PairCheckOptions, 'seed' | 'again'>,
): PairCheckOptions => ({
  seed,
  pairs: Math.max(mailPairsMin, Math.ceil(pairs / 2)),
  signal,
  progress: (done) => {
    if (done % progressEvery === 0) progress?.(calls.pairs + done);
  },
  again,
});

const mailPairsMin = 20;

const addMailReport = (calls: PairCheckReport, mail: PairCheckReport): PairCheckReport => ({
  pairs: calls.pairs + mail.pairs,
  sights: calls.sights + mail.sights,
  bytes: calls.bytes + mail.bytes,
  differences: mail.differences,
  notes: [...calls.notes, ...mail.notes],
});

const explain = async (pairs: Pairs, found: PairResult, at: number): Promise<DifferenceFound> => {
  const { compared, seed, isAlone } = await shortestCase(pairs, found, at);
  const isSteady = await pairs.isReproducible(seed);
  return {
    ...compared.difference!,
    varied: isSteady ? variedName(compared) : nothingVaried,
    shortest: describeCase(compared),
    // A difference that shows only after other runs is reproduced by repeating all of them.
    seed: isAlone ? seed : null,
    isProof: true,
  };
};

const setupNotes = ({ tree }: IsolationSetup): readonly string[] => [
  ...tree.notes,
  ...(tree.all.length > 1 || spawnsOrMails(tree.root.own)
    ? []
    : [`"${tree.root.agent.name}" calls no other agents, so only its caller is compared.`]),
];

const freshSeed = (): number => Math.floor(Math.random() * 1e9);
