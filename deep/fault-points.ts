// Where faults can be put: every call by which a run, or the resume of one that was killed, changes its workspace.
import { cpSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Subject } from './build-subject.ts';
import { descriptorIn, parseTrace } from './parse-trace.ts';
import { runSubject } from './run-subject.ts';
import type { Ended } from './run-subject.ts';
import { countCalls, countingArgs, diskCalls, openingArgs } from './strace.ts';
import type { Point } from './strace.ts';
import { withFolder } from './trial.ts';

export const stages = ['run', 'resume'] as const;
export type Stage = (typeof stages)[number];

/** The paths of the point are relative: every case has a folder of its own. */
export type Place = { readonly stage: Stage; readonly point: Point };

/** Where a run is killed before its resume is looked at: two children are at work, and a payment is under way. */
const killedAt = 'scribe: pay 1';

/** A folder with a run that was killed there. */
export const makeKilled = async (subject: Subject, folder: string): Promise<void> => {
  const workspace = join(folder, 'workspace');
  const { code, stderr } = await runSubject(subject, { does: 'run', workspace, by: 1, dieAfter: killedAt });
  if (code !== null) throw new Error(`The reference run does not come to "${killedAt}": ${stderr}`);
};

/** What the process of a stage needs: the program, and for a resume a killed run to make a copy of. */
export type Stages = { readonly subject: Subject; readonly killed: string };

/** The process of a stage in a new folder, under strace. */
export const runStage = (
  { subject, killed }: Stages,
  stage: Stage,
  cwd: string,
  strace: readonly string[],
): Promise<Ended> => {
  const workspace = join(cwd, 'workspace');
  if (stage === 'run') return runSubject(subject, { does: 'run', workspace, by: 1, strace });
  cpSync(killed, cwd, { recursive: true });
  return runSubject(subject, { does: 'go', workspace, by: 2, strace });
};

export const findPlaces = async (made: Stages): Promise<readonly Place[]> => {
  const places: Place[] = [];
  for (const stage of stages) {
    const known = await namesOf(made, stage);
    places.push(...(await countIn(made, stage, namedCalls, known)));
    places.push(...(await countIn(made, stage, unnamedCalls, [])));
  }
  return places;
};

/** What is given a name below a descriptor is not found by its path. */
const unnamedCalls = ['mkdir', 'rename'];
const namedCalls = diskCalls.filter((call) => !unnamedCalls.includes(call));

/** All that is ever made, relative to the folder of a case. Ids and names are counted, so every run makes the same. */
const namesOf = (made: Stages, stage: Stage): Promise<readonly string[]> =>
  withFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    whole(await runStage(made, stage, cwd, openingArgs(out)));
    const names = new Set(['.', 'workspace', 'workspace/cloister.db-journal']);
    for (const { at, call } of parseTrace(readFileSync(out, 'utf8'))) {
      const path = at === 'exit' ? descriptorIn(call.result ?? '')?.path : undefined;
      if (path?.startsWith(`${cwd}/workspace/`) === true && call.args.includes('O_CREAT'))
        names.add(relative(cwd, path));
    }
    return [...names];
  });

const countIn = (
  made: Stages,
  stage: Stage,
  calls: readonly string[],
  paths: readonly string[],
): Promise<readonly Place[]> =>
  withFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    whole(await runStage(made, stage, cwd, countingArgs(out, calls, below(cwd, paths))));
    return [...countCalls(readFileSync(out, 'utf8'))].flatMap(([call, times]) =>
      Array.from({ length: times }, (_, at): Place => ({ stage, point: { call, nth: at + 1, paths } })),
    );
  });

export const below = (cwd: string, paths: readonly string[]): readonly string[] => paths.map((path) => join(cwd, path));

/** Without faults it must work; otherwise there is nothing to try. */
const whole = ({ said, stderr }: Ended): void => {
  if (said?.outcome?.status !== 'completed')
    throw new Error(`The reference run does not even work: ${stderr || JSON.stringify(said)}`);
};
