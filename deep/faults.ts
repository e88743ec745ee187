// SIGKILL, a full disk and an error of the device at every write, sync, truncation and change of a name that the reference
// run, or the resume of a killed one, makes in its workspace. Afterwards another process goes on without faults, and what is
// left is judged.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { below, findPlaces, makeKilled, runStage, stages } from './fault-points.ts';
import type { Place, Stages } from './fault-points.ts';
import { judge } from './judge.ts';
import { randomFrom } from './random.ts';
import { readWitness, runSubject } from './run-subject.ts';
import type { Ended } from './run-subject.ts';
import { faultArgs, gaveError } from './strace.ts';
import type { Fault } from './strace.ts';
import { eachCase, inFolder, withFolder } from './trial.ts';
import type { Trial } from './trial.ts';

const kinds: readonly Fault[] = ['SIGKILL', 'ENOSPC', 'EIO'];

export type Case = Place & { readonly fault: Fault };

export const faults: Trial = {
  name: 'faults',
  about: 'SIGKILL, ENOSPC and EIO at every write and sync of a run and of a resume',
  untilPart: 0.8,
  needsStrace: true,
  run: (setting) =>
    withFolder(async (killed) => {
      const made: Stages = { subject: setting.subject, killed };
      await makeKilled(setting.subject, killed);
      const places = await findPlaces(made);
      const order = inOrder(
        places.flatMap((place) => kinds.map((fault): Case => ({ ...place, fault }))),
        setting.seed,
      );
      const chosen = setting.case === null ? order : order.filter((one) => nameOf(one) === setting.case);
      const ends: Tried[] = [];
      await eachCase(chosen, setting, async (one) => {
        const { problems, folder } = await inFolder(async (cwd) => {
          const { end, problems: seen } = await tryFault(made, cwd, one);
          ends.push({ case: one, end });
          return seen;
        });
        if (problems.length > 0)
          setting.found({ what: nameOf(one), details: problems, again: setting.again(nameOf(one)), left: folder });
      });
      return { tried: figures(places, chosen, ends) };
    }),
};

type Tried = { readonly case: Case; readonly end: End };

const isWrite = ({ point }: Place): boolean => point.call === 'pwrite64';

/** In an order from the seed: plain writes, of which there are many, take turns with syncs and changes of names. */
const inOrder = (cases: readonly Case[], seed: number): readonly Case[] => {
  const shuffled = randomFrom(seed, 'faults').shuffled(cases);
  const [writes, others] = [shuffled.filter(isWrite), shuffled.filter((one) => !isWrite(one))];
  const turns = Array.from({ length: Math.max(writes.length, others.length) }, (_, at) => [others[at], writes[at]]);
  return turns.flat().filter((one) => one !== undefined);
};

type End = 'killed' | 'failed' | 'went on' | 'not reached';

const nameOf = ({ stage, point, fault }: Case): string =>
  `${stage}/${point.call}/${point.nth}${point.paths.length > 0 ? '' : '/any'}/${fault}`;

const figures = (places: readonly Place[], cases: readonly Case[], ends: readonly Tried[]): readonly string[] => {
  const calls = stages.map((stage) => `${places.filter((place) => place.stage === stage).length} of a ${stage}`);
  const count = (end: End): number => ends.filter((one) => one.end === end).length;
  const tried = ends.map((one) => one.case);
  const injected = kinds.map(
    (kind) => `${kind} ${ends.filter((one) => one.case.fault === kind && one.end !== 'not reached').length}`,
  );
  return [
    `calls: ${calls.join(', ')}; cases: ${part(tried.filter(isWrite), cases.filter(isWrite))} at plain writes, ` +
      `${part(tried.filter(isOther), cases.filter(isOther))} at syncs and other calls`,
    `injected: ${injected.join(', ')}; ${count('not reached')} were not reached`,
    `after an error ${count('failed')} processes failed in clear words and ${count('went on')} went on; all were judged after a resume`,
  ];
};

const isOther = (one: Case): boolean => !isWrite(one);
const part = (some: readonly unknown[], all: readonly unknown[]): string =>
  `${some.length} of ${all.length} (${Math.round((100 * some.length) / Math.max(1, all.length))} %)`;

/** What became of it, and what the judge says after a resume. */
export const tryFault = async (
  made: Stages,
  cwd: string,
  { stage, point, fault }: Case,
): Promise<{ readonly end: End; readonly problems: readonly string[] }> => {
  const workspace = join(cwd, 'workspace');
  const out = join(cwd, 'trace');
  const strace = faultArgs(out, { ...point, paths: below(cwd, point.paths) }, fault);
  const faulted = await runStage(made, stage, cwd, strace);
  const end = endOf(faulted, fault, gaveError(readFileSync(out, 'utf8')));
  const problems = [...unclear(faulted, end)];
  const resumed = await runSubject(made.subject, { does: 'resume', workspace, by: 3 });
  if (resumed.said === null || resumed.stderr !== '')
    problems.push(`the resume ended with ${resumed.code}${resumed.late ? ', hung' : ''}: ${resumed.stderr}`);
  else problems.push(...judge(readWitness(workspace), resumed.said));
  return { end, problems };
};

const endOf = ({ code, said, late }: Ended, fault: Fault, gave: boolean): End => {
  if (fault === 'SIGKILL') return code === null && !late ? 'killed' : 'not reached';
  if (!gave) return 'not reached';
  return said?.error == null ? 'went on' : 'failed';
};

/** A process that an error of the disk hit ends by itself, quietly, and says what it was. */
const unclear = ({ code, said, stderr, late }: Ended, end: End): readonly string[] => {
  if (late) return ['it hung'];
  if (end === 'killed') return [];
  if (code !== 0 || said === null || stderr !== '') return [`it ended with ${code}: ${stderr || 'no words'}`];
  if (said.error !== null && said.error.code !== 'store_failed')
    return [`it failed with ${said.error.code}: ${said.error.message}`];
  return [];
};
