// Checks that only granted content crossed, and that the ledgers of both ends agree. Runs after the frame is read.
//
//   audit-derives-grants. Grants are derived here from the tree of cells, not taken from what the log claims.
import { canonicalJson } from '#base';
import type { CellId, Json } from '#base';
import type { CrossingKind, CrossingEnd, Frame, LedgerEntry } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { RunRecords } from './records.ts';
import { mailFault } from './verify-mail.ts';
import { dependencyFault } from './verify-tasks.ts';
import { crossingEnds } from './verify-ledger.ts';

type LedgerStatement = {
  readonly cell: CellId;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly entry: LedgerEntry;
};

export const verifyCrossings = (records: RunRecords, problems: AuditProblems) => {
  const count = { crossings: 0, refused: 0 };
  const revokedGrants = new Set<string>();
  const uncreated: { readonly where: string; readonly parent: CellId; readonly child: CellId }[] = [];
  const next = (frame: Frame): void => {
    const statements = (frame.links ?? []).flatMap(({ cell, entries }) =>
      entries.map((entry): LedgerStatement => {
        const [from, to] = crossingEnds(cell, entry);
        return { cell, from, to, entry };
      }),
    );
    const balance = countBalance(statements);
    for (const one of statements) {
      if (one.entry.way === 'out' || one.from === 'outside')
        count[one.entry.verdict === 'granted' ? 'crossings' : 'refused']++;
      verifyGrant(frame, one, { records, problems });
      verifyForkGrants(frame, one, { records, problems, lost: revokedGrants });
      verifyMatch(frame, one, { balance, records, problems });
      if (one.entry.way === 'out' && one.to !== 'outside' && !records.cells.has(one.to))
        uncreated.push({ where: problemLocation(frame, one.cell), parent: one.cell, child: one.to });
    }
    verifyGoals(frame, statements, problems);
    if (frame.record.type === 'fork') {
      const { agent, withoutGrants = [] } = frame.record.amendment;
      for (const name of withoutGrants) revokedGrants.add(`${agent} ${name}`);
    }
  };
  /** Drawn ids are recorded in their cell's next begin frame, which may come after a refusal, so this check runs at the end. */
  const finish = (): void => {
    for (const { where, parent, child } of uncreated) {
      const drawn = records.cells.get(parent)?.drawnIds;
      if (drawn !== undefined && drawn.size > 0 && !drawn.has(child))
        problems.add('crossing-ends', where, `a goal for ${child}, an id that was never drawn`);
    }
  };
  return { count, next, finish };
};

type CheckContext = { readonly records: RunRecords; readonly problems: AuditProblems };

const verifyGrant = (
  frame: Frame,
  { cell, from, to, entry }: LedgerStatement,
  { records, problems }: CheckContext,
): void => {
  const where = problemLocation(frame, cell);
  const granted = entry.verdict === 'granted';
  const isResult = entry.kind === 'dependency';
  if (granted ? !isResult && entry.grant !== entry.kind : entry.grant !== null)
    problems.add('crossing-grant', where, `entry ${entry.seq} (${entry.verdict}) uses the grant ${entry.grant}`);
  if (granted && (entry.kind === 'message' || entry.kind === 'broadcast' || isResult)) {
    const statement = { cell, from, to, entry };
    const fault = isResult ? dependencyFault(frame, statement, records) : mailFault(frame, statement, records);
    if (fault !== null) problems.add('crossing-grant', where, `entry ${entry.seq}: ${fault}`);
    return;
  }
  if (granted && entry.kind === 'answer') {
    const fault = answerFault(frame, { cell, from, to, entry });
    if (fault !== null) problems.add('crossing-ends', where, `entry ${entry.seq}: ${fault}`);
    return;
  }
  const direction = isOutsideSpawn(frame, from, to) ? 'down' : familyDirection(records, from, to);
  // Refused mail, and a note that mail was not read, can be between any two cells.
  if (entry.kind === 'message' && !granted) return;
  if (entry.kind === 'note' && frame.record.type === 'settle' && frame.record.ended?.cell === from) return;
  if (direction === undefined) {
    // A child whose goal was refused is never created.
    const isUncreated = to !== 'outside' && !records.cells.has(to);
    if (granted || entry.kind !== 'goal' || !isUncreated)
      problems.add('crossing-ends', where, `entry ${entry.seq}: ${from} and ${to} are not parent and child`);
  } else if (granted && !allowed[direction].includes(entry.kind))
    problems.add('crossing-grant', where, `entry ${entry.seq}: no grant lets a ${entry.kind} cross ${direction}`);
  // A caller may always pass in its own history and instructions, and the files that the agent wrote in the same conversation.
  const isCallersOwn =
    (entry.kind === 'history' || entry.kind === 'file' || entry.kind === 'share' || entry.kind === 'tools') &&
    from === 'outside';
  if (
    granted &&
    direction !== undefined &&
    !isCallersOwn &&
    !mayCross(records, direction === 'down' ? to : from, entry.kind)
  )
    problems.add('crossing-grant', where, `entry ${entry.seq}: its agent's definition does not grant ${entry.kind}`);
  if (granted && !isInRightRecord(frame, entry.kind, { from, to }))
    problems.add('crossing-ends', where, `entry ${entry.seq}: a ${entry.kind} cannot cross in such a record`);
};

/** An answer crosses with the ruling that gives it, and says what the ruling says. */
const answerFault = ({ cell, record, contents }: Frame, { from, to, entry }: LedgerStatement): string | null => {
  if (from !== 'outside' || to !== cell || record.type !== 'ruling') return 'an answer cannot cross in such a record';
  const content = contents?.find((one) => one.cell === cell && one.seq === entry.seq)?.content ?? '{}';
  const { text, args } = JSON.parse(content) as { readonly text?: Json; readonly args?: Json };
  // What a client's tool returned is not repeated in the ruling.
  const isResult = record.reason === undefined && record.right === 'caller';
  const isSaid = text === undefined || text === record.reason || isResult;
  const isWritten = canonicalJson(args ?? null) === canonicalJson(record.args ?? null);
  return isSaid && isWritten ? null : 'the answer is not what the ruling says';
};

/** After a fork, an agent may have fewer grants than its definition says. */
const verifyForkGrants = (
  frame: Frame,
  { cell, from, to, entry }: LedgerStatement,
  { records, problems, lost: revokedGrants }: CheckContext & { readonly lost: ReadonlySet<string> },
): void => {
  if (revokedGrants.size === 0 || entry.verdict !== 'granted') return;
  const lower = familyDirection(records, from, to) === 'down' ? to : from;
  const agent = lower === 'outside' ? undefined : records.cells.get(lower)?.birth.agent;
  if (revokedGrants.has(`${agent} ${entry.kind}`))
    problems.add('crossing-grant', problemLocation(frame, cell), `entry ${entry.seq}: the fork removed that grant`);
};

/** The grants are those recorded in the definition of the lower cell's agent. */
const mayCross = ({ cells, definitions }: RunRecords, lower: CrossingEnd, kind: CrossingKind): boolean => {
  const digest = lower === 'outside' ? undefined : cells.get(lower)?.birth.digest;
  const definition = digest === undefined ? undefined : definitions.get(digest);
  // A missing definition is reported separately.
  if (definition === undefined) return true;
  if (kind === 'share') return (definition.share ?? []).length > 0;
  // Files are part of the request.
  const granted = kind === 'attachment' ? 'goal' : kind;
  return definition.grants.some((name) => name === granted);
};

type Direction = 'down' | 'up';
const allowed: Record<Direction, readonly CrossingKind[]> = {
  down: ['goal', 'note', 'share', 'history', 'file', 'attachment', 'tools'],
  up: ['result', 'note'],
};

/** `down`: to a child or into the run. `up`: to a parent or out of the run. Undefined: the two are not related. */
const familyDirection = ({ cells, root }: RunRecords, from: CrossingEnd, to: CrossingEnd): Direction | undefined => {
  const rootCell = root?.birth.cell;
  const parentOf = (end: CrossingEnd): CrossingEnd | undefined => {
    if (end === 'outside') return undefined;
    return end === rootCell ? 'outside' : (cells.get(end)?.birth.parent ?? undefined);
  };
  if (parentOf(to) === from) return 'down';
  return parentOf(from) === to ? 'up' : undefined;
};

/** Somebody outside started the cell, under another one. */
const isOutsideSpawn = ({ record }: Frame, from: CrossingEnd, to: CrossingEnd): boolean =>
  from === 'outside' && record.type === 'begin' && record.op < 0 && record.birth?.cell === to;

/** A goal crosses in the frame that creates its cell, a result in the frame that ends it, and files in the first frame of a turn. */
const isInRightRecord = (
  { cell, record }: Frame,
  kind: CrossingKind,
  { from, to }: { from: CrossingEnd; to: CrossingEnd },
): boolean => {
  if (kind === 'goal') return (record.type === 'open' || record.type === 'begin') && record.birth?.cell === to;
  if (kind === 'file') return record.type === 'open' && record.birth.cell === to && record.conversation !== undefined;
  if ((kind === 'share' && from === 'outside') || kind === 'attachment')
    return record.type === 'open' && record.birth.cell === to;
  if (kind === 'tools') return record.type === 'give' && record.to === to;
  if (kind === 'share' || kind === 'history')
    return (
      (record.type === 'give' && record.to === to) ||
      ((record.type === 'open' || record.type === 'begin') && record.birth?.cell === to)
    );
  if (kind !== 'result') return true;
  return record.type === 'close' ? cell === from : record.type === 'settle' && record.ended?.cell === from;
};

/** There must be as many `in` entries at one end as equal `out` entries at the other. */
const verifyMatch = (
  frame: Frame,
  one: LedgerStatement,
  { balance, records, problems }: CheckContext & { readonly balance: ReadonlyMap<string, number> },
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

/** For each fingerprint, the number of `in` entries minus the number of `out` entries. */
const countBalance = (statements: readonly LedgerStatement[]): ReadonlyMap<string, number> => {
  const balance = new Map<string, number>();
  for (const one of statements) {
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

/** A cell has exactly one goal, as its first entry. A refused goal creates no child, but a run whose goal is refused is still opened to record that. */
const verifyGoals = (frame: Frame, statements: readonly LedgerStatement[], problems: AuditProblems): void => {
  const { record } = frame;
  const birth = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
  if (birth === undefined) return;
  const isResident = birth.spawned !== undefined;
  const goals = statements.filter(
    ({ cell, entry }) => cell === birth.cell && entry.way === 'in' && entry.kind === 'goal',
  );
  const [first] = goals;
  const wasPassed = first?.entry.verdict === 'granted' || record.type === 'open';
  // A resident that waits for mail needs no goal.
  if (isResident && goals.length === 0) return;
  if (goals.length !== 1 || first?.entry.seq !== 0 || !wasPassed)
    problems.add('goal-missing', problemLocation(frame, birth.cell), 'the cell did not start with exactly one goal');
};
