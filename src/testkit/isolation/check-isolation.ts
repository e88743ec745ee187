// Non-interference of a user's agents, shown by running them twice, again and again.
import type { VerifyDifference, VerifyReport } from '#contracts';
import { checkTalk, talks } from './check-mail.ts';
import type { TalkOptions, TalkReport } from './check-mail.ts';
import { Pairs } from './compare-pair.ts';
import type { PairResult } from './compare-pair.ts';
import { describeCase, variedName } from './describe-case.ts';
import { checkTeamIsolation, withTeamsBelow } from './graph-team.ts';
import { IsolationSetup } from './isolation-setup.ts';
import { shortestCase } from './shortest-case.ts';
import type { Subject } from './subject.ts';

export type IsolationOptions = {
  /** How many pairs of runs are compared; default 1,000. */
  readonly pairs?: number;
  /** Where the pairs come from; a fresh one unless given. The same seed gives the same pairs. */
  readonly seed?: number;
  /** Compare what the log and its clients tell in one pair of so many; default 1: in all. It takes about as long as the runs. */
  readonly recordsEvery?: number;
  /** Stop after the pair that is under way, and report what was tried. */
  readonly signal?: AbortSignal;
  /** Told now and then how many pairs have been compared. */
  readonly progress?: (pairs: number) => void;
};

/** What was found, and what could not be looked at. */
export type IsolationReport = VerifyReport & { readonly notes: readonly string[] };

const checkNumber = (name: string, value: number, least: number): void => {
  if (!Number.isSafeInteger(value) || value < least)
    throw new TypeError(`${name}: expected a whole number, ${least} or more; got ${value}.`);
};

const pairsDefault = 1_000;
const progressEvery = 50;

/** `again`: how a person runs these pairs again. */
export const checkIsolation = async (
  subject: Subject,
  options: IsolationOptions & { readonly again?: (seed: number, pairs: number) => string } = {},
): Promise<IsolationReport> => {
  const { pairs: wanted = pairsDefault, seed = freshSeed(), recordsEvery, signal, progress } = options;
  const again = options.again ?? ((from, count) => `verifyIsolation(workflow, { seed: ${from}, pairs: ${count} })`);
  checkNumber('pairs', wanted, 1);
  checkNumber('seed', seed, 0);
  const told = (done: number): void => {
    if (done % progressEvery === 0) progress?.(done);
  };
  const graphs = { seed, pairs: wanted, recordsEvery, signal, progress: told, again };
  if (subject.agent.team !== null) return checkTeamIsolation(subject, graphs, checkIsolation);
  const scene = new IsolationSetup(subject);
  const pairs = new Pairs(scene, recordsEvery);
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  const differences: VerifyDifference[] = [];
  // Some pairs cannot be compared; then the next seed is tried.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted + 64; at++) {
    if (signal?.aborted === true) break;
    const compared = await pairs.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.sights;
    seen.bytes += compared.bytes;
    if (seen.pairs % progressEvery === 0) progress?.(seen.pairs);
    if (compared.difference === null) continue;
    const shortest = await shortestCase(pairs, compared, at);
    const isSteady = await pairs.isSteady(shortest.seed);
    // What shows only after other runs is shown by all of them again.
    const command = shortest.isAlone ? again(shortest.seed, 1) : again(seed, seen.pairs);
    differences.push(toldDifference(shortest.compared, isSteady, command));
    break;
  }
  progress?.(seen.pairs);
  const missed = differences.length > 0 ? [] : missedNote(seen.pairs, wanted, pairs.obstacle);
  const calls = { ...seen, differences, notes: [...notesOf(scene), ...missed] };
  const isTalk = talks(subject.agent) && differences.length === 0 && signal?.aborted !== true;
  const talk = isTalk ? await checkTalk(subject, talkOptions(calls, { ...options, seed, again })) : null;
  const report = talk === null ? calls : withTalk(calls, talk);
  // Neither kind of pair stands for the other.
  const isShown = calls.pairs > 0 && (talk === null || talk.pairs > 0 || signal?.aborted === true);
  const ok = report.differences.length === 0 && isShown;
  const shown = { ...report, ok, agent: subject.agent.name, seed };
  return withTeamsBelow(shown, subject, { ...graphs, again: () => again(seed, wanted) }, checkIsolation);
};

type Seen = TalkReport;

/** Half as many more, and never so few that hardly anybody is begun. */
const talkOptions = (
  calls: Seen,
  { seed, again, signal, progress, pairs = pairsDefault }: IsolationOptions & Pick<TalkOptions, 'seed' | 'again'>,
): TalkOptions => ({
  seed,
  pairs: Math.max(talkPairsMin, Math.ceil(pairs / 2)),
  signal,
  progress: (done) => {
    if (done % progressEvery === 0) progress?.(calls.pairs + done);
  },
  again,
});

const talkPairsMin = 20;

const withTalk = (calls: Seen, talk: TalkReport): Seen => ({
  pairs: calls.pairs + talk.pairs,
  sights: calls.sights + talk.sights,
  bytes: calls.bytes + talk.bytes,
  differences: talk.differences,
  notes: [...calls.notes, ...talk.notes],
});

const toldDifference = (compared: PairResult, isSteady: boolean, again: string): VerifyDifference => ({
  ...compared.difference!,
  varied: isSteady ? variedName(compared) : 'nothing (played again, the same run shows something else)',
  shortest: describeCase(compared),
  again,
});

const notesOf = ({ team }: IsolationSetup): readonly string[] => [
  ...team.notes,
  ...(team.parts.length > 1 || talks(team.root.own)
    ? []
    : [`"${team.root.agent.name}" calls no other agents: there is only its caller to compare.`]),
];

const missedNote = (compared: number, wanted: number, obstacle: string): readonly string[] =>
  compared >= wanted
    ? []
    : [`Only ${compared} of ${wanted} pairs were compared${obstacle === '' ? '' : `; of another, ${obstacle}`}.`];

const freshSeed = (): number => Math.floor(Math.random() * 1e9);
