// A checkpoint refers to frames on the disk. A run forked from it starts with exactly these frames and shows the same prompts.
import { sha256, zeroHash } from '#base';
import type { Checkpoint, Frame } from '#contracts';
import type { History, ModelCall, RunHistory } from '../history.ts';
import { attemptOnDisk, callingCell, framesOnDisk } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';

export const checkpoints: Judge = {
  name: 'checkpoints and forks are exact prefixes',
  check: (history, report) => {
    let checks = 0;
    for (const { record } of history.workspaceLog.entries) {
      if (record.type !== 'checkpoint') continue;
      checks++;
      judgeTaken(history, record.checkpoint, report);
    }
    for (const run of history.runs) {
      const origin = run.forkedFrom && history.runs.find((one) => one.run === run.forkedFrom?.run);
      if (!origin || run.frames.length === 0) continue;
      checks++;
      judgePrefix(origin, run, run.forkedFrom.frames, report);
      judgeDoubts(run, run.forkedFrom.frames, report);
      checks += judgeWindows(origin, run, run.forkedFrom.frames, report);
    }
    return checks + judgeRepeatedRequests(history, report);
  },
};

const judgeTaken = (history: History, taken: Checkpoint, report: ReportProblem): void => {
  const { id, run: of, frames, hash, others = [] } = taken;
  const index = history.runs.findIndex(({ run }) => run === of);
  const run = history.runs[index];
  const noting = history.recordWrites.find(({ record }) => record.type === 'checkpoint' && record.checkpoint.id === id);
  if (run === undefined || frames < 1 || frames > run.frames.length)
    return report(`checkpoint ${id} to cover existing frames`, `${frames} of ${run?.frames.length ?? 0} of run ${of}`);
  if (noting !== undefined && frames > (noting.onDisk[index] ?? 0))
    report(`checkpoint ${id} to cover durable frames only`, `frame ${frames - 1} of run ${of} was not on the disk`);
  for (const other of others) {
    const then = noting?.onDisk[history.runs.findIndex((one) => one.run === other.run)] ?? 0;
    if (noting !== undefined && other.frames > then)
      report(
        `checkpoint ${id} to cover durable frames only`,
        `${other.frames} of run ${other.run}, but only ${then} were on the disk`,
      );
  }
  if (hash !== prefixHash(run, frames))
    report(`checkpoint ${id} to have the hash of frame ${frames - 1} of run ${of}`, 'it has another hash');
};

const prefixHash = ({ bodies }: RunHistory, frames: number): string =>
  bodies.slice(0, frames).reduce<string>((before, body) => sha256(before + body), zeroHash);

const judgePrefix = (origin: RunHistory, { run, frames }: RunHistory, cut: number, report: ReportProblem): void => {
  for (let no = 0; no < cut; no++)
    if (frameText(frames[no]) !== frameText(origin.frames[no])) {
      report(
        `frame ${no} of run ${run} as in run ${origin.run}`,
        frameText(frames[no])?.slice(0, 200) ?? 'it is missing',
      );
      return;
    }
  const fork = frames[cut]?.record;
  if (fork?.type !== 'fork' || fork.from.run !== origin.run || fork.from.frames !== cut)
    report(
      `run ${run} to be forked from ${cut} frames of run ${origin.run}`,
      JSON.stringify(fork)?.slice(0, 200) ?? 'nothing',
    );
};

/** Operations in flight at the fork belong to the other run. A fork that has not crashed itself has no uncertain cost. */
const judgeDoubts = ({ run, frames }: RunHistory, cut: number, report: ReportProblem): void => {
  let resumed = 0;
  for (const { record, cell } of frames.slice(cut)) {
    if (record.type === 'resume') resumed++;
    if (record.type === 'again' && resumed < 2)
      report(`run ${run} to book uncertain cost only for its own calls`, `${cell}/${record.op} counts as used`);
  }
};

const frameText = (frame: Frame | undefined): string | undefined => frame && JSON.stringify({ ...frame, run: '' });

/** If nothing happened between the fork and a cell's next request, in both runs, both requests show the same prompt. */
const judgeWindows = (origin: RunHistory, { run, frames }: RunHistory, cut: number, report: ReportProblem): number => {
  let checks = 0;
  for (const cell of new Set(origin.frames.slice(0, cut).map((frame) => frame.cell))) {
    const [there, here] = [nextAttempt(origin.frames, cell, cut), nextAttempt(frames, cell, cut)];
    if (there === undefined || here === undefined) continue;
    checks++;
    if (there.prompt !== here.prompt || there.bytes !== here.bytes)
      report(
        `${cell} in run ${run} to be shown the same prompt as in its origin`,
        `${there.bytes} and ${here.bytes} bytes`,
      );
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

/** A request that was in flight at the fork is repeated byte for byte. */
const judgeRepeatedRequests = (history: History, report: ReportProblem): number => {
  if (history.runs.every(({ forkedFrom }) => forkedFrom === null)) return 0;
  let checks = 0;
  const first = new Map<string, ModelCall>();
  for (const call of history.modelCalls) {
    const cell = callingCell(history, call);
    const attempt = cell && attemptOnDisk(cell, framesOnDisk(history, cell.run, call.onDisk));
    if (cell === undefined || attempt === undefined) continue;
    const key = `${cell.birth.cell}/${attempt.begin.op}`;
    const { run, forkedFrom } = cell.run;
    const before =
      forkedFrom !== null && attempt.beganIn < forkedFrom.frames ? first.get(`${forkedFrom.run} ${key}`) : undefined;
    first.set(`${run} ${key}`, before ?? call);
    if (before === undefined) continue;
    checks++;
    if (before.prompt !== call.prompt || before.tools !== call.tools)
      report(`${key} in run ${run} to be shown the same as in run ${forkedFrom!.run}: ${before.prompt}`, call.prompt);
  }
  return checks;
};
