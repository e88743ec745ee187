// Sync before acknowledge, by system-call trace. From the calls of a run it is worked out what the disk is certain to have
// whenever something was acknowledged or went out into the world; the frame behind it must be there. Some of these disks
// are then taken to the end by another process. So that this can fail at all, variants that do not sync must fail it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSubject } from './build-subject.ts';
import type { Subject } from './build-subject.ts';
import { judge, lostBlobs, lostFiles, lostFrames, missingIntents } from './judge.ts';
import { randomFrom } from './random.ts';
import { replayCalls, traceArgs } from './replay-calls.ts';
import { readWitness, runSubject, runWhole } from './run-subject.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { readFiles } from './subject/read-files.ts';
import { nothingStored, readStore } from './subject/read-store.ts';
import type { Stored } from './subject/read-store.ts';
import { witnessPath } from './subject/witness.ts';
import type { Line } from './subject/witness.ts';
import { eachCase, inFolder, newFolder, remove, withFolder } from './trial.ts';
import type { Setting, Trial } from './trial.ts';

const resumedCuts = 24;
const pragma = 'PRAGMA synchronous = FULL';
const variants = ['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = OFF'];

export const powerCuts: Trial = {
  name: 'power-cuts',
  about: 'sync before acknowledge by system-call trace, and resumes after a simulated power cut',
  untilPart: 0.2,
  needsStrace: true,
  run: async (setting) => {
    const trace = await traceRun(setting.subject);
    const checked = checkMoments(trace);
    if (checked.problems.length > 0)
      setting.found({ what: 'not synced in time', details: checked.problems, again: setting.again('sync') });
    const seen = await Promise.all(variants.map((variant) => checkVariant(variant, setting)));
    const cuts = await resumeCuts(trace, checked.moments, setting);
    return {
      tried: [
        `${checked.moments} moments of one run against ${checked.images} states of the disk: ${checked.acks} acknowledgements, ${checked.effects} requests and effects`,
        `${variants.length} variants that do not sync: ${seen.filter((one) => one).length} were found out`,
        `${cuts} power cuts simulated and resumed, half of them with some of what was not synced`,
      ],
    };
  },
};

type Trace = { readonly text: string; readonly root: string };

export const traceRun = (subject: Subject): Promise<Trace> =>
  withFolder(async (root) => {
    const out = join(root, 'trace');
    await runWhole(subject, join(root, 'workspace'), traceArgs(out));
    return { text: readFileSync(out, 'utf8'), root };
  });

/** Goes through a run, moment by moment: what was told until then, and the disk as it is certain to be. */
function* momentsOf({
  text,
  root,
}: Trace): Generator<{ readonly lines: readonly Line[]; readonly disk: SimulatedDisk }> {
  const disk = new SimulatedDisk(root);
  const lines: Line[] = [];
  for (const told of replayCalls(text, disk, { root, witness: witnessPath(join(root, 'workspace')) })) {
    lines.push(JSON.parse(told) as Line);
    yield { lines, disk };
  }
}

type Checked = {
  readonly problems: readonly string[];
  readonly moments: number;
  readonly images: number;
  readonly acks: number;
  readonly effects: number;
};

export const checkMoments = (trace: Trace): Checked => {
  const count = { moments: 0, images: 0, acks: 0, effects: 0 };
  let known: Left & { readonly version: number } = { version: -1, stored: nothingStored, files: [] };
  for (const { lines, disk } of momentsOf(trace)) {
    const { saw } = lines.at(-1)!;
    count.moments += 1;
    count.acks += saw === 'ack' || saw === 'kept' ? 1 : 0;
    count.effects += saw === 'effect' || saw === 'model' || saw === 'outcome' ? 1 : 0;
    if (known.version !== disk.version) {
      known = { version: disk.version, ...leftOn(disk) };
      count.images += 1;
    }
    const { runs, blobs } = known.stored;
    const problems = [
      ...lostFrames(lines, runs[0]),
      ...lostBlobs(lines, blobs),
      ...missingIntents(lines, runs[0]?.frames ?? []),
      ...lostFiles(lines, known.files),
    ];
    // What comes after the first is a consequence.
    if (problems.length > 0) return { ...count, problems };
  }
  return { ...count, problems: [] };
};

type Left = { readonly stored: Stored; readonly files: readonly (string | null)[] };

/** What is left if only what is safe is left. */
const leftOn = (disk: SimulatedDisk): Left => {
  const folder = newFolder();
  try {
    disk.leave(folder);
    const workspace = join(folder, 'workspace');
    const stored = readStore(workspace, { readOnly: false });
    return { stored, files: readFiles(workspace, stored.runs[0]?.run ?? '') };
  } finally {
    remove(folder);
  }
};

/** Whether it was found out; if not, the trial sees nothing. */
const checkVariant = async (variant: string, { scratch, source, again, found }: Setting): Promise<boolean> => {
  const name = variant.replaceAll(/\W+/gu, '-');
  const edit = { under: 'src/adapters/stores', before: pragma, after: variant };
  const { problems } = checkMoments(await traceRun(await buildSubject(scratch, { name, source, edits: [edit] })));
  const details = ['This trial would not see a store that does not sync.'];
  if (problems.length === 0) found({ what: `a variant with ${variant} passes`, details, again: again('sync') });
  return problems.length > 0;
};

const resumeCuts = async (trace: Trace, moments: number, setting: Setting): Promise<number> => {
  const random = randomFrom(setting.seed, 'power-cuts');
  const planned = Array.from(
    { length: resumedCuts },
    (_, at) => `${random.whole(moments)}/${at % 2 === 0 ? 'synced' : 'mixed'}`,
  );
  const cuts = setting.case === null ? planned : planned.filter((cut) => cut === setting.case);
  return eachCase(cuts, setting, async (cut) => {
    const { problems, folder } = await inFolder((cwd) => resumeCut(trace, cut, cwd, setting));
    if (problems.length > 0)
      setting.found({ what: `power cut ${cut}`, details: problems, again: setting.again(cut), left: folder });
  });
};

/** `<moment>/synced`: only what is certain is left; `<moment>/mixed`: some of the rest too. */
const resumeCut = async (
  trace: Trace,
  cut: string,
  cwd: string,
  { subject, seed }: Setting,
): Promise<readonly string[]> => {
  const [moment = '', how] = cut.split('/');
  let left = Number(moment);
  for (const { lines, disk } of momentsOf(trace)) {
    if (left-- > 0) continue;
    disk.leave(cwd, how === 'mixed' ? randomFrom(seed, cut) : undefined);
    const workspace = join(cwd, 'workspace');
    writeFileSync(witnessPath(workspace), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const resumed = await runSubject(subject, { does: 'resume', workspace, by: 2 });
    if (resumed.said === null || resumed.stderr !== '')
      return [`the resume ended with ${resumed.code}: ${resumed.stderr}`];
    return judge(readWitness(workspace), resumed.said);
  }
  return [`the run has no moment ${moment}`];
};
