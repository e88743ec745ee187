// The checks of an audit in words.
import type { AuditReport } from '#contracts';
import { count, plural } from '#headends/run-view';
import type { ChainCheck } from '../xray/hashes.ts';

export type AuditCheck = { readonly name: string; readonly ok: boolean; readonly words: string };

/** Every problem belongs to the first check that names it; what no other names belongs to the records themselves. */
export const auditChecks = (report: AuditReport): readonly AuditCheck[] => {
  const { problems, crossings, refused, cells, prompts, promptBytes, unattributedBytes } = report;
  const checks = [
    [
      'Crossings',
      /^(?:crossing|goal|entry|content)-/u,
      `${plural(crossings, 'crossing')} granted by the definitions, ${refused === 0 ? 'none' : count(refused)} refused.`,
    ],
    ['Ledgers', /^chain-/u, `The hash chains of ${plural(cells, 'room')} are whole.`],
    [
      'Prompts',
      /^prompt-/u,
      `${plural(prompts, 'prompt')} rebuilt from the records, ${count(promptBytes)} bytes, 0 unattributed.`,
    ],
    [
      'Budgets and limits',
      /^(?:hold|cap|cost|overdraft|uncertain|limit|outcome)/u,
      'Every hold, cost and limit follows from the record.',
    ],
    ['Files and lists', /^(?:file|output|list)-/u, 'What is kept beside the record is what the record says.'],
    ['Records', /^/u, 'Every record is whole, in its place, and belongs to this run.'],
  ] as const;
  const found = Map.groupBy(problems, ({ code }) => checks.find(([, codes]) => codes.test(code))![0]);
  return checks.map(([name, , sound]) => {
    const bad = found.get(name)?.length ?? 0;
    if (name === 'Prompts' && unattributedBytes > 0)
      return { name, ok: false, words: `${plural(unattributedBytes, 'byte')} have no origin.` };
    return { name, ok: bad === 0, words: bad === 0 ? sound : `${plural(bad, 'problem')}.` };
  });
};

/** The hash chains, as this browser computed them again. */
export const chainsCheck = (checks: readonly ChainCheck[]): readonly AuditCheck[] => {
  const links = checks.reduce((sum, one) => sum + one.links, 0);
  const broken = checks.filter((one) => one.broken !== null).length;
  const words = checks.some(({ unchecked }) => unchecked)
    ? 'This browser computes hashes only over https or on this machine.'
    : broken === 0
      ? `${plural(links, 'link')} of ${plural(checks.length, 'ledger')}, computed again in this browser: chain ok.`
      : `${plural(broken, 'ledger')} of ${count(checks.length)} broken, computed again in this browser.`;
  return [{ name: 'Hash chains, here', ok: broken === 0, words }];
};

/** `frame 12, cell engineer-1, operation 3`. */
export const placeOf = (where: string): { readonly cell: string | undefined; readonly op: number | undefined } => {
  const [, cell, op] = /cell ([^\s,]+)(?:, operation (\d+))?/u.exec(where) ?? [];
  return { cell, op: op === undefined ? undefined : Number(op) };
};
