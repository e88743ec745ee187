// Did only what a default grant allows cross, and do both ends tell the same. Looks after the frame is read.
//
//   A5. The grants are worked out here from the family of cells, not read from what the log claims.
import { canonicalJson } from '#base';
import type { CellId, Json } from '#base';
import type { CrossingKind, CrossingEnd, Frame, LedgerEntry } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';
import { mailFault } from './verify-mail.ts';
import { dependencyFault } from './verify-tasks.ts';
import { endsOf } from './verify-ledger.ts';

type LedgerStatement = {
  readonly cell: CellId;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly entry: LedgerEntry;
};

export const verifyCrossings = (records: RunRecords, problems: AuditProblems) => {
  const count = { crossings: 0, refused: 0 };
  const lost = new Set<string>();
  const unborn: { readonly where: string; readonly parent: CellId; readonly child: CellId }[] = [];
  const next = (frame: Frame): void => {
    const told = (frame.links ?? []).flatMap(({ cell, entries }) =>
      entries.map((entry): LedgerStatement => {
        const [from, to] = endsOf(cell, entry);
        return { cell, from, to, entry };
      }),
    );
    const balance = balanceOf(told);
    for (const one of told) {
      if (one.entry.way === 'out' || one.from === 'outside')
        count[one.entry.verdict === 'granted' ? 'crossings' : 'refused']++;
      verifyGrant(frame, one, { records, problems });
      verifyKept(frame, one, { records, problems, lost });
      verifyMatch(frame, one, { balance, records, problems });
      if (one.entry.way === 'out' && one.to !== 'outside' && !records.cells.has(one.to))
        unborn.push({ where: problemLocation(frame, one.cell), parent: one.cell, child: one.to });
    }
    verifyGoals(frame, told, problems);
    if (frame.record.type === 'fork') {
      const { agent, withoutGrants = [] } = frame.record.amendment;
      for (const name of withoutGrants) lost.add(`${agent} ${name}`);
    }
  };
  /** Ids ride in their cell's next beginning, maybe after the refusal: so this is asked at the end. */
  const finish = (): void => {
    for (const { where, parent, child } of unborn) {
      const drawn = records.cells.get(parent)?.drawn;
      if (drawn !== undefined && drawn.size > 0 && !drawn.has(child))
        problems.add('crossing-ends', where, `a goal for ${child}, whose id was never drawn`);
    }
  };
  return { count, next, finish };
};

type Known = { readonly records: RunRecords; readonly problems: AuditProblems };

const verifyGrant = (frame: Frame, { cell, from, to, entry }: LedgerStatement, { records, problems }: Known): void => {
  const where = problemLocation(frame, cell);
  const granted = entry.verdict === 'granted';
  const isResult = entry.kind === 'dependency';
  if (granted ? !isResult && entry.grant !== entry.kind : entry.grant !== null)
    problems.add('crossing-grant', where, `entry ${entry.seq} (${entry.verdict}) names the grant ${entry.grant}`);
  if (granted && (entry.kind === 'message' || entry.kind === 'broadcast' || isResult)) {
    const told = { cell, from, to, entry };
    const fault = isResult ? dependencyFault(frame, told, records) : mailFault(frame, told, records);
    if (fault !== null) problems.add('crossing-grant', where, `entry ${entry.seq}: ${fault}`);
    return;
  }
  const family = familyOf(records, from, to);
  // Refused mail, and a note that mail was not read, may be between any two.
  if (entry.kind === 'message' && !granted) return;
  if (entry.kind === 'note' && frame.record.type === 'settle' && frame.record.ended?.cell === from) return;
  if (family === undefined) {
    // A child whose goal was refused is never born.
    const unborn = to !== 'outside' && !records.cells.has(to);
    if (granted || entry.kind !== 'goal' || !unborn)
      problems.add('crossing-ends', where, `entry ${entry.seq}: ${from} and ${to} are not parent and child`);
  } else if (granted && !allowed[family].includes(entry.kind))
    problems.add('crossing-grant', where, `entry ${entry.seq}: no grant lets a ${entry.kind} cross ${family}`);
  // What was said before is the caller's to hand over.
  const isTheirs = entry.kind === 'history' && from === 'outside';
  if (granted && family !== undefined && !isTheirs && !mayCross(records, family === 'down' ? to : from, entry.kind))
    problems.add('crossing-grant', where, `entry ${entry.seq}: the definition of its agent grants no ${entry.kind}`);
  if (granted && !isInTime(frame, entry.kind, { from, to }))
    problems.add('crossing-ends', where, `entry ${entry.seq}: a ${entry.kind} does not cross in such a record`);
};

/** From a fork on, an agent may have fewer grants than its definition. */
const verifyKept = (
  frame: Frame,
  { cell, from, to, entry }: LedgerStatement,
  { records, problems, lost }: Known & { readonly lost: ReadonlySet<string> },
): void => {
  if (lost.size === 0 || entry.verdict !== 'granted') return;
  const lower = familyOf(records, from, to) === 'down' ? to : from;
  const agent = lower === 'outside' ? undefined : records.cells.get(lower)?.birth.agent;
  if (lost.has(`${agent} ${entry.kind}`))
    problems.add('crossing-grant', problemLocation(frame, cell), `entry ${entry.seq}: the fork took that grant away`);
};

/** The grants are those that the lower cell's agent was recorded with. */
const mayCross = ({ cells, definitions }: RunRecords, lower: CrossingEnd, kind: CrossingKind): boolean => {
  const digest = lower === 'outside' ? undefined : cells.get(lower)?.birth.digest;
  const definition = digest === undefined ? undefined : definitions.get(digest);
  // A definition that is missing is a problem of its own.
  if (definition === undefined) return true;
  return kind === 'share' ? (definition.share ?? []).length > 0 : definition.grants.some((name) => name === kind);
};

type Family = 'down' | 'up';
const allowed: Record<Family, readonly CrossingKind[]> = {
  down: ['goal', 'note', 'share', 'history'],
  up: ['result', 'note'],
};

/** Down to a child or into the run, up to a parent or out of the run; else there is no way. */
const familyOf = ({ cells, root }: RunRecords, from: CrossingEnd, to: CrossingEnd): Family | undefined => {
  const rootCell = root?.birth.cell;
  const parentOf = (end: CrossingEnd): CrossingEnd | undefined => {
    if (end === 'outside') return undefined;
    return end === rootCell ? 'outside' : (cells.get(end)?.birth.parent ?? undefined);
  };
  if (parentOf(to) === from) return 'down';
  return parentOf(from) === to ? 'up' : undefined;
};

/** A goal crosses in the frame of its cell's birth, a result in the frame of its end. */
const isInTime = (
  { cell, record }: Frame,
  kind: CrossingKind,
  { from, to }: { from: CrossingEnd; to: CrossingEnd },
): boolean => {
  if (kind === 'goal') return (record.type === 'open' || record.type === 'begin') && record.birth?.cell === to;
  if (kind === 'share' || kind === 'history')
    return (
      (record.type === 'give' && record.to === to) ||
      ((record.type === 'open' || record.type === 'begin') && record.birth?.cell === to)
    );
  if (kind !== 'result') return true;
  return record.type === 'close' ? cell === from : record.type === 'settle' && record.ended?.cell === from;
};

/** As many `in` entries at the other end as `out` entries at this one, each telling the same. */
const verifyMatch = (
  frame: Frame,
  one: LedgerStatement,
  { balance, records, problems }: Known & { readonly balance: ReadonlyMap<string, number> },
): void => {
  const end = one.entry.way === 'in' ? one.from : one.to;
  if (end === 'outside' || !records.cells.has(end)) return;
  if (balance.get(fingerprint(one)) !== 0)
    problems.add(
      'crossing-unmatched',
      problemLocation(frame, one.cell),
      `entry ${one.entry.seq} (${one.entry.kind}, ${one.entry.way}) has no match in the ledger of ${end}`,
    );
};

/** How many more `in` entries than `out` entries tell each thing. */
const balanceOf = (told: readonly LedgerStatement[]): ReadonlyMap<string, number> => {
  const balance = new Map<string, number>();
  for (const one of told) {
    const key = fingerprint(one);
    balance.set(key, (balance.get(key) ?? 0) + (one.entry.way === 'in' ? 1 : -1));
  }
  return balance;
};

const fingerprint = ({ from, to, entry }: LedgerStatement): string => {
  const { kind, grant, sha256, bytes, tokens, labels, verdict } = entry;
  return canonicalJson({ from, to, kind, grant, sha256, bytes, tokens, labels, verdict } satisfies Record<
    string,
    Json
  >);
};

/** One goal, its first entry. A refused one bears no child; a run that was refused its goal is opened to say so. */
const verifyGoals = (frame: Frame, told: readonly LedgerStatement[], problems: AuditProblems): void => {
  const { record } = frame;
  const birth = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
  if (birth === undefined) return;
  const isResident = birth.spawned !== undefined;
  const goals = told.filter(({ cell, entry }) => cell === birth.cell && entry.way === 'in' && entry.kind === 'goal');
  const [first] = goals;
  const handed = first?.entry.verdict === 'granted' || record.type === 'open';
  // One that waits for mail needs none.
  if (isResident && goals.length === 0) return;
  if (goals.length !== 1 || first?.entry.seq !== 0 || !handed)
    problems.add('goal-missing', problemLocation(frame, birth.cell), 'the cell was not born with exactly one goal');
};
