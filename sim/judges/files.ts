// A turn has exactly the files that its agent's turn before left: in its first frame, and in what its file tools show.
import type { ToolResultValue } from '#contracts';
import { sha256 } from '#base';
import type { RunHistory } from '../history.ts';
import { turnsIn } from './conversation-turns.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { fileCalls, fileFacts, filesTakenOver, storedOutputs } from './turn-files.ts';
import type { FileCall, FileFacts, FilesLeft } from './turn-files.ts';

// invariant: turn-files-from-its-log
export const files: Judge = {
  name: 'a turn has the files of the turn before',
  check: (history, report) => {
    let checks = 0;
    const turns = history.workspaceLog.entries.length === 0 ? [] : turnsIn(history);
    for (const { run: id, files: left } of turns) {
      const run = history.runs.find((one) => one.run === id);
      if (run === undefined || run.frames.length === 0) continue;
      checks++;
      const taken = filesTakenOver(run.frames);
      const [due, seen] = [filesText(left ?? nothing), filesText(taken)];
      if (due !== seen) report(`run ${id} to take over ${due}`, seen);
    }
    for (const run of history.runs)
      if (run.frames.length > 0) checks += checkCalls(run, report) + checkOutputs(run, report);
    return checks;
  },
};

const nothing: FilesLeft = { files: new Map(), outputs: [] };

const filesText = ({ files: all, outputs }: FilesLeft): string =>
  JSON.stringify([[...all].sort(([one], [other]) => (one < other ? -1 : 1)), outputs]);

/** No output has the name of an earlier one. */
const checkOutputs = ({ run, frames }: RunHistory, report: ReportProblem): number => {
  const { outputs } = filesTakenOver(frames);
  const again = storedOutputs(frames).filter((name) => outputs.includes(name));
  if (again.length > 0) report(`outputs of run ${run} with new names`, again.join(', '));
  return outputs.length === 0 ? 0 : 1;
};

/** What the file tools showed, where no write makes it uncertain. */
const checkCalls = ({ run, frames }: RunHistory, report: ReportProblem): number => {
  let checks = 0;
  const calls = fileCalls(frames);
  const writes = calls.filter(({ tool }) => tool === 'write_file');
  for (const call of calls) {
    if (call.tool === 'write_file' || call.settle === undefined || writes.some((write) => disturbs(write, call)))
      continue;
    const before = writes.filter(({ settledIn, settle }) => settle?.ok === true && settledIn < call.beganIn);
    if (before.some((one) => before.some((other) => overlap(one, other)))) continue;
    const state = new Map(filesTakenOver(frames).files);
    for (const { path, content } of before.sort((one, other) => one.settledIn - other.settledIn))
      state.set(path, fileFacts(content));
    const fault = call.tool === 'list_files' ? listFault(call, state) : readFault(call, state);
    checks++;
    if (fault !== null) report(`${call.tool} in frame ${call.beganIn} of run ${run} to show ${fault}`, shownText(call));
  }
  return checks;
};

/** A write that was not over when the call began, or of which nobody knows whether it happened. */
const disturbs = ({ settle, beganIn, settledIn }: FileCall, call: FileCall): boolean => {
  if (beganIn > call.settledIn || (settle?.ok === true && settledIn < call.beganIn)) return false;
  return settle === undefined || settle.ok || settledIn > call.beganIn || settle.failure?.code !== 'file_refused';
};

/** Of two writes at the same time, nobody knows which was the last on disk. */
const overlap = (one: FileCall, other: FileCall): boolean =>
  one !== other && one.path === other.path && one.beganIn < other.settledIn && other.beganIn < one.settledIn;

const shownText = ({ settle }: FileCall): string =>
  settle?.ok === true ? (settle.value as ToolResultValue).text : `failed: ${settle?.failure?.code ?? ''}`;

/** What had to be listed; null if it was, or if the list was shortened or the call failed. */
const listFault = (call: FileCall, state: ReadonlyMap<string, FileFacts>): string | null => {
  const text = shownText(call);
  if (call.settle?.ok !== true || text.endsWith('files in total]')) return null;
  const lines = [...state].map(([path, { bytes }]) => `${path} (${bytes} bytes)`).sort();
  const due = lines.length === 0 ? 'No files.' : lines.join('\n');
  return due === text ? null : due;
};

const readFault = (call: FileCall, state: ReadonlyMap<string, FileFacts>): string | null => {
  const file = state.get(call.path);
  if (call.settle?.ok !== true)
    return call.settle?.failure?.code === 'file_missing' && file !== undefined
      ? `${call.path}, ${file.bytes} bytes`
      : null;
  const page = /^(?<body>[^]*)\n\[bytes (?<from>\d+) to (?<to>\d+) of (?<size>\d+)\]$/u.exec(shownText(call))?.groups;
  if (file === undefined) return 'nothing';
  if (page === undefined || Number(page['size']) !== file.bytes) return `${file.bytes} bytes`;
  const isWhole = page['from'] === '0' && page['to'] === page['size'];
  return isWhole && sha256(page['body']!) !== file.sha256 ? `content with the hash ${file.sha256}` : null;
};
