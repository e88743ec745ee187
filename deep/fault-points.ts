// Where faults can be put: every call by which a run, or the resume of one that was killed, changes its workspace.
import { readFileSync } from 'node:fs';
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

/** The process of a stage, under strace. */
export const runStage = async (
  subject: Subject,
  stage: Stage,
  workspace: string,
  strace?: readonly string[],
): Promise<Ended> => {
  const traced = strace === undefined ? {} : { strace };
  if (stage === 'run') return runSubject(subject, { does: 'run', workspace, by: 1, ...traced });
  await runSubject(subject, { does: 'run', workspace, by: 1, dieAfter: killedAt });
  return runSubject(subject, { does: 'go', workspace, by: 2, ...traced });
};

export const findPlaces = async (subject: Subject): Promise<readonly Place[]> => {
  const places: Place[] = [];
  for (const stage of stages) {
    const known = await namesOf(subject, stage);
    places.push(...(await countIn(subject, stage, namedCalls, known)));
    places.push(...(await countIn(subject, stage, unnamedCalls, [])));
  }
  return places;
};

/** What is given a name below a descriptor is not found by its path. */
const unnamedCalls = ['mkdir', 'rename'];
const namedCalls = diskCalls.filter((call) => !unnamedCalls.includes(call));

/** All that is ever made, relative to the folder of a case. Ids and names are counted, so every run makes the same. */
const namesOf = (subject: Subject, stage: Stage): Promise<readonly string[]> =>
  withFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    whole(await runStage(subject, stage, join(cwd, 'workspace'), openingArgs(out)));
    const made = new Set(['.', 'workspace', 'workspace/cloister.db-journal']);
    for (const { at, call } of parseTrace(readFileSync(out, 'utf8'))) {
      const path = at === 'exit' ? descriptorIn(call.result ?? '')?.path : undefined;
      if (path?.startsWith(`${cwd}/workspace/`) === true && call.args.includes('O_CREAT'))
        made.add(relative(cwd, path));
    }
    return [...made];
  });

const countIn = (
  subject: Subject,
  stage: Stage,
  calls: readonly string[],
  paths: readonly string[],
): Promise<readonly Place[]> =>
  withFolder(async (cwd) => {
    const out = join(cwd, 'trace');
    whole(await runStage(subject, stage, join(cwd, 'workspace'), countingArgs(out, calls, below(cwd, paths))));
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
