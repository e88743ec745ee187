// Checks sync-before-acknowledge by system-call trace. From the calls of a run it computes what the disk is certain to hold
// whenever something was acknowledged or took effect outside; the frame behind it must be there. Another process then resumes
// from some of these disks. Variants that do not sync must fail, which proves that the check can fail at all.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSubject } from './build-subject.ts';
import type { Subject } from './build-subject.ts';
import { judge, lostBlobs, lostFiles, lostFrames, missingIntents } from './judge.ts';
import { randomFrom } from './random.ts';
import { replayCalls, traceArgs } from './replay-calls.ts';
import { readWitness, runSubject, runUndisturbed } from './run-subject.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { readFiles } from './subject/read-files.ts';
import { nothingStored, readStore } from './subject/read-store.ts';
import type { Stored } from './subject/read-store.ts';
import { witnessPath } from './subject/witness.ts';
import type { WitnessLine } from './subject/witness.ts';
import { forEachCase, inCaseFolder, createTempFolder, removeFolder, withTempFolder } from './trial.ts';
import type { TrialContext, Trial } from './trial.ts';

const resumedCuts = 24;
const pragma = 'PRAGMA synchronous = FULL';
const variants = ['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = OFF'];

export const powerCuts: Trial = {
  name: 'power-cuts',
  about: 'sync before acknowledge, by system-call trace, and resumes after simulated power cuts',
  deadlineFraction: 0.2,
  needsStrace: true,
  run: async (context) => {
    const trace = await traceRun(context.subject);
    const checked = checkMoments(trace);
    if (checked.problems.length > 0)
      context.report({ what: 'not synced in time', details: checked.problems, rerun: context.rerunCommand('sync') });
    const seen = await Promise.all(variants.map((variant) => checkVariant(variant, context)));
    const cuts = await resumeCuts(trace, checked.moments, context);
    return {
      lines: [
        `${checked.moments} moments of one run against ${checked.images} states of the disk: ${checked.acks} acknowledgements, ${checked.effects} requests and effects`,
        `${variants.length} variants that do not sync: ${seen.filter((one) => one).length} were detected`,
        `${cuts} power cuts simulated and resumed, half of them with part of the unsynced data`,
      ],
    };
  },
};

type Trace = { readonly text: string; readonly root: string };

export const traceRun = (subject: Subject): Promise<Trace> =>
  withTempFolder(async (root) => {
    const out = join(root, 'trace');
    await runUndisturbed(subject, join(root, 'workspace'), traceArgs(out));
    return { text: readFileSync(out, 'utf8'), root };
  });

/** Steps through a run: the witness lines so far, and what the disk is certain to hold at that moment. */
function* momentsOf({
  text,
  root,
}: Trace): Generator<{ readonly lines: readonly WitnessLine[]; readonly disk: SimulatedDisk }> {
  const disk = new SimulatedDisk(root);
  const lines: WitnessLine[] = [];
  for (const line of replayCalls(text, disk, { root, witness: witnessPath(join(root, 'workspace')) })) {
    lines.push(JSON.parse(line) as WitnessLine);
    yield { lines, disk };
  }
}

type MomentCheck = {
  readonly problems: readonly string[];
  readonly moments: number;
  readonly images: number;
  readonly acks: number;
  readonly effects: number;
};

export const checkMoments = (trace: Trace): MomentCheck => {
  const count = { moments: 0, images: 0, acks: 0, effects: 0 };
  let known: DiskState & { readonly version: number } = { version: -1, stored: nothingStored, files: [] };
  for (const { lines, disk } of momentsOf(trace)) {
    const { saw } = lines.at(-1)!;
    count.moments += 1;
    count.acks += saw === 'ack' || saw === 'kept' ? 1 : 0;
    count.effects += saw === 'effect' || saw === 'model' || saw === 'outcome' ? 1 : 0;
    if (known.version !== disk.version) {
      known = { version: disk.version, ...readDisk(disk) };
      count.images += 1;
    }
    const { runs, blobs } = known.stored;
    const problems = [
      ...lostFrames(lines, runs[0]),
      ...lostBlobs(lines, blobs),
      ...missingIntents(lines, runs[0]?.frames ?? []),
      ...lostFiles(lines, known.files),
    ];
    // Later problems are consequences of the first.
    if (problems.length > 0) return { ...count, problems };
  }
  return { ...count, problems: [] };
};

type DiskState = { readonly stored: Stored; readonly files: readonly (string | null)[] };

/** What is on the disk if only synced data survives. */
const readDisk = (disk: SimulatedDisk): DiskState => {
  const folder = createTempFolder();
  try {
    disk.writeSurvivors(folder);
    const workspace = join(folder, 'workspace');
    const stored = readStore(workspace, { readOnly: false });
    return { stored, files: readFiles(workspace, stored.runs[0]?.run ?? '') };
  } finally {
    removeFolder(folder);
  }
};

/** Returns whether the variant was detected; if not, the trial itself is blind. */
const checkVariant = async (
  variant: string,
  { scratch, source, rerunCommand, report }: TrialContext,
): Promise<boolean> => {
  const name = variant.replaceAll(/\W+/gu, '-');
  const edit = { under: 'src/adapters/stores', before: pragma, after: variant };
  const { problems } = checkMoments(await traceRun(await buildSubject(scratch, { name, source, edits: [edit] })));
  const details = ['This trial would not detect a store that does not sync.'];
  if (problems.length === 0) report({ what: `a variant with ${variant} passes`, details, rerun: rerunCommand('sync') });
  return problems.length > 0;
};

const resumeCuts = async (trace: Trace, moments: number, context: TrialContext): Promise<number> => {
  const random = randomFrom(context.seed, 'power-cuts');
  const planned = Array.from(
    { length: resumedCuts },
    (_, at) => `${random.whole(moments)}/${at % 2 === 0 ? 'synced' : 'mixed'}`,
  );
  const cuts = context.case === null ? planned : planned.filter((cut) => cut === context.case);
  return forEachCase(cuts, context, async (cut) => {
    const { problems, folder } = await inCaseFolder((cwd) => resumeCut(trace, cut, cwd, context));
    if (problems.length > 0)
      context.report({ what: `power cut ${cut}`, details: problems, rerun: context.rerunCommand(cut), folder });
  });
};

/** `<moment>/synced`: only synced data survives; `<moment>/mixed`: some of the rest survives too. */
const resumeCut = async (
  trace: Trace,
  cut: string,
  cwd: string,
  { subject, seed }: TrialContext,
): Promise<readonly string[]> => {
  const [moment = '', how] = cut.split('/');
  let remaining = Number(moment);
  for (const { lines, disk } of momentsOf(trace)) {
    if (remaining-- > 0) continue;
    disk.writeSurvivors(cwd, how === 'mixed' ? randomFrom(seed, cut) : undefined);
    const workspace = join(cwd, 'workspace');
    writeFileSync(witnessPath(workspace), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const resumed = await runSubject(subject, { command: 'resume', workspace, processNo: 2 });
    if (resumed.report === null || resumed.stderr !== '')
      return [`the resume exited with code ${resumed.code}: ${resumed.stderr}`];
    return judge(readWitness(workspace), resumed.report);
  }
  return [`the run has no moment ${moment}`];
};
