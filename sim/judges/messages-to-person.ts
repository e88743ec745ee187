// What agents say to the person: handed out, then recorded as delivered, and nothing is lost in a crash. A session that is
// resumed has the agents that it had before, and finishes only when asked.
import { decodeMail } from '#contracts';
import type { Frame, ReceiveResult } from '#contracts';
import type { FollowedSession, History, RunHistory, Writing } from '../history.ts';
import type { Judge, ReportProblem } from './judge.ts';

export const messagesToPerson: Judge = {
  name: 'messages to the person are delivered when taken',
  check: (history, report) => {
    let checks = checkRecords(history, report);
    for (const session of history.sessions) {
      const run = history.runs.find((one) => one.run === session.run);
      if (run === undefined || session.taken === null) continue;
      checks += checkTaken(session, run, history, report);
    }
    return checks;
  },
};

export const resumedAgents: Judge = {
  name: 'a resumed session has its agents, and finishes only when asked',
  check: ({ sessions, runs, writings, signals }, report) => {
    let checks = 0;
    for (const session of sessions) {
      const run = runs.find((one) => one.run === session.run);
      const own = writingOf(session, writings);
      if (run === undefined || own === undefined) continue;
      if (session.agentsWhenBack !== null) checks += checkAgentsWhenBack(session, run, own, report);
      const isSignalled = signals.some((one) => one.run === run.run && one.command.do === 'finish');
      if (!isSignalled) checks += checkClosing(session, run, own, report);
    }
    return checks;
  },
};

const writingOf = ({ run, process, startedAt, resumed }: FollowedSession, writings: readonly Writing[]) => {
  const own = writings.filter((one) => one.run === run && one.process === process);
  return resumed ? own.findLast((one) => one.ownedAt <= startedAt) : own[0];
};

/** The first frame that a process wrote itself: a fork begins with a copy, whose messages were handed out in the other run. */
const firstOwn = ({ frames }: Writing): number => frames.findLastIndex(({ record }) => record.type === 'fork') + 1;

/** A process that records a message as delivered has handed it out before. */
const checkRecords = ({ writings, sessions }: History, report: ReportProblem): number => {
  let checks = 0;
  for (const writing of writings) {
    const { process, run, frames } = writing;
    const first = firstOwn(writing);
    for (const [index, { record }] of frames.entries()) {
      if (record.type !== 'delivered' || index < first) continue;
      for (const id of record.messages) {
        checks++;
        const isTaken = sessions.some(
          (one) =>
            one.process === process &&
            one.run === run &&
            one.taken?.some((taken) => taken.id === id && taken.after <= index) === true,
        );
        if (!isTaken)
          report(`${id} of run ${run} to be handed out before it is recorded`, `process ${process} did not`);
      }
    }
  }
  return checks;
};

const checkTaken = (session: FollowedSession, run: RunHistory, history: History, report: ReportProblem): number => {
  const own = writingOf(session, history.writings);
  const { taken, process } = session;
  const stored = messagesIn(run.frames);
  const before = deliveredBefore(run.frames, own);
  const start = own?.frames[0]?.no ?? Infinity;
  const seen = new Set<string>();
  for (const { id, text, onDisk } of taken ?? []) {
    const where = `${id} of run ${run.run} in process ${process}`;
    const message = stored.get(id);
    if (seen.has(id)) report(`${where} once`, 'it was handed out twice');
    if (before.has(id)) report(`${where} not again`, 'it was recorded as delivered before');
    // It is the run's own, and what was handed out was durable.
    if (message?.text !== text) report(`${where} as the log has it`, `"${text}", not "${message?.text}"`);
    else if (message.no >= onDisk) report(`${where} once it is durable`, `frame ${message.no} was not`);
    seen.add(id);
  }
  // Not what the run said later, in another process: if the store fails, a process may even have written an end that is lost.
  const until = start + (own?.acknowledged ?? 0);
  if (session.heardAll && until < Infinity)
    for (const [id, { no }] of stored)
      if (no < until && !seen.has(id) && !before.has(id))
        report(`${id} of run ${run.run}`, `nobody got it in process ${process}`);
  return seen.size;
};

/** Messages to the person, with the text that is shown. */
const messagesIn = (frames: readonly Frame[]): ReadonlyMap<string, { readonly text: string; readonly no: number }> =>
  new Map(
    frames.flatMap(({ no, record, contents = [] }) =>
      contents
        .filter(({ kind, to }) => kind === 'message' && to === 'outside')
        .map(({ content }) => {
          const { id, text } = decodeMail(content);
          const status = record.type === 'post' ? record.about?.['status'] : undefined;
          return [id, { text: status === 'completed' || status === 'partial' ? text : '', no }] as const;
        }),
    ),
  );

/** Recorded as delivered before this process continued the run. */
const deliveredBefore = (frames: readonly Frame[], own: Writing | undefined): ReadonlySet<string> => {
  const first = own === undefined ? Infinity : (own.frames[firstOwn(own)]?.no ?? Infinity);
  return new Set(
    frames.flatMap(({ no, record }) => (record.type === 'delivered' && no < first ? record.messages : [])),
  );
};

const checkAgentsWhenBack = (
  { agentsWhenBack, process }: FollowedSession,
  { run, frames }: RunHistory,
  own: Writing,
  report: ReportProblem,
): number => {
  const until = agentsWhenBack!.after;
  const live = new Set<string>();
  const spawned = new Set<string>();
  for (const { no, record, cell } of [...frames.slice(0, own.frames[0]?.no ?? frames.length), ...own.frames]) {
    if (no > until) break;
    if ((record.type === 'open' || record.type === 'begin') && record.birth !== undefined) {
      live.add(record.birth.cell);
      if (record.birth.spawned !== undefined) spawned.add(record.birth.cell);
    }
    const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
    if (over !== undefined) {
      live.delete(over);
      spawned.delete(over);
    }
  }
  for (const cell of spawned)
    if (!agentsWhenBack!.cells.includes(cell as never))
      report(`${cell} of run ${run} to live on`, `process ${process} lost it`);
  for (const cell of agentsWhenBack!.cells)
    if (!live.has(cell)) report(`only live agents of run ${run}`, `${cell} in process ${process}`);
  return agentsWhenBack!.cells.length;
};

/** A root is told to finish only if somebody asked for that in this process. */
const checkClosing = (
  { askedToFinish, process }: FollowedSession,
  { run, frames }: RunHistory,
  own: Writing,
  report: ReportProblem,
): number => {
  const first = frames[0];
  // A team is asked to finish in other ways too.
  if (first?.record.type !== 'open' || first.record.birth.spawned === undefined) return 0;
  const root = first.cell;
  const closing = own.frames.filter(({ record, cell }) => {
    if (record.type !== 'settle' || !record.ok || cell !== root) return false;
    const { messages, closing: isClosing } = (record.value ?? {}) as Partial<ReceiveResult>;
    return isClosing === true && Array.isArray(messages);
  });
  if (closing.length > 0 && !askedToFinish) report(`run ${run} to go on`, `process ${process} told its root to finish`);
  return closing.length;
};
