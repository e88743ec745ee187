// Where faults can be injected: every call by which a run, or the resume of a killed run, changes its workspace.
import { cpSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Subject } from './build-subject.ts';
import { parseDescriptor, parseTrace } from './parse-trace.ts';
import { runSubject } from './run-subject.ts';
import type { SubjectExit } from './run-subject.ts';
import { countCalls, countingArgs, diskCalls, openingArgs } from './strace.ts';
import type { CallPoint } from './strace.ts';
import { withTempFolder } from './trial.ts';

export const stages = ['run', 'resume'] as const;
export type Stage = (typeof stages)[number];

/** The paths of the point are relative, because every case has its own folder. */
export type FaultSite = { readonly stage: Stage; readonly point: CallPoint };

/** Where a run is killed before its resume is tested: two children are working, and a payment is in flight. */
const killedAt = 'scribe: pay 1';

/** Prepares a folder with a run that was killed at `killedAt`. */
export const prepareKilledRun = async (subject: Subject, folder: string): Promise<void> => {
  const workspace = join(folder, 'workspace');
  const { code, stderr } = await runSubject(subject, { command: 'run', workspace, processNo: 1, dieAfter: killedAt });
  if (code !== null) throw new Error(`The reference run does not reach "${killedAt}": ${stderr}`);
};

/** What a stage needs: the program, and for a resume the folder of a killed run to copy. */
export type StageInputs = { readonly subject: Subject; readonly killed: string };

/** Runs the process of a stage in a new folder, under strace. */
export const runStage = (
  { subject, killed }: StageInputs,
  stage: Stage,
  cwd: string,
  strace: readonly string[],
): Promise<SubjectExit> => {
  const workspace = join(cwd, 'workspace');
  if (stage === 'run') return runSubject(subject, { command: 'run', workspace, processNo: 1, strace });
  cpSync(killed, cwd, { recursive: true });
  return runSubject(subject, { command: 'go', workspace, processNo: 2, strace });
};

export const findFaultSites = async (made: StageInputs): Promise<readonly FaultSite[]> => {
  const places: FaultSite[] = [];
  for (const stage of stages) {
    const known = await listCreatedFiles(made, stage);
    places.push(...(await countSites(made, stage, namedCalls, known)));
    places.push(...(await countSites(made, stage, unnamedCalls, [])));
  }
  return places;
};

/** strace does not match these by path, because their paths are given below a descriptor. */
const unnamedCalls = ['mkdir', 'rename'];
const namedCalls = diskCalls.filter((call) => !unnamedCalls.includes(call));

/** All files that are created, relative to the case folder. Ids and names are counted, so every run creates the same ones. */
const listCreatedFiles = (made: StageInputs, stage: Stage): Promise<readonly string[]> =>
  withTempFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    expectCompleted(await runStage(made, stage, cwd, openingArgs(out)));
    const names = new Set(['.', 'workspace', 'workspace/cloister.db-journal']);
    for (const { at, call } of parseTrace(readFileSync(out, 'utf8'))) {
      const path = at === 'exit' ? parseDescriptor(call.result ?? '')?.path : undefined;
      if (path?.startsWith(`${cwd}/workspace/`) === true && call.args.includes('O_CREAT'))
        names.add(relative(cwd, path));
    }
    return [...names];
  });

const countSites = (
  made: StageInputs,
  stage: Stage,
  calls: readonly string[],
  paths: readonly string[],
): Promise<readonly FaultSite[]> =>
  withTempFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    expectCompleted(await runStage(made, stage, cwd, countingArgs(out, calls, joinAll(cwd, paths))));
    return [...countCalls(readFileSync(out, 'utf8'))].flatMap(([call, times]) =>
      Array.from({ length: times }, (_, at): FaultSite => ({ stage, point: { call, nth: at + 1, paths } })),
    );
  });

export const joinAll = (cwd: string, paths: readonly string[]): readonly string[] =>
  paths.map((path) => join(cwd, path));

/** Throws unless the run completed without faults; otherwise there is nothing to test. */
const expectCompleted = ({ report, stderr }: SubjectExit): void => {
  if (report?.outcome?.status !== 'completed')
    throw new Error(`The reference run fails without any fault: ${stderr || JSON.stringify(report)}`);
};
