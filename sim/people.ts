// The people whom runs ask: they allow, deny, change arguments, answer twice or both ways at once, are not entitled to, are shown
// something else, or never answer.
import type { JsonObject } from '#base';
import type { ApprovalRule, Frame, RecordOf, RunSession } from '#contracts';
import { errorCode } from './error-code.ts';
import type { FollowedSession, SentAnswer } from './history.ts';
import type { PeoplePlan } from './plan.ts';
import type { Process } from './process.ts';
import { peopleWhoMay } from './question-workload.ts';
import type { Random } from './random.ts';
import { answerElsewhere } from './remote-commands.ts';

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
  const { peopleRandom: random, signalRandom, faults } = process.world;
  const drawn = random.weighted<Reaction>(reactions);
  const mayExpire = canExpire(live, frame);
  const reaction = drawn === 'never answers' && !mayExpire ? 'denies' : drawn;
  faults.count(`person: ${reaction}`);
  const first = random.log(1, plan.msMax);
  const later = (ms: number, answer: Answer, isStranger = false): void => {
    if (plan.elsewhere > 0 && signalRandom.chance(plan.elsewhere)) {
      const given = { run: live.session.run, answer, isStranger };
      return void process.world.scheduler.after(ms, 'answer elsewhere', () => void answerElsewhere(process, given));
    }
    process.later(ms, 'answer', () => {
      if (watched.endedAt === null && process.alive) void send(live, answer, isStranger);
    });
  };
  if (frame.record.question.rule !== undefined)
    return drawQuorum(reaction, live, frame).forEach(({ answer, isStranger }) =>
      later(first + random.log(1, plan.msMax), answer, isStranger),
    );
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
        right: [
          { ...allow(), args: changedArgs(question.args, random.chance(0.2) ? '1 common' : `changed ${random.hex()}`) },
        ],
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

/** What an agent is asked to do is its caller's: only the arguments of tools are changed. */
const changedArgs = (args: JsonObject, q: string): JsonObject => ('q' in args ? { q } : args);

type OneOfMany = { readonly answer: Answer; readonly isStranger: boolean };

/** Of those whom a rule leaves, some answer, each in their own words; the last one ends it if they do not agree. */
const drawQuorum = (reaction: Reaction, live: SessionInProcess, frame: AskFrame): readonly OneOfMany[] => {
  const { peopleRandom: random, faults } = live.process.world;
  const { rule = {} } = frame.record.question;
  const answered = answeredBy(live, frame);
  const may = peopleWhoMay(rule);
  const last = may.at(-1)!;
  const voters = random.shuffled(may.filter((one) => one !== last && !answered.has(one.by)));
  // They agree on the same new arguments, or on none.
  const edits = [{ q: `changed ${random.hex()}` }, { q: `changed ${random.hex()}` }, frame.record.question.args];
  const vote = ({ by, right: of }: Pick<Answer, 'by' | 'right'>, kind = reaction): OneOfMany => {
    const { right, wrong } = drawAnswers(kind, frame, random);
    const drawn = [
      ...(kind === 'may not answer' ? [] : wrong),
      ...right,
      ...drawAnswers('denies', frame, random).right,
    ];
    const args = kind === 'changes arguments' ? { args: random.pick(edits) } : {};
    return { answer: { ...drawn[0]!, by, right: of, ...args }, isStranger: false };
  };
  const votes = voters.slice(0, random.int(rule.need ?? 1, voters.length)).map((one) => vote(one));
  const again = votes.filter(() => random.chance(0.3)).map(({ answer }) => vote(answer));
  if (again.length > 0) faults.count('person: answers a question with a rule again');
  const strangers = random.chance(0.5) ? [{ ...vote(random.pick(outsiders(rule)), 'allows'), isStranger: true }] : [];
  const closing = canExpire(live, frame) && random.chance(0.3) ? [] : [vote(last, 'denies')];
  return [...votes, ...again, ...strangers, ...closing];
};

/** People whom the rule leaves out, and rights that they do not have. */
const outsiders = ({ by, not }: ApprovalRule): readonly Pick<Answer, 'by' | 'right'>[] => [
  { by: 'stranger', right: 'named' },
  { by: 'stranger', right: 'caller' },
  ...(by === undefined
    ? []
    : [
        { by: 'ann', right: 'answers' as const },
        { by: 'fred', right: 'named' as const },
      ]),
  ...(not === 'asker' ? [{ by: 'operator', right: 'operator' as const }] : []),
];

/** Those whose answers this process has recorded, or one before it. */
const answeredBy = (live: SessionInProcess, { cell, record: { op } }: AskFrame): ReadonlySet<string> => {
  const own = live.process.world.writings.findLast(
    ({ run, process }) => run === live.session.run && process === live.process.no,
  );
  return new Set(
    [...storedFrames(live), ...(own?.frames ?? [])].flatMap((one) =>
      one.record.type === 'ruling' && one.cell === cell && one.record.op === op ? [one.record.by] : [],
    ),
  );
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
  const sent: SentAnswer = {
    process: process.no,
    run: session.run,
    at: world.now,
    answer,
    isStranger,
    elsewhere: false,
    told: null,
  };
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
