// The people who send messages to a run from outside, publish in it, and ask its agents to finish.
import type { RunSession } from '#contracts';
import { errorCode } from './error-code.ts';
import type { FollowedSession } from './history.ts';
import type { RunPlan, SendPlan } from './plan.ts';
import type { Process } from './process.ts';

type SessionInProcess = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };

/** A sender without a reply may send the same again to the process that resumes the run. */
export const scheduleMail = (live: SessionInProcess, watched: FollowedSession, { sends, resident }: RunPlan): void => {
  const { process, resumed } = live;
  const { random, faults } = process.world;
  for (const send of sends) {
    if (resumed && random.chance(0.5)) continue;
    if (resumed) faults.count('mail: sent again');
    process.later(send.afterMs, 'send', () => sendPlanned(live, watched, send));
  }
  if (resident !== null) process.later(resident.finishAfterMs, 'finish', () => finish(live, watched, undefined));
};

const sendPlanned = (live: SessionInProcess, watched: FollowedSession, plan: SendPlan): void => {
  const { process, session } = live;
  const { random } = process.world;
  if (watched.endedAt !== null || !process.alive) return;
  const there = plan.to === 'any' ? session.agents().filter(({ mailbox }) => mailbox) : [];
  const one = there.length === 0 ? undefined : random.pick(there);
  const name = one && (random.chance(0.7) ? one.sub_agent_id : one.session_id);
  if (plan.what === 'finish') return one === undefined ? undefined : finish(live, watched, name);
  const text = `tell ${random.hex()}${plan.bytes === 0 ? '' : ` ${'word '.repeat(plan.bytes / 5)}`}`;
  const to = plan.to === 'nobody' ? 'nobody' : name;
  const sending = plan.what === 'publish' ? { topic: 'news' } : to === undefined ? {} : { to };
  const cell = plan.what === 'publish' || plan.to === 'nobody' ? null : (one?.cell ?? null);
  for (let nth = 0; nth < plan.times && process.alive; nth++) send(live, text, sending, cell);
};

type Sending = NonNullable<Parameters<RunSession['send']>[1]>;

const send = ({ process, session }: SessionInProcess, text: string, sending: Sending, cell: string | null): void => {
  const { world } = process;
  const writing = world.writings.findLast(({ run, process: no }) => run === session.run && no === process.no);
  const common = {
    process: process.no,
    run: session.run,
    bytes: Buffer.byteLength(text),
    after: writing?.frames.at(-1) ?? null,
    to: (cell ??
      (sending.to === undefined && sending.topic === undefined ? writing?.frames[0]?.cell : null) ??
      null) as never,
  };
  const words = `"${text.slice(0, 20)}" ${JSON.stringify(sending)}`;
  try {
    const id = session.send(text, sending);
    world.outsideMail.push({ ...common, code: null, result: id });
    world.trace.note(`run ${session.run} got ${words} in ${process.no}: ${id}`);
    world.faults.count('mail: from outside');
  } catch (error) {
    const code = errorCode(error);
    world.outsideMail.push({ ...common, code, result: String(error) });
    world.trace.note(`run ${session.run} refused ${words} in ${process.no}: ${code}`);
    world.faults.count(`mail refused: ${code}`);
  }
};

const finish = ({ process, session }: SessionInProcess, watched: FollowedSession, name: string | undefined): void => {
  const { world } = process;
  if (watched.endedAt !== null || !process.alive) return;
  try {
    session.finish(name);
    // A name may be the root's too.
    watched.askedToFinish = true;
    world.trace.note(`run ${session.run} is asked in ${process.no} to finish ${name ?? 'itself'}`);
    world.faults.count(name === undefined ? 'mail: asked to finish' : 'mail: an agent asked to finish');
  } catch (error) {
    const code = errorCode(error);
    world.trace.note(`run ${session.run} cannot in ${process.no} finish ${name ?? 'itself'}: ${code}`);
    if (code !== 'cell_ended' && code !== 'mail_ambiguous' && code !== 'mail_unknown')
      world.uncaught.push(String(error));
  }
};
