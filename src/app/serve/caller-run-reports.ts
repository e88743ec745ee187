// What follows from the record of a caller's run, as far as the caller's token shows it.
//
//   record-texts-by-token. Texts of the record only for a caller whose token shows contents; figures, names and hashes for every
//       caller, because the events of the run tell them too.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen } from '#contracts';
import type { CallerRunReports, RunArchive, RunDiff, Sees } from '#contracts';

type ReportPorts = {
  readonly sees: Sees;
  /** Finds another run of the same caller. Rejects with `run_unknown`. */
  readonly findOwn: (run: string) => Promise<RunId>;
};

/** Stands for a text that the caller may not see. */
const withheldText = 'Only shown to tokens that see contents.';

export const callerRunReports = (archive: RunArchive, run: RunId, { sees, findOwn }: ReportPorts): CallerRunReports => {
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
    // probe: mail-of-run
    mail: () => archive.mail(run),
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
