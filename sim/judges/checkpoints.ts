// A checkpoint names what was on the disk; who goes on from one begins with just that, and sees what was seen there.
import { sha256, zeroHash } from '#base';
import type { Checkpoint, Frame } from '#contracts';
import type { History, ModelCall, RunHistory } from '../history.ts';
import { attemptThen, cellOf, lengthThen } from './facts.ts';
import type { Judge, Say } from './judge.ts';

export const checkpoints: Judge = {
  name: 'a checkpoint is a prefix, and so is what goes on from it',
  look: (history, say) => {
    let checks = 0;
    for (const { record } of history.book.pages) {
      if (record.type !== 'checkpoint') continue;
      checks++;
      judgeTaken(history, record.checkpoint, say);
    }
    for (const run of history.runs) {
      const origin = run.cut && history.runs.find((one) => one.run === run.cut?.run);
      if (!origin || run.frames.length === 0) continue;
      checks++;
      judgeKept(origin, run, run.cut.frames, say);
      judgeDoubts(run, run.cut.frames, say);
      checks += judgeWindows(origin, run, run.cut.frames, say);
    }
    return checks + judgeAskedAgain(history, say);
  },
};

const judgeTaken = (history: History, taken: Checkpoint, say: Say): void => {
  const { id, run: of, frames, hash, others = [] } = taken;
  const index = history.runs.findIndex(({ run }) => run === of);
  const run = history.runs[index];
  const noting = history.notings.find(({ record }) => record.type === 'checkpoint' && record.checkpoint.id === id);
  if (run === undefined || frames < 1 || frames > run.frames.length)
    return say(`checkpoint ${id} of frames that are there`, `${frames} of ${run?.frames.length ?? 0} of run ${of}`);
  if (noting !== undefined && frames > (noting.onDisk[index] ?? 0))
    say(`checkpoint ${id} of durable frames`, `frame ${frames - 1} of run ${of} was not on the disk`);
  for (const other of others) {
    const then = noting?.onDisk[history.runs.findIndex((one) => one.run === other.run)] ?? 0;
    if (noting !== undefined && other.frames > then)
      say(`checkpoint ${id} of durable frames`, `${other.frames} of run ${other.run}, where ${then} were on the disk`);
  }
  if (hash !== hashOf(run, frames))
    say(`checkpoint ${id} to name frame ${frames - 1} of run ${of}`, 'its hash is another');
};

const hashOf = ({ bodies }: RunHistory, frames: number): string =>
  bodies.slice(0, frames).reduce<string>((before, body) => sha256(before + body), zeroHash);

const judgeKept = (origin: RunHistory, { run, frames }: RunHistory, cut: number, say: Say): void => {
  for (let no = 0; no < cut; no++)
    if (wordsOf(frames[no]) !== wordsOf(origin.frames[no])) {
      say(`frame ${no} of run ${run} as in run ${origin.run}`, wordsOf(frames[no])?.slice(0, 200) ?? 'it is not there');
      return;
    }
  const fork = frames[cut]?.record;
  if (fork?.type !== 'fork' || fork.from.run !== origin.run || fork.from.frames !== cut)
    say(
      `run ${run} to go on from ${cut} frames of run ${origin.run}`,
      JSON.stringify(fork)?.slice(0, 200) ?? 'nothing',
    );
};

/** What was under way at the cut is the other run's: until it has died itself, it is in doubt about nothing. */
const judgeDoubts = ({ run, frames }: RunHistory, cut: number, say: Say): void => {
  let resumed = 0;
  for (const { record, cell } of frames.slice(cut)) {
    if (record.type === 'resume') resumed++;
    if (record.type === 'again' && resumed < 2)
      say(`run ${run} to be in doubt only about its own calls`, `${cell}/${record.op} counts as used`);
  }
};

const wordsOf = (frame: Frame | undefined): string | undefined => frame && JSON.stringify({ ...frame, run: '' });

/** Where nothing happened between the cut and the next request of a cell, here and there, both were shown the same. */
const judgeWindows = (origin: RunHistory, { run, frames }: RunHistory, cut: number, say: Say): number => {
  let checks = 0;
  for (const cell of new Set(origin.frames.slice(0, cut).map((frame) => frame.cell))) {
    const [there, here] = [nextAttempt(origin.frames, cell, cut), nextAttempt(frames, cell, cut)];
    if (there === undefined || here === undefined) continue;
    checks++;
    if (there.prompt !== here.prompt || there.bytes !== here.bytes)
      say(`${cell} in run ${run} to be shown what it was shown at the cut`, `${there.bytes} and ${here.bytes} bytes`);
  }
  return checks;
};

const nextAttempt = (frames: readonly Frame[], cell: string, cut: number): Frame['attempt'] => {
  for (const { record, cell: of, attempt } of frames.slice(cut)) {
    if (record.type === 'fork' || record.type === 'resume') continue;
    if (of === cell && attempt !== undefined) return attempt;
    if (of === cell) return undefined;
  }
  return undefined;
};

/** What was under way at the cut is asked again as it was asked before: byte for byte. */
const judgeAskedAgain = (history: History, say: Say): number => {
  if (history.runs.every(({ cut }) => cut === null)) return 0;
  let checks = 0;
  const first = new Map<string, ModelCall>();
  for (const call of history.modelCalls) {
    const cell = cellOf(history, call);
    const attempt = cell && attemptThen(cell, lengthThen(history, cell.run, call.onDisk));
    if (cell === undefined || attempt === undefined) continue;
    const key = `${cell.birth.cell}/${attempt.begin.op}`;
    const { run, cut } = cell.run;
    const before = cut !== null && attempt.beganIn < cut.frames ? first.get(`${cut.run} ${key}`) : undefined;
    first.set(`${run} ${key}`, before ?? call);
    if (before === undefined) continue;
    checks++;
    if (before.prompt !== call.prompt || before.tools !== call.tools)
      say(`${key} in run ${run} to be shown what it was shown in run ${cut!.run}: ${before.prompt}`, call.prompt);
  }
  return checks;
};
