// The checks of an audit in words.
import type { AuditReport } from '#contracts';
import { count, plural } from '#headends/run-view';

export type AuditCheck = { readonly name: string; readonly ok: boolean; readonly words: string };

const checks = [
  {
    name: 'Crossings',
    codes: /^(?:crossing|goal|entry|content)-/u,
    words: ({ crossings, refused }: AuditReport) =>
      `${plural(crossings, 'crossing')} granted by the definitions, ${refused === 0 ? 'none' : count(refused)} refused.`,
  },
  {
    name: 'Ledgers',
    codes: /^chain-/u,
    words: ({ cells }: AuditReport) => `The hash chains of ${plural(cells, 'room')} are whole.`,
  },
  {
    name: 'Prompts',
    codes: /^prompt-/u,
    words: ({ prompts, promptBytes, unattributedBytes }: AuditReport) =>
      `${plural(prompts, 'prompt')} rebuilt from the records, ${count(promptBytes)} bytes, ${count(unattributedBytes)} unattributed.`,
  },
  {
    name: 'Budgets and limits',
    codes: /^(?:hold|cap|cost|overdraft|uncertain|limit|outcome)/u,
    words: () => 'Every hold, cost and limit follows from the record.',
  },
] as const;

/** Every problem belongs to one of the checks; what no other names belongs to the records themselves. */
export const auditChecks = (report: AuditReport): readonly AuditCheck[] => {
  const { problems } = report;
  const rest = problems.filter(({ code }) => !checks.some(({ codes }) => codes.test(code))).length;
  const describe = (name: string, found: number, sound: string): AuditCheck => ({
    name,
    ok: found === 0,
    words: found === 0 ? sound : `${plural(found, 'problem')}.`,
  });
  return [
    ...checks.map(({ name, codes, words }) =>
      describe(name, problems.filter(({ code }) => codes.test(code)).length, words(report)),
    ),
    describe('Records', rest, 'Every record is whole, in its place, and belongs to this run.'),
  ].map((check) =>
    check.name === 'Prompts' && report.unattributedBytes > 0
      ? { ...check, ok: false, words: `${plural(report.unattributedBytes, 'byte')} have no origin.` }
      : check,
  );
};

/** `frame 12, cell engineer-1, operation 3`. */
export const placeOf = (where: string): { readonly cell: string | undefined; readonly op: number | undefined } => {
  const found = /cell ([^\s,]+)(?:, operation (\d+))?/u.exec(where);
  return { cell: found?.[1], op: found?.[2] === undefined ? undefined : Number(found[2]) };
};
