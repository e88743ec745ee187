// The people who send messages to a run from outside, publish in it, and ask its agents to finish.
import type { LiveAgent, RunSession } from '#contracts';
import { withChildren } from './agents.ts';
import { errorCode } from './error-code.ts';
import { awaitReceipt } from './receipts.ts';
import type { SessionInProcess } from './receipts.ts';
import type { FollowedSession, OutsideMail } from './history.ts';
import type { RunPlan, SendPlan } from './plan.ts';

/** A sender without a reply may send the same again to the process that resumes the run. */
export const scheduleMail = (
  live: SessionInProcess & { readonly resumed: boolean },
  watched: FollowedSession,
  run: RunPlan,
): void => {
  const { sends, resident } = run;
  const { process, resumed } = live;
  const { random, faults } = process.world;
  for (const send of sends) {
    if (resumed && random.chance(0.5)) continue;
    if (resumed) faults.count('mail: sent again');
    process.later(send.afterMs, 'send', () => sendPlanned(live, watched, { ...send, run }));
  }
  if (resident !== null) process.later(resident.finishAfterMs, 'finish', () => finish(live, watched, undefined));
};

type RunSendPlan = SendPlan & { readonly run: RunPlan };

const sendPlanned = (live: SessionInProcess, watched: FollowedSession, plan: RunSendPlan): void => {
  const { process, session } = live;
  const { random } = process.world;
  if (watched.endedAt !== null || !process.alive) return;
  const there = plan.to === 'any' ? session.agents().filter(({ mailbox }) => mailbox) : [];
  const one = there.length === 0 ? undefined : random.pick(there);
  const name = one && (random.chance(0.7) ? one.sub_agent_id : one.session_id);
  if (plan.what === 'spawn') return void spawn(live, one, plan);
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
    const sent: OutsideMail = { ...common, code: null, result: id, hasReceipt: false };
    world.outsideMail.push(sent);
    // What is published reaches those who hear it then, perhaps nobody.
    if (world.givesReceipts && sending.topic === undefined)
      void awaitReceipt({ process, session }, () => (sent.hasReceipt = true));
    world.trace.note(`run ${session.run} got ${words} in ${process.no}: ${id}`);
    world.faults.count('mail: from outside');
  } catch (error) {
    const code = errorCode(error);
    world.outsideMail.push({ ...common, code, result: String(error), hasReceipt: false });
    world.trace.note(`run ${session.run} refused ${words} in ${process.no}: ${code}`);
    world.faults.count(`mail refused: ${code}`);
  }
};

/** Mostly an agent that the one above may start. */
const spawn = async (
  { process, session }: SessionInProcess,
  parent: LiveAgent | undefined,
  { to, run }: RunSendPlan,
): Promise<void> => {
  const { world } = process;
  const { random } = world;
  const all = withChildren(run.agent);
  const above = all.find(({ name }) => name === (parent?.agent ?? run.agent.name));
  const names = (random.chance(0.85) ? (above?.mail?.spawns?.agents ?? all) : all).map(({ name }) => name);
  for (let left = random.int(1, 6); left > 0 && process.alive; left--) {
    const request = {
      agent: random.pick([...names, 'self']),
      ...(random.chance(0.7) ? { goal: `do ${random.hex()}` } : {}),
      ...(to === 'nobody' ? { parent: 'nobody' } : parent === undefined ? {} : { parent: parent.session_id }),
    };
    const words = JSON.stringify(request);
    try {
      const { cell } = await session.spawn(request);
      world.trace.note(`run ${session.run} was given ${words} in ${process.no}: ${cell}`);
      world.faults.count('spawn: from outside');
    } catch (error) {
      const code = errorCode(error);
      world.trace.note(`run ${session.run} refused ${words} in ${process.no}: ${code}`);
      world.faults.count(`spawn refused: ${code}`);
      if (!spawnCodes.includes(code)) world.uncaught.push(String(error));
    }
  }
};

const spawnCodes = ['spawn_refused', 'cell_ended', 'mail_unknown', 'mail_ambiguous'];

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
