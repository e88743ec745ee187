// Somebody at a process that need not own the run: answers its questions, sends it messages, cancels it, asks it to finish.
import type { RunId } from '#base';
import { questionId } from '#contracts';
import type { RunCommand } from '#contracts';
import { errorCode } from './error-code.ts';
import type { SentAnswer } from './history.ts';
import type { RunPlan, SignalPlan } from './plan.ts';
import type { Process } from './process.ts';
import type { Elsewhere, World } from './world.ts';

/** Codes for answers that come too late, must not be taken, or cannot be stored. */
const answerCodes: readonly string[] = [
  'question_answered',
  'question_unknown',
  'question_changed',
  'answer_invalid',
  'store_failed',
  'store_busy',
];

/** Mostly not the process with this number; undefined: a new one. */
export const pickElsewhere = <P extends { readonly process: Process }>(
  { signalRandom: random }: World,
  alive: readonly P[],
  not: number,
  processesMax: number,
): P | undefined => {
  const others = alive.filter(({ process }) => process.no !== not);
  if (others.length === 0 || (alive.length < processesMax && random.chance(0.2))) return undefined;
  return random.pick(random.chance(0.9) ? others : alive);
};

type RemoteAnswer = Pick<SentAnswer, 'run' | 'answer' | 'isStranger'>;

/** `owner`: the process that asked. Whoever does not hear what became of an answer sends it again. */
export const answerElsewhere = async (owner: Process, given: RemoteAnswer, triesLeft = 5): Promise<void> => {
  const sent = await sendAnswer(owner, given);
  if (sent === null || !isInDoubt(sent) || triesLeft === 0) return;
  const { scheduler, signalRandom } = owner.world;
  const again = (): void => void answerElsewhere(owner, given, triesLeft - 1);
  scheduler.after(signalRandom.log(10, 20_000), 'answer again', again);
};

/** A question that was not durable is unknown elsewhere. */
const isInDoubt = ({ told, isStranger }: SentAnswer): boolean => {
  if (told === null) return true;
  return 'code' in told && (told.code.startsWith('store_') || (told.code === 'question_unknown' && !isStranger));
};

/** Resolves when its process has told the sender what became of it, or is dead. */
const sendAnswer = async (owner: Process, given: RemoteAnswer): Promise<SentAnswer | null> => {
  const { world } = owner;
  const { run, answer } = given;
  const there = world.elsewhere?.(run, owner.no) ?? null;
  if (there === null) return null;
  const { process, cloister } = there;
  const { frame, by, right, id, ...words } = answer;
  const sent: SentAnswer = { ...given, process: process.no, at: world.now, elsewhere: true, told: null };
  world.answers.push(sent);
  world.trace.note(`run ${run} is answered elsewhere, in ${process.no}: ${JSON.stringify(answer)}`);
  const sending = asSender(world, there, async () => {
    const resume = (): ReturnType<Elsewhere['resume']> => {
      world.faults.count('run: resumed for an answer');
      return there.resume();
    };
    // The operator's own right follows from the question.
    const asOperator = right === 'operator' ? {} : { right: () => right };
    try {
      const { state } = await cloister.answer(questionId(run, frame), words, { by, id, resume, ...asOperator });
      if (!process.alive) return;
      sent.told = { state };
      world.faults.count(`answer elsewhere: ${state}`);
    } catch (error) {
      if (!process.alive) return;
      const code = errorCode(error);
      sent.told = { code };
      world.faults.count(`answer elsewhere refused: ${code}`);
      if (!answerCodes.includes(code)) world.uncaught.push(`an answer failed elsewhere: ${String(error)}`);
    }
    world.trace.note(`answer ${id}: ${JSON.stringify(sent.told)}`);
  });
  await Promise.race([sending, process.crashed]);
  return sent;
};

export const scheduleSignals = ({ world, no }: Process, run: RunId, { signals }: RunPlan): void => {
  for (const plan of signals) {
    const send = (): void => void sendSignal(world, { run, owner: no }, plan);
    world.scheduler.after(plan.afterMs, `signal ${plan.what}`, send);
  }
};

type RunToSignal = { readonly run: RunId; readonly owner: number };

const signalCodes: readonly string[] = ['run_unknown', 'run_ended', 'store_failed', 'store_busy'];

const sendSignal = async (world: World, { run, owner }: RunToSignal, { what, twice }: SignalPlan): Promise<void> => {
  const { signalRandom: random, faults, trace } = world;
  const text = `tell ${random.hex()}`;
  const id = `m-${random.hex()}${random.hex().slice(0, 4)}-${random.hex().slice(0, 8)}`;
  const command: RunCommand = what === 'send' ? { do: what, text, ...(twice ? { id } : {}) } : { do: what };
  for (let times = twice ? 2 : 1; times > 0; times--) {
    const there = world.elsewhere?.(run, owner) ?? null;
    if (there === null) return;
    const { process, cloister } = there;
    trace.note(`run ${run} is signalled in ${process.no}: ${JSON.stringify(command)}`);
    const put = asSender(world, there, async () => {
      try {
        const receipt = await cloister.signal(run, command);
        if (!process.alive) return;
        const common = { process: process.no, run, bytes: text.length, after: null, to: null };
        if (what === 'send') world.outsideMail.push({ ...common, code: null, result: receipt.id, hasReceipt: false });
        faults.count(`signal: ${what}${receipt.isNew ? '' : ' again'}`);
      } catch (error) {
        if (!process.alive) return;
        const code = errorCode(error);
        faults.count(`signal refused: ${code}`);
        if (!signalCodes.includes(code)) world.uncaught.push(`a signal failed: ${String(error)}`);
      }
    });
    // The second one may come while the first is being stored.
    if (random.chance(0.5)) await put;
  }
};

/** While it is in flight, its process is not closed. */
const asSender = async ({ sending }: World, { process }: Elsewhere, send: () => Promise<void>): Promise<void> => {
  sending.push(process);
  try {
    await send();
  } finally {
    sending.splice(sending.indexOf(process), 1);
  }
};
