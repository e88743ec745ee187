// The run's side of questions to people: who waits, what an answer may be, and what becomes of it.
//
//   question-recorded-before-wait. A question is in the log before anybody waits for its answer.
//   ruling-names-what-was-shown. An answer names the hash of the arguments that its sender was shown; another one changes nothing.
//   ruling-by-those-who-may. Whoever the rule of the question leaves out answers nothing, whatever was checked before.
//   question-settles-once. The first ruling that decides it is the last that is taken.
//   expired-is-denied. Nobody's silence allows a call.
import { CloisterError, omitUndefined } from '#base';
import type { CellId, Failure, Hash, Json, RunId } from '#base';
import { questionId } from '#contracts';
import type {
  Agent,
  AnswerContent,
  AnswerState,
  AskOperation,
  Crossed,
  Frame,
  FrameRecord,
  Question,
  QuestionResult,
  Redact,
  Ruling,
  RunCommand,
  RunPorts,
  Settlement,
  WaitingCall,
} from '#contracts';
import type { Door } from '#core/crossings';
import { answerProblem, argumentsHash, Questions, saidIn, verdictOf } from '#core/events';
import type { AskedQuestion } from '#core/events';
import type { InFlightOperation } from './step-runner.ts';

/** The cell that asks. */
type AskingCell = {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly receivedCrossings: { addFromFrame(frame: Frame<Crossed>): void };
  settle(started: InFlightOperation, result: Settlement<Json>): void;
};

/** What questions need of their run. */
type AskingRun = {
  readonly ports: Pick<RunPorts, 'clock' | 'validate' | 'expiries'>;
  readonly door: Door;
  readonly nextFrame: number;
  /** Whoever requested the run. */
  readonly requestedBy: string;
  time(): number;
  readonly runTime: { toClock(time: number): number };
  redactFor(agent: Agent | null): Redact | null;
  write(cell: CellId, at: number, record: FrameRecord): Frame<Crossed>;
};

type WaitingQuestion = {
  readonly cell: AskingCell;
  readonly started: InFlightOperation<AskOperation>;
  stopTimer(): void;
};

type Answer = Omit<RunCommand<'answer'>, 'do'>;

export class QuestionRoom {
  readonly fold: Questions;
  readonly #run: AskingRun;
  /** By the number of the frame that asks. */
  readonly #waiting = new Map<number, WaitingQuestion>();

  constructor(run: AskingRun, digestOf: (cell: CellId) => Hash) {
    this.#run = run;
    this.fold = new Questions(digestOf);
  }

  /** Waits for the answer of a question that has been recorded. */
  start(cell: AskingCell, started: InFlightOperation<AskOperation>): void {
    const asked = this.fold.of(cell.cellId, started.no)!;
    const waiting: WaitingQuestion = { cell, started, stopTimer: () => undefined };
    // After a crash, the answer may be there already. It was given to this call, whatever was said about the same one elsewhere.
    const decided = verdictOf(asked.question, asked.rulings);
    // probe: question-decided
    if (decided !== null) return this.#settle(waiting, this.#result(asked, decided));
    const remembered = this.fold.rememberedFor(asked);
    if (remembered !== undefined) return this.#settle(waiting, { verdict: 'allow', remembered });
    // probe: question-waits
    this.#waiting.set(asked.frame, waiting);
    const { clock, expiries } = this.#run.ports;
    // The timer of all questions goes by the clock.
    const expiresAt = this.#run.runTime.toClock(asked.until);
    const expire = (): void => {
      this.#waiting.delete(asked.frame);
      // probe: question-expires
      this.#settle(waiting, { verdict: 'deny', expired: true });
    };
    waiting.stopTimer =
      expiries?.at(expiresAt, expire) ?? clock.timer(Math.max(0, asked.until - this.#run.time()), expire);
    const stop = (failure: Failure): void => {
      this.#waiting.delete(asked.frame);
      waiting.stopTimer();
      cell.settle(started, { at: this.#run.time(), ok: false, failure });
    };
    started.stop = stop;
  }

  /** Records the answer. Throws `question_answered`, `question_unknown`, `question_changed` or `answer_invalid`. */
  answer(answer: Answer): AnswerState {
    const asked = this.fold.askedIn(answer.frame);
    const waiting = this.#waiting.get(answer.frame);
    if (asked === undefined || waiting === undefined) throw new CloisterError('question_answered');
    // probe: ruling-by
    if (!mayAnswer(asked.question, answer, this.#run.requestedBy)) throw new CloisterError('question_unknown');
    // probe: ruling-once-each
    if (asked.rulings.some(({ by }) => by === answer.by))
      throw new CloisterError('question_answered', `${answer.by} has answered it; others must do so too.`);
    if (this.#run.time() >= asked.until) throw new CloisterError('question_answered', 'It has expired.');
    // probe: ruling-hash
    if (answer.sha256 !== asked.question.argsHash) throw new CloisterError('question_changed');
    const safe = this.#redacted(waiting.cell.agent, answer);
    const ruling = this.#ruling(asked, waiting, safe);
    const at = this.#run.time();
    const decided = verdictOf(asked.question, [...asked.rulings, ruling]);
    const content = decided === null ? null : answerContent(asked, ruling, safe.reason);
    // probe: answer-crosses
    if (content !== null) this.#cross(waiting.cell.cellId, JSON.stringify(content), at);
    // probe: ruling-record
    const frame = this.#run.write(waiting.cell.cellId, at, { type: 'ruling', ...ruling });
    waiting.cell.receivedCrossings.addFromFrame(frame);
    if (decided === null) return 'waiting';
    // probe: question-waits-no-longer
    this.#waiting.delete(asked.frame);
    waiting.stopTimer();
    this.#settle(waiting, /* probe: ruling-verdict */ { verdict: decided, ...saidIn(frame) });
    return decided === 'allow' ? 'allowed' : 'denied';
  }

  /** The calls of client tools that wait, in the order in which they were asked. */
  clientCalls(run: RunId): readonly WaitingCall[] {
    return this.fold.all
      .filter(({ frame, question }) => question.why === 'client' && this.#waiting.has(frame))
      .map(({ frame, question: { tool, args, argsHash } }) => ({
        id: questionId(run, frame),
        name: tool,
        args,
        sha256: argsHash,
      }));
  }

  #settle({ cell, started }: WaitingQuestion, result: QuestionResult): void {
    started.stop = undefined;
    cell.settle(started, { at: this.#run.time(), ok: true, value: result as unknown as Json });
  }

  /** The result of a question whose rulings were recorded before a crash. */
  #result(asked: AskedQuestion, verdict: 'allow' | 'deny'): QuestionResult {
    const said = asked.rulings.at(-1)?.said;
    return { verdict, ...(said === undefined ? {} : { said }) };
  }

  #cross(to: CellId, content: string, at: number): void {
    const passed = this.#run.door.cross(
      { kind: 'answer', from: 'outside', to, content },
      { at, frame: this.#run.nextFrame },
    );
    if ('refused' in passed) throw new CloisterError('crossing_refused', `The answer was refused: ${passed.refused}.`);
  }

  #redacted(agent: Agent, answer: Answer): Answer {
    const { reason, args } = answer;
    const redact = this.#run.redactFor(agent);
    return {
      ...answer,
      ...(reason === undefined ? {} : { reason: (redact?.text(reason) ?? reason).toWellFormed() }),
      ...(args === undefined ? {} : { args: redact?.json(args) ?? args }),
    };
  }

  #ruling({ op, question }: AskedQuestion, { started }: WaitingQuestion, answer: Answer): Ruling {
    const { by, right, allow, sha256, args, reason, remember, id } = answer;
    if (question.why === 'client' && right !== 'caller') throw new CloisterError('question_unknown');
    const problem = answerProblem(question, answer);
    if (problem !== null) throw new CloisterError('answer_invalid', problem);
    if (args !== undefined) {
      const problems = this.#run.ports.validate(started.operation.schema, args, { left: checkStepsMax });
      if (problems.length > 0) throw new CloisterError('answer_invalid', `args: ${problems.slice(0, 5).join('; ')}.`);
    }
    const changed = args !== undefined && argumentsHash(args) !== question.argsHash ? args : undefined;
    // A result of a client may be long, and is in the log as what crossed.
    const words = question.why === 'client' ? undefined : reason;
    return {
      op,
      by,
      right,
      verdict: allow ? 'allow' : 'deny',
      argsHash: sha256 as Hash,
      ...omitUndefined({ args: changed, reason: words, remember }),
      signal: id,
    };
  }
}

/** Whether the rule of the question leaves room for this right. Whether the person has it, their headend knows. */
const mayAnswer = ({ rule = {} }: Question, { by, right }: Answer, requestedBy: string): boolean => {
  if (rule.not === 'asker' && by === requestedBy) return false;
  if (rule.by !== undefined) return right === 'named' && rule.by.includes(by);
  return right !== 'named' && (right !== 'caller' || by === requestedBy);
};

/** For checking changed arguments: as many steps as a turn has. */
const checkStepsMax = 1_000_000;

/** What the cell hears; null: nothing but the verdict. */
const answerContent = (
  { question: { why } }: AskedQuestion,
  { verdict, args }: Ruling,
  said: string | undefined,
): AnswerContent | null => {
  if (why === 'client') return { text: said ?? '' };
  const text = verdict === 'deny' || why === 'agent' ? said : undefined;
  return text === undefined && args === undefined ? null : omitUndefined({ text, args });
};
