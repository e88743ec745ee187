// What follows from the record of a caller's run, as far as the caller's token shows it.
//
//   record-texts-by-token. Texts of the record only for a caller whose token shows contents; figures, names and hashes for every
//       caller, because the events of the run tell them too.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen } from '#contracts';
import type { CallerRunReports, RunArchive, RunDiff, RunReport, Sees, StoredAttachment } from '#contracts';

type ReportPorts = {
  readonly sees: Sees;
  readonly report: () => Promise<RunReport>;
  /** Finds another run of the same caller. Rejects with `run_unknown`. */
  readonly findOwn: (run: string) => Promise<RunId>;
};

/** Stands for a text that the caller may not see. */
const withheldText = 'Only shown to tokens that see contents.';

export const callerRunReports = (
  archive: RunArchive,
  run: RunId,
  { sees, report, findOwn }: ReportPorts,
): CallerRunReports => {
  const seesTexts = sees === 'contents';
  return {
    explain: async (cell, options) => {
      checkSeesContents(sees, 'explain');
      // probe: explained-run
      return archive.explain(run, cell, options);
    },
    audit: async () => {
      const audited = await archive.audit(run);
      if (seesTexts) return audited;
      return { ...audited, problems: audited.problems.map((problem) => ({ ...problem, message: withheldText })) };
    },
    windows: () => archive.windows(run),
    ledger: () => archive.ledger(run),
    tasks: () => archive.tasks(run),
    attachment: async (sha256) => {
      const stored = filesIn(await report()).find((one) => 'sha256' in one && one.sha256 === sha256);
      if (stored === undefined) throw new CloisterError('file_missing', `Run ${run} has no file with that hash.`);
      const { mediaType, name } = stored;
      const data = await archive.attachment(run, sha256);
      return { mediaType, data, ...(name === undefined ? {} : { name }) };
    },
    replay: async () => {
      const { events: _events, outcome, ...replayed } = await archive.replay(run);
      return { ...replayed, outcome: outcome === null ? null : outcomeAsSeen(outcome, sees) };
    },
    diff: async (other) => {
      // probe: compared-run
      const compared = await archive.diff(run, await findOwn(other));
      return seesTexts ? compared : withoutTexts(compared);
    },
  };
};

/** Files that came with the request, or with a message before it. */
const filesIn = ({ attachments, history }: RunReport): readonly StoredAttachment[] => [
  ...attachments,
  ...history.flatMap(({ attachments: earlier = [] }) => earlier),
];

const withoutTexts = (diff: RunDiff): RunDiff => ({
  ...diff,
  cells: diff.cells.map((cell) =>
    cell.parts === null ? cell : { ...cell, parts: { ...cell.parts, one: withheldText, other: withheldText } },
  ),
});

/** Throws `request_unsupported` for a caller who does not see contents. */
export const checkSeesContents = (sees: Sees, what: string): void => {
  if (sees !== 'contents')
    throw new CloisterError(
      'request_unsupported',
      `${what}: your token does not show the contents of runs. The operator allows it with "sees": "contents".`,
    );
};
