// The people whom runs ask: they allow, deny, change arguments, answer twice or both ways at once, are not entitled to, are shown
// something else, or never answer.
import type { Frame, RecordOf, RunSession } from '#contracts';
import { errorCode } from './error-code.ts';
import type { FollowedSession, SentAnswer } from './history.ts';
import type { PeoplePlan } from './plan.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';

type SessionInProcess = { readonly process: Process; readonly session: RunSession; readonly resumed: boolean };
type Answer = SentAnswer['answer'];
type AskFrame = Frame & { readonly record: RecordOf<'begin'> & { readonly question: object } };

/** Answers what is asked from now on, and what an earlier process asked and nobody answered. */
export const answerQuestions = (live: SessionInProcess, watched: FollowedSession, plan: PeoplePlan): void => {
  const { process, session } = live;
  const { people, writings } = process.world;
  const heard = new Set<number>();
  const hear = (frame: Frame): void => {
    if (heard.has(frame.no)) return;
    heard.add(frame.no);
    consider(live, watched, plan, frame as AskFrame);
  };
  people.set(`${process.no} ${session.run}`, hear);
  const own = writings.findLast(({ run, process: no }) => run === session.run && no === process.no)?.frames ?? [];
  for (const frame of openQuestions([...storedFrames(live), ...own])) hear(frame);
};

const storedFrames = ({ process: { world }, session: { run } }: SessionInProcess): readonly Frame[] =>
  Array.from({ length: world.disk.length(run) }, (_, no) => JSON.parse(world.disk.body(run, no)!) as Frame);

const openQuestions = (frames: readonly Frame[]): readonly Frame[] => {
  const open = new Map<string, Frame>();
  for (const frame of frames) {
    const { cell, record } = frame;
    if (record.type === 'begin' && record.do === 'ask') open.set(`${cell}/${record.op}`, frame);
    if (record.type === 'settle') open.delete(`${cell}/${record.op}`);
  }
  return [...open.values()];
};

const reactions = {
  allows: 6,
  denies: 3,
  'changes arguments': 3,
  remembers: 8,
  'answers twice': 2,
  'answers both ways': 2,
  'was shown something else': 2,
  'may not answer': 2,
  'sends bad arguments': 1,
  'answers another question': 1,
  'never answers': 1.5,
} as const;

type Reaction = keyof typeof reactions;

const consider = (live: SessionInProcess, watched: FollowedSession, plan: PeoplePlan, frame: AskFrame): void => {
  const { process } = live;
  const { peopleRandom: random, faults } = process.world;
  const drawn = random.weighted<Reaction>(reactions);
  const mayExpire = canExpire(live, frame);
  const reaction = drawn === 'never answers' && !mayExpire ? 'denies' : drawn;
  faults.count(`person: ${reaction}`);
  const first = random.log(1, plan.msMax);
  const later = (ms: number, answer: Answer, isStranger = false): void =>
    void process.later(ms, 'answer', () => {
      if (watched.endedAt === null && process.alive) void send(live, answer, isStranger);
    });
  const { wrong, right } = drawAnswers(reaction, frame, random);
  for (const answer of wrong) later(first, answer, reaction === 'may not answer');
  // Some do not notice, and the question expires.
  const comesBack = wrong.length === 0 || random.chance(0.9) || !mayExpire;
  for (const answer of comesBack ? right : [])
    later(first + (wrong.length === 0 ? 0 : random.log(1, plan.msMax)), answer);
};

/** In a conversation, others would try to take the next turn for a whole day. */
const canExpire = ({ process: { world } }: SessionInProcess, { at, record }: AskFrame): boolean =>
  (record.until ?? 0) - at < 60_000 || world.plan.runs.every(({ turns }) => turns === 0);

/** `wrong`: those that change nothing. `right`: those of which the first one is taken. */
const drawAnswers = (
  reaction: Reaction,
  { no, record: { question } }: AskFrame,
  random: Random,
): { readonly wrong: readonly Answer[]; readonly right: readonly Answer[] } => {
  const allow = (): Answer => ({
    frame: no,
    ...random.pick<Pick<Answer, 'by' | 'right'>>([
      { by: 'operator', right: 'operator' },
      { by: 'operator', right: 'caller' },
      { by: 'helper', right: 'answers' },
    ]),
    id: `s-${random.hex()}`,
    allow: true,
    sha256: question.argsHash,
  });
  const deny = (): Answer => ({
    ...allow(),
    allow: false,
    ...(random.chance(0.6) ? { reason: `because of ${random.hex()}` } : {}),
  });
  const usual = random.chance(0.6) ? allow() : deny();
  switch (reaction) {
    case 'allows':
      return { wrong: [], right: [{ ...allow(), ...(random.chance(0.3) ? { reason: 'go on' } : {}) }] };
    case 'denies':
      return { wrong: [], right: [deny()] };
    case 'changes arguments':
      return {
        wrong: [],
        right: [{ ...allow(), args: { q: random.chance(0.2) ? '1 common' : `changed ${random.hex()}` } }],
      };
    case 'remembers':
      return { wrong: [], right: [{ ...allow(), remember: 'run' }] };
    case 'answers twice':
      return { wrong: [], right: [usual, usual] };
    case 'answers both ways':
      return { wrong: [], right: random.chance(0.5) ? [allow(), deny()] : [deny(), allow()] };
    case 'was shown something else':
      return { wrong: [{ ...allow(), sha256: random.hex() }], right: [usual] };
    case 'may not answer':
      return { wrong: [{ ...allow(), by: 'stranger', right: random.pick(['caller', 'named']) }], right: [usual] };
    case 'sends bad arguments':
      return { wrong: [{ ...allow(), args: { p: 1 } }], right: [usual] };
    case 'answers another question':
      return { wrong: [{ ...allow(), frame: no + 1 }], right: [usual] };
    case 'never answers':
      return { wrong: [], right: [] };
  }
};

/** Codes for answers that come too late, or must not be taken. */
const expectedCodes: readonly string[] = [
  'question_answered',
  'question_unknown',
  'question_changed',
  'answer_invalid',
  'cell_ended',
];

const send = async ({ process, session }: SessionInProcess, answer: Answer, isStranger: boolean): Promise<void> => {
  const { world } = process;
  const sent: SentAnswer = { process: process.no, run: session.run, at: world.now, answer, isStranger, told: null };
  world.answers.push(sent);
  world.trace.note(`run ${session.run} is answered in ${process.no}: ${JSON.stringify(answer)}`);
  try {
    const state = await session.do({ do: 'answer', ...answer });
    if (!process.alive) return;
    sent.told = { state };
    world.faults.count(`answer: ${state}`);
  } catch (error) {
    if (!process.alive) return;
    const code = errorCode(error);
    sent.told = { code };
    world.faults.count(`answer refused: ${code}`);
    if (!expectedCodes.includes(code)) world.uncaught.push(`an answer failed: ${String(error)}`);
  }
  world.trace.note(`answer ${answer.id}: ${JSON.stringify(sent.told)}`);
};
