// Checks that mail passed only between agents that list each other, names its true sender, and was shown once.
//
//   audit-derives-relations. Relations between cells, and their topics, are derived here from birth records and definitions.
import type { CellId } from '#base';
import { decodeMail, decodeRoutedMessages } from '#contracts';
import type {
  AgentDefinition,
  CrossingEnd,
  Frame,
  LedgerEntry,
  Mail,
  ReceiveResult,
  RoutedMessages,
  TeamRules,
} from '#contracts';
import { isMadeBy } from '#core/rules';
import { problemLocation } from './problems.ts';
import type { AuditProblems, Check } from './problems.ts';
import type { CellRecords, RunRecords } from './records.ts';
import { handoverFault } from './verify-tasks.ts';

type MailStatement = {
  readonly cell: CellId;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly entry: LedgerEntry;
};

/** Why a message should not have crossed; null if it may. */
export const mailFault = (frame: Frame, statement: MailStatement, records: RunRecords): string | null => {
  const { from, to, entry } = statement;
  if (frame.record.type === 'begin') return handoverFault(frame, statement, records);
  if (!isInRightRecord(frame, from, to)) return `a ${entry.kind} cannot cross in such a record`;
  if (from === 'outside' || to === 'outside') return outsideFault(from, to, records);
  const [sender, reader] = [records.cells.get(from), records.cells.get(to)];
  if (sender === undefined || reader === undefined) return 'one of its ends does not exist';
  if (reader.end !== undefined) return 'its recipient had already ended';
  if (areTeammates(sender, reader, records)) return 'team members may only write to each other through the team';
  if (entry.kind === 'broadcast') return null;
  return lists(sender, reader, records) && lists(reader, sender, records)
    ? null
    : 'the definitions of its ends do not list each other';
};

/** A sender uses `post`; the operator uses `give` or `mail`. */
const isInRightRecord = ({ cell, record }: Frame, from: CrossingEnd, to: CrossingEnd): boolean => {
  if (record.type === 'post') return cell === from;
  return (
    (record.type === 'give' && record.to === to && from !== 'outside') || (record.type === 'mail' && from === 'outside')
  );
};

/** Only a root whose definition grants `result` may send mail out; the operator may send any mail in. */
const outsideFault = (from: CrossingEnd, to: CrossingEnd, { root, definitions, cells }: RunRecords): string | null => {
  if (from === 'outside') return null;
  const sender = cells.get(from);
  const definition = sender && definitions.get(sender.birth.digest);
  if (to !== 'outside' || definition === undefined) return 'one of its ends does not exist';
  if (sender?.birth.cell === root?.birth.cell && !definition.grants.includes('result'))
    return 'its agent does not allow results to leave';
  return null;
};

const areTeammates = (one: CellRecords, other: CellRecords, { cells, definitions }: RunRecords): boolean => {
  const parent = one.birth.parent === null ? undefined : cells.get(one.birth.parent);
  if (parent === undefined || other.birth.parent !== parent.birth.cell) return false;
  return definitions.get(parent.birth.digest)?.team !== undefined;
};

const lists = (one: CellRecords, other: CellRecords, { definitions }: RunRecords): boolean => {
  const definition = definitions.get(one.birth.digest);
  const listed = definition?.messages ?? (one.birth.spawned === undefined ? [] : ['parent', 'children']);
  const [mine, theirs] = [one.birth, other.birth];
  return listed.some(
    (name) =>
      (name === 'parent' && theirs.cell === mine.parent) ||
      (name === 'children' && theirs.parent === mine.cell) ||
      (name === 'siblings' && theirs.parent === mine.parent && mine.parent !== null) ||
      (name === theirs.agent && !['parent', 'children', 'siblings'].includes(name)),
  );
};

/** Runs after the frame is read. */
export const verifyMail = (records: RunRecords, problems: AuditProblems): Check => {
  const delivered = new SeenEntries();
  const shown = new SeenEntries();
  const waiting = new Set<string>();
  const next = (frame: Frame): void => {
    verifyHandedOut(frame, waiting, problems);
    for (const content of frame.contents ?? [])
      if (content.kind === 'message' || content.kind === 'broadcast') {
        const fault = contentFault(frame, content, records);
        if (fault !== null) problems.add('crossing-content', problemLocation(frame, content.cell), fault);
      }
    verifyReceive(frame, { records, delivered, problems });
    verifyShown(frame, { records, delivered, shown, problems });
  };
  const release = (cell: CellId): void => {
    delivered.release(cell);
    shown.release(cell);
  };
  return { next, release };
};

/** Entries of ledgers, as numbers: a long-lived agent has very many. */
class SeenEntries {
  readonly #byCell = new Map<CellId, Set<number>>();

  has(cell: CellId, seq: number): boolean {
    return this.#byCell.get(cell)?.has(seq) === true;
  }

  add(cell: CellId, seq: number): void {
    const seen = this.#byCell.get(cell) ?? new Set();
    this.#byCell.set(cell, seen.add(seq));
  }

  release(cell: CellId): void {
    this.#byCell.delete(cell);
  }
}

/** Checks the sender, recipient and topic that the message states. */
const contentFault = (
  frame: Frame,
  { from, to, kind, content }: NonNullable<Frame['contents']>[number],
  records: RunRecords,
): string | null => {
  const mail = frame.record.type === 'give' ? decodeRoutedMessages(content) : decodeMail(content);
  // Mail that a team hands to a member is checked with the tasks.
  if (frame.record.type === 'begin') return null;
  if (mail.agent_id !== endName(from, records, null)) return 'it names the wrong sender';
  if (
    mail.recipient_id !== endName(to, records, 'person') &&
    !isForwarded(mail, from, endDefinition(to, records)?.team)
  )
    return 'it names the wrong recipient';
  if (kind === 'message') return null;
  const { topic = '' } = mail as Mail;
  const [publisher, subscriber] = [endDefinition(from, records), endDefinition(to, records)];
  if (publisher !== undefined && publisher.topics?.say.includes(topic) !== true)
    return 'its sender may not publish on that topic';
  if (subscriber !== undefined && subscriber.topics?.hear.includes(topic) !== true)
    return 'its recipient may not subscribe to that topic';
  return frame.record.type === 'give' ? 'a broadcast cannot be given' : null;
};

/** A team receives mail for its members, from agents that may write to them and from outside. */
const isForwarded = (
  { recipient_id: reader, agent_id: sender }: Mail | RoutedMessages,
  from: CrossingEnd,
  team?: TeamRules,
): boolean => {
  if (team === undefined || !Object.hasOwn(team.members, reader)) return false;
  if (from === 'outside') return true;
  return Object.hasOwn(team.messages, sender ?? '') && team.messages[sender ?? '']!.includes(reader);
};

const endDefinition = (end: CrossingEnd, { cells, definitions }: RunRecords): AgentDefinition | undefined => {
  const birth = end === 'outside' ? undefined : cells.get(end)?.birth;
  return birth && definitions.get(birth.digest);
};

const endName = <T>(end: CrossingEnd, { cells }: RunRecords, outside: T): string | T => {
  if (end === 'outside') return outside;
  const birth = cells.get(end)?.birth;
  return birth?.spawned?.name ?? birth?.agent ?? end;
};

/** Only messages that crossed to the outside before are handed out, each once. */
const verifyHandedOut = (frame: Frame, waiting: Set<string>, problems: AuditProblems): void => {
  const { record, contents = [] } = frame;
  for (const { kind, to, content } of contents)
    if (to === 'outside' && (kind === 'message' || kind === 'broadcast')) waiting.add(decodeMail(content).id);
  if (record.type !== 'delivered') return;
  for (const id of record.messages)
    if (!waiting.delete(id))
      problems.add('operation-record', problemLocation(frame, frame.cell), `${id} was not waiting to be handed out`);
};

type CheckContext = { readonly records: RunRecords; readonly delivered: SeenEntries; readonly problems: AuditProblems };

/** A receive delivers messages from its own cell's mailbox, each once. */
const verifyReceive = (frame: Frame, { records, delivered, problems }: CheckContext): void => {
  const { record } = frame;
  const cell = records.cells.get(frame.cell);
  if (record.type !== 'settle' || cell?.operations.get(record.op)?.begin.do !== 'receive' || !record.ok) return;
  const where = problemLocation(frame, frame.cell, record.op);
  const { messages, expired = [] } = record.value as unknown as ReceiveResult;
  for (const seq of expired) {
    const { expires_at: end = Infinity } = decodeMail(cell.received.get(seq)?.content ?? '{}\n');
    if (end > frame.at) problems.add('operation-record', where, `it skips entry ${seq}, which had not expired`);
  }
  for (const seq of messages) {
    const received = cell.received.get(seq);
    if (received?.entry.verdict !== 'granted' || !mailKinds.includes(received.entry.kind))
      problems.add('operation-record', where, `it delivers entry ${seq}, which is not mail`);
    if (delivered.has(frame.cell, seq)) problems.add('operation-record', where, `it delivers entry ${seq} again`);
    delivered.add(frame.cell, seq);
  }
};

const mailKinds: readonly string[] = ['message', 'broadcast', 'result'];

/** Mail is shown only after it was received, by the rules for mail, and once. */
const verifyShown = (
  { attempt, cell, ...frame }: Frame,
  { delivered, shown, problems }: CheckContext & { readonly shown: SeenEntries },
): void => {
  const added = attempt?.changes.flatMap((change) => ('add' in change ? change.add : [])) ?? [];
  for (const { origin, id } of added) {
    if (isMadeBy(origin.rule, 'task-messages'))
      for (const source of origin.of) if (source.from === 'crossing') shown.add(cell, source.seq);
    if (!isMadeBy(origin.rule, 'mail', 'received')) continue;
    for (const source of origin.of) {
      if (source.from !== 'crossing') continue;
      const { seq } = source;
      const wasShown = shown.has(cell, seq);
      const fault = !delivered.has(cell, seq) ? 'mail that was never received' : wasShown ? 'mail a second time' : null;
      if (fault !== null)
        problems.add('prompt-source', problemLocation({ ...frame, cell }), `segment ${id} shows ${fault}`);
      shown.add(cell, seq);
    }
  }
};
