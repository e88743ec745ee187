// Did mail pass only between those whose definitions name each other, from whom it says, and was it shown once.
//
//   A6. Who is whose parent, child or sibling, and which topics are whose, is worked out here from births and definitions.
import { decodeMessage } from '#base';
import type { CellId } from '#base';
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
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { CellRecords, RunRecords } from './records.ts';
import { handoverFault } from './verify-tasks.ts';

type MailStatement = {
  readonly cell: CellId;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly entry: LedgerEntry;
};

/** Why a message that crossed should not have; null when it should. */
export const mailFault = (frame: Frame, told: MailStatement, records: RunRecords): string | null => {
  const { from, to, entry } = told;
  if (frame.record.type === 'begin') return handoverFault(frame, told, records);
  if (!isInPlace(frame, from, to)) return `a ${entry.kind} does not cross in such a record`;
  if (from === 'outside' || to === 'outside') return outsideFault(from, to, records);
  const [sender, reader] = [records.cells.get(from), records.cells.get(to)];
  if (sender === undefined || reader === undefined) return 'one of its ends was never born';
  if (reader.end !== undefined) return 'its reader had ended';
  if (areMates(sender, reader, records)) return 'members of a team write to each other through it';
  if (entry.kind === 'broadcast') return null;
  return names(sender, reader, records) && names(reader, sender, records)
    ? null
    : 'the definitions of its ends do not name each other';
};

/** A sender posts, an operator gives or mails. */
const isInPlace = ({ cell, record }: Frame, from: CrossingEnd, to: CrossingEnd): boolean => {
  if (record.type === 'post') return cell === from;
  return (
    (record.type === 'give' && record.to === to && from !== 'outside') || (record.type === 'mail' && from === 'outside')
  );
};

/** What goes out is the root's to say, as far as its definition lets results out; what comes in is the operator's. */
const outsideFault = (from: CrossingEnd, to: CrossingEnd, { root, definitions, cells }: RunRecords): string | null => {
  if (from === 'outside') return null;
  const sender = cells.get(from);
  const definition = sender && definitions.get(sender.birth.digest);
  if (to !== 'outside' || definition === undefined) return 'one of its ends was never born';
  if (sender?.birth.cell === root?.birth.cell && !definition.grants.includes('result'))
    return 'its agent lets no results out';
  return null;
};

const areMates = (one: CellRecords, other: CellRecords, { cells, definitions }: RunRecords): boolean => {
  const parent = one.birth.parent === null ? undefined : cells.get(one.birth.parent);
  if (parent === undefined || other.birth.parent !== parent.birth.cell) return false;
  return definitions.get(parent.birth.digest)?.team !== undefined;
};

const names = (one: CellRecords, other: CellRecords, { definitions }: RunRecords): boolean => {
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

/** Looks after the frame is read. */
export const verifyMail = (records: RunRecords, problems: AuditProblems): ((frame: Frame) => void) => {
  const delivered = new Set<string>();
  const shown = new Set<string>();
  return (frame) => {
    for (const content of frame.contents ?? [])
      if (content.kind === 'message' || content.kind === 'broadcast') {
        const fault = contentFault(frame, content, records);
        if (fault !== null) problems.add('crossing-content', problemLocation(frame, content.cell), fault);
      }
    verifyReceive(frame, { records, delivered, problems });
    verifyShown(frame, { records, delivered, shown, problems });
  };
};

/** What it says of itself: the sender, the reader, the topic. */
const contentFault = (
  frame: Frame,
  { from, to, kind, content }: NonNullable<Frame['contents']>[number],
  records: RunRecords,
): string | null => {
  const mail =
    frame.record.type === 'give' ? (JSON.parse(content) as RoutedMessages) : (decodeMessage(content) as Mail);
  // What a team hands to one of its own says who wrote it: that is looked at with tasks.
  if (frame.record.type === 'begin') return null;
  if (mail.agent_id !== nameOf(from, records, null)) return 'it names another sender';
  if (mail.recipient_id !== nameOf(to, records, 'person') && !isForwarded(mail, from, definitionOf(to, records)?.team))
    return 'it names another reader';
  if (kind === 'message') return null;
  const { topic = '' } = mail as Mail;
  const [speaker, hearer] = [definitionOf(from, records), definitionOf(to, records)];
  if (speaker !== undefined && speaker.topics?.say.includes(topic) !== true)
    return 'its sender may not speak on that topic';
  if (hearer !== undefined && hearer.topics?.hear.includes(topic) !== true) return 'its reader may not hear that topic';
  return frame.record.type === 'give' ? 'a broadcast is not given' : null;
};

/** A team takes the mail of its members, from those who may write to them and from outside. */
const isForwarded = (
  { recipient_id: reader, agent_id: sender }: Mail | RoutedMessages,
  from: CrossingEnd,
  team?: TeamRules,
): boolean => {
  if (team === undefined || !Object.hasOwn(team.members, reader)) return false;
  if (from === 'outside') return true;
  return Object.hasOwn(team.messages, sender ?? '') && team.messages[sender ?? '']!.includes(reader);
};

const definitionOf = (end: CrossingEnd, { cells, definitions }: RunRecords): AgentDefinition | undefined => {
  const birth = end === 'outside' ? undefined : cells.get(end)?.birth;
  return birth && definitions.get(birth.digest);
};

const nameOf = <T>(end: CrossingEnd, { cells }: RunRecords, outside: T): string | T => {
  if (end === 'outside') return outside;
  const birth = cells.get(end)?.birth;
  return birth?.spawned?.name ?? birth?.agent ?? end;
};

type Known = { readonly records: RunRecords; readonly delivered: Set<string>; readonly problems: AuditProblems };

/** A receive hands out what lies in its own cell's box, once. */
const verifyReceive = (frame: Frame, { records, delivered, problems }: Known): void => {
  const { record } = frame;
  const cell = records.cells.get(frame.cell);
  if (record.type !== 'settle' || cell?.operations.get(record.op)?.begin.do !== 'receive' || !record.ok) return;
  const where = problemLocation(frame, frame.cell, record.op);
  const { messages, expired = [] } = record.value as unknown as ReceiveResult;
  for (const seq of expired) {
    const { expires_at: end = Infinity } = decodeMessage(cell.received.get(seq)?.content ?? '{}\n') as Mail;
    if (end > frame.at) problems.add('operation-record', where, `it leaves out entry ${seq}, which was not late`);
  }
  for (const seq of messages) {
    const received = cell.received.get(seq);
    if (received?.entry.verdict !== 'granted' || !mailKinds.includes(received.entry.kind))
      problems.add('operation-record', where, `it hands out entry ${seq}, which is no mail`);
    if (delivered.has(`${frame.cell}/${seq}`))
      problems.add('operation-record', where, `it hands out entry ${seq} again`);
    delivered.add(`${frame.cell}/${seq}`);
  }
};

const mailKinds: readonly string[] = ['message', 'broadcast', 'result'];

/** Mail is shown after it was received, by the rules for mail, and once. */
const verifyShown = (
  { attempt, cell, ...frame }: Frame,
  { delivered, shown, problems }: Known & { readonly shown: Set<string> },
): void => {
  const added = attempt?.changes.flatMap((change) => ('add' in change ? change.add : [])) ?? [];
  for (const { origin, id } of added) {
    if (origin.rule === 'task-messages@1')
      for (const source of origin.of) if (source.from === 'crossing') shown.add(`${cell}/${source.seq}`);
    if (origin.rule !== 'mail@1' && origin.rule !== 'received@1') continue;
    for (const source of origin.of) {
      if (source.from !== 'crossing') continue;
      const key = `${cell}/${source.seq}`;
      const fault = !delivered.has(key) ? 'mail that was not received' : shown.has(key) ? 'mail a second time' : null;
      if (fault !== null)
        problems.add('prompt-source', problemLocation({ ...frame, cell }), `segment ${id} shows ${fault}`);
      shown.add(key);
    }
  }
};
