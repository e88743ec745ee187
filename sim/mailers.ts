// The people who write to a run from outside, publish in it, and ask its agents to finish.
import type { RunSession } from '#contracts';
import { codeOf } from './code-of.ts';
import type { Following } from './history.ts';
import type { RunPlan, SendPlan } from './plan.ts';
import type { Process } from './process.ts';

type Followed = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };

/** Whoever has had no answer may write the same again to whoever goes on with the run. */
export const mailAsPlanned = (followed: Followed, following: Following, { sends, resident }: RunPlan): void => {
  const { process, resumed } = followed;
  const { random, faults } = process.world;
  for (const send of sends) {
    if (resumed && random.chance(0.5)) continue;
    if (resumed) faults.count('mail: sent again');
    process.later(send.afterMs, 'send', () => mail(followed, following, send));
  }
  if (resident !== null) process.later(resident.finishAfterMs, 'finish', () => finish(followed, following, undefined));
};

const mail = (followed: Followed, following: Following, plan: SendPlan): void => {
  const { process, session } = followed;
  const { random } = process.world;
  if (following.endedAt !== null || !process.alive) return;
  const there = plan.to === 'any' ? session.agents() : [];
  const one = there.length === 0 ? undefined : random.pick(there);
  const name = one && (random.chance(0.7) ? one.sub_agent_id : one.session_id);
  if (plan.what === 'finish') return one === undefined ? undefined : finish(followed, following, name);
  const text = `tell ${random.hex()}${plan.bytes === 0 ? '' : ` ${'word '.repeat(plan.bytes / 5)}`}`;
  const to = plan.to === 'nobody' ? 'nobody' : name;
  const sending = plan.what === 'publish' ? { topic: 'news' } : to === undefined ? {} : { to };
  const cell = plan.what === 'publish' || plan.to === 'nobody' ? null : (one?.cell ?? null);
  for (let nth = 0; nth < plan.times && process.alive; nth++) send(followed, text, sending, cell);
};

type Sending = NonNullable<Parameters<RunSession['send']>[1]>;

const send = ({ process, session }: Followed, text: string, sending: Sending, cell: string | null): void => {
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
    world.mailings.push({ ...common, code: null, said: id });
    world.trace.note(`run ${session.run} was sent ${words} in ${process.no}: ${id}`);
    world.faults.count('mail: from outside');
  } catch (error) {
    const code = codeOf(error);
    world.mailings.push({ ...common, code, said: String(error) });
    world.trace.note(`run ${session.run} was not sent ${words} in ${process.no}: ${code}`);
    world.faults.count(`mail refused: ${code}`);
  }
};

const finish = ({ process, session }: Followed, { endedAt }: Following, name: string | undefined): void => {
  const { world } = process;
  if (endedAt !== null || !process.alive) return;
  try {
    session.finish(name);
    world.trace.note(`run ${session.run} is asked to finish ${name ?? ''} in ${process.no}`);
    world.faults.count(name === undefined ? 'mail: asked to finish' : 'mail: one asked to finish');
  } catch (error) {
    const code = codeOf(error);
    world.trace.note(`run ${session.run} cannot finish ${name ?? ''} in ${process.no}: ${code}`);
    if (code !== 'cell_ended' && code !== 'mail_ambiguous' && code !== 'mail_unknown')
      world.uncaught.push(String(error));
  }
};
