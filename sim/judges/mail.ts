// A message crosses once to each of those that it is for: under the true names of both ends, with a true count of what led to it.
import type { CellId } from '#base';
import type { DeadLetter, CrossingEnd, Frame, Mail } from '#contracts';
import type { Judge, Say } from './judge.ts';
import { argsOf, hasMail, nameOf, walkMail } from './mail-walk.ts';
import type { Letter, Resident, Step } from './mail-walk.ts';

export const mail: Judge = {
  name: 'mail crosses once, under true names',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const crossed = new Set<string>();
      const readers = new Map<CellId, Reader>();
      walkMail(run, (step) => {
        checks += step.letters.length;
        const { frame } = step;
        const reader = readers.get(frame.cell) ?? readerOf(step);
        readers.set(frame.cell, reader);
        for (const letter of step.letters) {
          if (letter.mail === null) continue;
          const key = `${letter.mail.id} to ${letter.to}`;
          if (crossed.has(key)) say(`${key} to cross once`, `it crosses again in frame ${frame.no}`);
          crossed.add(key);
          judgeEnds(step, letter, letter.mail, say);
          judgeHops(step, letter.mail, reader, say);
        }
        judgePost(step, reader, say);
        read(step, reader);
      });
    }
    return checks;
  },
};

/** What a cell has read since it was woken, who waits for its answer, and to whom it wrote. */
type Reader = {
  /** The most hops of what it had read when its model was asked last, and of all that it was handed since. */
  shown: number;
  handed: number;
  askers: readonly { readonly from: CrossingEnd; readonly id: string | null; readonly hops: number }[];
  written: Set<CrossingEnd>;
};

/** Whoever begins with something to do answers who asked for it. */
const readerOf = ({ frame: { cell }, living }: Step): Reader => {
  const from = living.get(cell)?.birth.parent ?? 'outside';
  return { shown: 0, handed: 0, askers: [{ from, id: null, hops: 0 }], written: new Set() };
};

const read = ({ frame, received, letters }: Step, reader: Reader): void => {
  const { record } = frame;
  if (frame.attempt !== undefined) reader.shown = reader.handed;
  if (record.type === 'post' && record.name === 'tool:send_message')
    for (const { to } of letters) reader.written.add(to);
  if (received === null || received.value === null) return;
  const mails = received.letters.flatMap(({ mail: one, from }) => (one === null ? [] : [{ ...one, from }]));
  if (received.receive.name === 'wait') {
    Object.assign(reader, { shown: 0, handed: 0, written: new Set() });
    reader.askers = mails.flatMap(({ message_type: type, id, from, hops }) =>
      type === 'message' ? [{ from, id, hops }] : [],
    );
  } else
    // Nobody can write to a person in another way than by an answer.
    reader.askers = [
      ...reader.askers,
      ...mails.flatMap(({ message_type: type, id, from, hops }) =>
        type === 'message' && from === 'outside' ? [{ from, id, hops }] : [],
      ),
    ];
  for (const { hops } of mails) reader.handed = Math.max(reader.handed, hops);
  if (received.receive.name === 'wait') reader.shown = reader.handed;
};

const judgeEnds = ({ frame, living, ended }: Step, { from, to, kind }: Letter, one: Mail, say: Say): void => {
  const where = `${one.id} in frame ${frame.no}`;
  const sender = frame.record.type === 'mail' ? 'outside' : frame.cell;
  if (from !== sender) say(`${where} to come from ${sender}`, `it comes from ${from}`);
  const at = (end: CrossingEnd): Resident | undefined =>
    end === 'outside' ? undefined : (living.get(end) ?? ended.get(end));
  const [writer, reader] = [at(from), at(to)];
  const name = writer === undefined ? null : nameOf(writer.birth);
  if (one.agent_id !== name) say(`${where} to name ${name} as its sender`, `it names ${one.agent_id}`);
  const readerName = reader === undefined ? 'person' : nameOf(reader.birth);
  if (one.recipient_id !== readerName)
    say(`${where} to name ${readerName} as its reader`, `it names ${one.recipient_id}`);
  if (one.at !== frame.at) say(`${where} to be of its time`, `it says ${one.at - frame.at} ms more`);
  if (kind === 'broadcast') {
    if (writer !== undefined && !writer.plan?.say.includes(one.topic ?? ''))
      say(`${where} on a topic of ${name}`, `${one.topic}`);
    if (reader !== undefined && !reader.heard.has(one.topic ?? ''))
      say(`${where} to reach those who hear ${one.topic}`, readerName);
  } else if (writer !== undefined && reader !== undefined && !(names(writer, reader) && names(reader, writer)))
    say(`${where} to pass between those who name each other`, `${name} and ${readerName}`);
};

const names = ({ birth, plan }: Resident, { birth: other }: Resident): boolean =>
  (plan?.messages ?? ['parent', 'children']).some(
    (name) =>
      (name === 'parent' && other.cell === birth.parent) ||
      (name === 'children' && other.parent === birth.cell) ||
      (name === 'siblings' && other.parent === birth.parent && birth.parent !== null) ||
      name === other.agent,
  );

/** One more than the most of what it has read; what it is handed just now may count, or not yet. */
const judgeHops = (
  { frame }: Step,
  { id, hops, message_type: type, correlation_id: answered }: Mail,
  reader: Reader,
  say: Say,
): void => {
  const { shown, handed, askers } = reader;
  const asker = askers.find((one) => one.id === answered);
  const [least, most] =
    frame.record.type === 'mail'
      ? [0, 0]
      : type === 'answer'
        ? [(asker?.hops ?? 0) + 1, (asker?.hops ?? 0) + 1]
        : [shown + 1, handed + 1];
  if (hops < least || hops > most) say(`${id} in frame ${frame.no} to have ${least} to ${most} hops`, `${hops}`);
};

const judgePost = (step: Step, reader: Reader, say: Say): void => {
  const { record } = step.frame;
  if (record.type !== 'post') return;
  if (!record.ok && record.failure?.code === 'defect')
    say('no defect', `frame ${step.frame.no}: ${record.failure.detail}`);
  if (record.name === 'tool:send_message') judgeSent(step, record, say);
  else if (record.name === 'tool:publish') judgePublished(step, record, say);
  else if (record.name === 'mail:answer') judgeAnswers(step, record, reader, say);
  else if (step.letters.length > 0) say(`no mail in frame ${step.frame.no}`, `${record.name} brings some`);
};

type Post = Extract<Frame['record'], { type: 'post' }>;

type Kept = { readonly text?: string; readonly id?: string; readonly dead?: readonly DeadLetter[] };

const toldIn = ({ value }: Post): Kept & { readonly success: boolean; readonly message: string | undefined } => {
  const kept = (value ?? {}) as Kept;
  const told = JSON.parse(kept.text ?? '{}') as { readonly success?: boolean; readonly message_id?: string };
  return { ...kept, success: told.success === true, message: told.message_id };
};

const judgeSent = ({ frame, letters, living }: Step, record: Post, say: Say): void => {
  const { success, message, dead = [] } = toldIn(record);
  const [letter] = letters;
  if (letters.length !== (success ? 1 : 0) || letter?.mail?.id !== (success ? message : undefined))
    return say(
      `frame ${frame.no} to send ${success ? message : 'nothing'}`,
      letters.map((one) => one.mail?.id).join(', '),
    );
  const args = argsOf(record.about);
  if (record.ok && !success && dead.length !== 1 && args !== null && String(args['message']).trim() !== '')
    say(`frame ${frame.no} to say why nothing was sent`, JSON.stringify(record.value ?? null));
  if (args === null || letter === undefined) return;
  const reader = letter.to === 'outside' ? undefined : living.get(letter.to)?.birth;
  const isMeant =
    args['to'] === 'parent'
      ? reader?.cell === living.get(frame.cell)?.birth.parent
      : reader !== undefined && (nameOf(reader) === args['to'] || reader.agent === args['to']);
  if (!isMeant) say(`frame ${frame.no} to write to ${String(args['to'])}`, `it writes to ${letter.to}`);
  if (letter.mail?.text !== args['message'])
    say(`the words of frame ${frame.no}`, letter.mail?.text.slice(0, 200) ?? '');
};

/** To everybody who lives and hears it, or it is said why not. */
const judgePublished = ({ frame, letters, living }: Step, record: Post, say: Say): void => {
  const { success, dead = [] } = toldIn(record);
  const { topic } = argsOf(record.about) ?? {};
  if (typeof topic !== 'string') return;
  const hearers = success
    ? [...living.values()].filter(({ heard, birth }) => heard.has(topic) && birth.cell !== frame.cell)
    : [];
  const reached = letters.filter(({ to }) => to !== 'outside').map(({ to }) => to);
  const missed = hearers.filter(
    ({ birth }) =>
      !reached.includes(birth.cell) && !dead.some(({ to, reason }) => to === nameOf(birth) && reason === 'overflow'),
  );
  if (missed.length > 0 || reached.length + dead.length !== hearers.length)
    say(
      `frame ${frame.no} to reach ${hearers.map(({ birth }) => birth.cell).join(', ') || 'nobody'}`,
      `it reaches ${reached.join(', ') || 'nobody'}`,
    );
};

/** To those who asked and were not written to; each once. */
const judgeAnswers = ({ frame, letters, living }: Step, record: Post, reader: Reader, say: Say): void => {
  const { dead = [] } = (record.value ?? {}) as Kept;
  const { written } = reader;
  // A root that its own agents woke speaks to the person.
  const isRoot = living.get(frame.cell)?.birth.parent === null && reader.askers.length === 0;
  const askers = isRoot ? [{ from: 'outside', id: null, hops: reader.handed } as const] : reader.askers;
  for (const { to, mail: one } of letters)
    if (!askers.some(({ from, id }) => from === to && id === one?.correlation_id))
      say(`frame ${frame.no} to answer those who asked`, `it answers ${to} about ${one?.correlation_id}`);
  const open = new Set(askers.flatMap(({ from }) => (written.has(from) ? [] : [from]))).size;
  const answered = letters.length + dead.length;
  if (record.ok && (answered < open || answered > askers.length))
    say(`${open} answers in frame ${frame.no}`, `${letters.length}, and ${dead.length} that nobody reads`);
  reader.askers = [];
};
