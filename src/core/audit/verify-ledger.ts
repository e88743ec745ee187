// Checks each cell's hash chain, and that contents match their entries. Runs after the frame is read.
import { canonicalJson, sha256, utf8Bytes, zeroHash } from '#base';
import type { CellId, Hash } from '#base';
import type { CrossingContent, Frame, LedgerEntry, LedgerLink } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';

type Chain = { readonly hash: Hash; readonly seq: number };

export const verifyLedger = (records: RunRecords, problems: AuditProblems): ((frame: Frame) => void) => {
  const chains = new Map<CellId, Chain>();
  return (frame) => {
    for (const link of frame.links ?? []) {
      // A child whose goal was refused is never created; its ledger may hold the refusal and nothing else.
      const exists = records.cells.has(link.cell);
      if (!exists && link.entries.some(({ verdict, kind }) => verdict === 'granted' || kind !== 'goal'))
        problems.add(
          'cell-unknown',
          problemLocation(frame, link.cell),
          'this ledger belongs to a cell that does not exist',
        );
      // Each frame has its own copy of an id; there may be very many cells.
      const cell = records.cells.get(link.cell)?.birth.cell ?? link.cell;
      chains.set(cell, verifyLink(frame, link, { chain: chains.get(cell), problems }));
    }
    verifyContents(frame, problems);
  };
};

/** Continues from the recorded hash, so that one change is reported only once. */
const verifyLink = (
  frame: Frame,
  link: LedgerLink,
  {
    chain = { hash: zeroHash, seq: 0 },
    problems,
  }: { readonly chain: Chain | undefined; readonly problems: AuditProblems },
): Chain => {
  const where = problemLocation(frame, link.cell);
  if (link.previous !== chain.hash)
    problems.add('chain-previous', where, "the link does not continue the cell's chain: one is missing or changed");
  if (sha256(link.previous + canonicalJson(link.entries)) !== link.hash)
    problems.add('chain-hash', where, 'an entry of this link was changed');
  let { seq } = chain;
  for (const entry of link.entries) {
    if (entry.seq !== seq) problems.add('chain-seq', where, `found entry ${entry.seq} instead of entry ${seq}`);
    seq = entry.seq + 1;
    if (entry.tokens !== Math.ceil(entry.bytes / 4))
      problems.add('entry-size', where, `entry ${entry.seq}: ${entry.bytes} bytes are not ${entry.tokens} tokens`);
  }
  return { hash: link.hash, seq };
};

const verifyContents = (frame: Frame, problems: AuditProblems): void => {
  const contents = frame.contents ?? [];
  const counts = new Map<string, number>();
  for (const content of contents) counts.set(contentKey(content), (counts.get(contentKey(content)) ?? 0) + 1);
  const entryByKey = new Map<string, LedgerEntry>();
  for (const { cell, entries } of frame.links ?? [])
    for (const entry of entries) {
      const key = contentKey({ cell, seq: entry.seq });
      if (!entryByKey.has(key)) entryByKey.set(key, entry);
      const expected = entry.verdict === 'granted' && (entry.way === 'in' || entry.other === 'outside') ? 1 : 0;
      const found = counts.get(key) ?? 0;
      if (found !== expected)
        problems.add(
          'content-missing',
          problemLocation(frame, cell),
          `entry ${entry.seq} has ${found} contents, not ${expected}`,
        );
    }
  for (const content of contents) verifyContent(frame, content, entryByKey.get(contentKey(content)), problems);
};

const contentKey = ({ cell, seq }: Pick<CrossingContent, 'cell' | 'seq'>): string => `${cell}/${seq}`;

const verifyContent = (
  frame: Frame,
  content: CrossingContent,
  entry: LedgerEntry | undefined,
  problems: AuditProblems,
): void => {
  const where = problemLocation(frame, content.cell);
  if (entry === undefined)
    return problems.add('content-entry', where, `a content without a ledger entry ${content.seq}`);
  const [from, to] = crossingEnds(content.cell, entry);
  const same = content.kind === entry.kind && content.from === from && content.to === to;
  if (!same || canonicalJson(content.labels) !== canonicalJson(entry.labels))
    problems.add('content-entry', where, `the content does not match entry ${entry.seq}`);
  if (sha256(content.content) !== entry.sha256 || utf8Bytes(content.content) !== entry.bytes)
    problems.add('content-changed', where, `the content of entry ${entry.seq} was changed`);
};

/** Sender and recipient of an entry, which is written from its own cell's side. */
export const crossingEnds = (cell: CellId, { way, other }: LedgerEntry) =>
  way === 'in' ? ([other, cell] as const) : ([cell, other] as const);
