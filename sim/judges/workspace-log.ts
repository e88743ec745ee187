// The workspace log holds every acknowledged record unchanged and in its place, and nothing else.
import type { WorkspaceEntry } from '#contracts';
import type { RecordWrite } from '../history.ts';
import type { Judge } from './judge.ts';

export const workspaceLog: Judge = {
  name: 'the workspace log keeps every record',
  check: ({ workspaceLog: { entries, problem }, recordWrites }, report) => {
    if (problem !== null) report('every record of the workspace log as it was written', problem);
    const acknowledged = new Map<number, RecordWrite>();
    for (const write of recordWrites) {
      const { no, after, record, process, wasOnDisk } = write;
      if (no === null) continue;
      const text = JSON.stringify(record);
      if (!wasOnDisk)
        report(
          `record ${no} on the disk before it is acknowledged`,
          `process ${process} got the acknowledgement too early`,
        );
      if (JSON.stringify(entries[no]?.record) !== text)
        report(
          `record ${no} as written by process ${process}: ${text}`,
          JSON.stringify(entries[no]?.record) ?? 'it is missing',
        );
      if (after !== undefined && no !== after + 1)
        report(`a record right after record ${after}, the last that process ${process} had seen`, `record ${no}`);
      const other = acknowledged.get(no);
      if (other !== undefined)
        report(`record ${no} to be acknowledged once`, `processes ${other.process} and ${process} got it`);
      acknowledged.set(no, write);
    }
    for (const [index, entry] of entries.entries())
      if (entry.no !== index) report(`record ${index} in its place`, `record ${entry.no}`);
    for (const entry of entries)
      if (!recordWrites.some((write) => isWriteOf(write, entry)))
        report(`a process that wrote record ${entry.no}`, JSON.stringify(entry.record));
    for (const one of runsStartedTwice(entries)) report('one record that starts each run', one);
    return recordWrites.length + entries.length;
  },
};

const isWriteOf = ({ record, no }: RecordWrite, entry: WorkspaceEntry): boolean =>
  (no === null || no === entry.no) && JSON.stringify(record) === JSON.stringify(entry.record);

const runsStartedTwice = (entries: readonly WorkspaceEntry[]): readonly string[] => {
  const runs = entries.flatMap(({ record }) =>
    record.type !== 'import' && 'run' in record && record.run !== null ? [record.run] : [],
  );
  return runs.filter((run, index) => runs.indexOf(run) !== index);
};
