// SIGKILL, a full disk and a device error at every write, sync, truncation and rename that the reference run, or the resume of
// a killed run, makes in its workspace. Afterwards another process resumes without faults, and the result is judged.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { joinAll, findFaultSites, prepareKilledRun, runStage, stages } from './fault-points.ts';
import type { FaultSite, StageInputs } from './fault-points.ts';
import { judge } from './judge.ts';
import { randomFrom } from './random.ts';
import { readWitness, runSubject } from './run-subject.ts';
import type { SubjectExit } from './run-subject.ts';
import { faultArgs, wasInjected } from './strace.ts';
import type { Fault } from './strace.ts';
import { forEachCase, inCaseFolder, withTempFolder } from './trial.ts';
import type { Trial } from './trial.ts';

const kinds: readonly Fault[] = ['SIGKILL', 'ENOSPC', 'EIO'];

export type Case = FaultSite & { readonly fault: Fault };

export const faults: Trial = {
  name: 'faults',
  about: 'SIGKILL, ENOSPC and EIO at every write and sync of a run and of a resume',
  deadlineFraction: 0.8,
  needsStrace: true,
  run: (context) =>
    withTempFolder(async (killed) => {
      const made: StageInputs = { subject: context.subject, killed };
      await prepareKilledRun(context.subject, killed);
      const places = await findFaultSites(made);
      const order = shuffleCases(
        places.flatMap((place) => kinds.map((fault): Case => ({ ...place, fault }))),
        context.seed,
      );
      const chosen = context.case === null ? order : order.filter((one) => caseName(one) === context.case);
      const ends: CaseResult[] = [];
      await forEachCase(chosen, context, async (one) => {
        const { problems, folder } = await inCaseFolder(async (cwd) => {
          const { end, problems: seen } = await tryFault(made, cwd, one);
          ends.push({ case: one, end });
          return seen;
        });
        if (problems.length > 0)
          context.report({
            what: caseName(one),
            details: problems,
            rerun: context.rerunCommand(caseName(one)),
            folder,
          });
      });
      return { lines: reportLines(places, chosen, ends) };
    }),
};

type CaseResult = { readonly case: Case; readonly end: CaseEnd };

const isWrite = ({ point }: FaultSite): boolean => point.call === 'pwrite64';

/** Orders cases by the seed: plain writes, of which there are many, alternate with syncs and name changes. */
const shuffleCases = (cases: readonly Case[], seed: number): readonly Case[] => {
  const shuffled = randomFrom(seed, 'faults').shuffled(cases);
  const [writes, others] = [shuffled.filter(isWrite), shuffled.filter((one) => !isWrite(one))];
  const turns = Array.from({ length: Math.max(writes.length, others.length) }, (_, at) => [others[at], writes[at]]);
  return turns.flat().filter((one) => one !== undefined);
};

type CaseEnd = 'killed' | 'failed' | 'continued' | 'not reached';

const caseName = ({ stage, point, fault }: Case): string =>
  `${stage}/${point.call}/${point.nth}${point.paths.length > 0 ? '' : '/any'}/${fault}`;

const reportLines = (
  places: readonly FaultSite[],
  cases: readonly Case[],
  ends: readonly CaseResult[],
): readonly string[] => {
  const calls = stages.map((stage) => `${places.filter((place) => place.stage === stage).length} of a ${stage}`);
  const count = (end: CaseEnd): number => ends.filter((one) => one.end === end).length;
  const tried = ends.map((one) => one.case);
  const injected = kinds.map(
    (kind) => `${kind} ${ends.filter((one) => one.case.fault === kind && one.end !== 'not reached').length}`,
  );
  return [
    `calls: ${calls.join(', ')}; cases: ${formatShare(tried.filter(isWrite), cases.filter(isWrite))} at plain writes, ` +
      `${formatShare(tried.filter(isOther), cases.filter(isOther))} at syncs and other calls`,
    `injected: ${injected.join(', ')}; ${count('not reached')} were not reached`,
    `after an error ${count('failed')} processes failed with a clear error and ${count('continued')} continued; all were judged after a resume`,
  ];
};

const isOther = (one: Case): boolean => !isWrite(one);
const formatShare = (some: readonly unknown[], all: readonly unknown[]): string =>
  `${some.length} of ${all.length} (${Math.round((100 * some.length) / Math.max(1, all.length))} %)`;

/** Runs one case; returns how the process ended and what the judge finds after a resume. */
export const tryFault = async (
  made: StageInputs,
  cwd: string,
  { stage, point, fault }: Case,
): Promise<{ readonly end: CaseEnd; readonly problems: readonly string[] }> => {
  const workspace = join(cwd, 'workspace');
  const out = join(cwd, 'trace');
  const strace = faultArgs(out, { ...point, paths: joinAll(cwd, point.paths) }, fault);
  const faulted = await runStage(made, stage, cwd, strace);
  const end = classifyEnd(faulted, fault, wasInjected(readFileSync(out, 'utf8')));
  const problems = [...exitProblems(faulted, end)];
  const resumed = await runSubject(made.subject, { command: 'resume', workspace, processNo: 3 });
  if (resumed.report === null || resumed.stderr !== '')
    problems.push(
      `the resume exited with code ${resumed.code}${resumed.timedOut ? ' (it hung)' : ''}: ${resumed.stderr}`,
    );
  else problems.push(...judge(readWitness(workspace), resumed.report));
  return { end, problems };
};

const classifyEnd = ({ code, report, timedOut }: SubjectExit, fault: Fault, gave: boolean): CaseEnd => {
  if (fault === 'SIGKILL') return code === null && !timedOut ? 'killed' : 'not reached';
  if (!gave) return 'not reached';
  return report?.error == null ? 'continued' : 'failed';
};

/** A process hit by a disk error must end by itself, print nothing to stderr, and report the error. */
const exitProblems = ({ code, report, stderr, timedOut }: SubjectExit, end: CaseEnd): readonly string[] => {
  if (timedOut) return ['the process hung'];
  if (end === 'killed') return [];
  if (code !== 0 || report === null || stderr !== '')
    return [`the process exited with code ${code}: ${stderr || 'no output'}`];
  if (report.error !== null && report.error.code !== 'store_failed')
    return [`the process failed with ${report.error.code}: ${report.error.message}`];
  return [];
};
