// Answers that a chat front end brings back with its next request, and the run that continues with them.
//
//   returned-answer-by-right. Whatever a client names is looked up among the questions that its caller sees, and only in runs that this
//       caller may read, with the agent that the path names; everything else is unknown.
import { CloisterError } from '#base';
import { readQuestionId } from '#contracts';
import type {
  AdmittedRequest,
  AgentService,
  CallerQuestion,
  FollowOptions,
  QuestionAnswer,
  ServedRun,
} from '#contracts';
import type { ClientPosition } from './follow-activity.ts';
import { requestKey } from './request-key.ts';

/** `frame`: how far the client was told of the run, if its id says so. */
export type ReturnedAnswer = {
  readonly question: string;
  readonly frame: number | undefined;
  /** Throws `request_invalid`. */
  readonly read: (question: CallerQuestion) => Omit<QuestionAnswer, 'sha256'>;
};

type ReturnedAnswers = {
  readonly agent: string;
  readonly answers: readonly ReturnedAnswer[];
  readonly details: boolean;
  /** The run continues when its client disconnects. */
  readonly isDetached?: boolean;
};

type AnsweredRun = { readonly run: ServedRun; readonly known: ClientPosition };

/**
 * Gives the answers and reads on. A question that no longer waits is passed over, because somebody else may have been faster: the client is
 * told what became of it. Rejects with `question_unknown`, and with what `CallerQuestions.answer` rejects with.
 */
export const answerAndFollow = async (
  service: AgentService,
  { caller, headers, signal }: Pick<AdmittedRequest, 'caller' | 'headers' | 'signal'>,
  { agent, answers, details, isDetached = false }: ReturnedAnswers,
): Promise<AnsweredRun> => {
  const key = requestKey(headers);
  const { questions } = service;
  const asked = await findAsked(
    service,
    caller,
    answers.map(({ question }) => question),
  );
  const [{ run, id }] = asked as [CallerQuestion];
  if (asked.some((one) => one.run !== run))
    throw new CloisterError('request_invalid', 'The answers belong to several runs. Send those of one run at a time.');
  // probe: answered-run-own
  await checkOwnRun(service, caller, { run, id, agent });
  const sent = asked.map((question, nth) => ({ question, answer: answers[nth]!.read(question) }));
  const reading: FollowOptions = { events: { details }, ...(isDetached ? {} : { signal }) };
  const follow = (): Promise<ServedRun> => questions.followRun(caller, run, reading);
  // Before the answers are given, so that none of the text after them is missed.
  const early = await follow().catch(nullIfElsewhere);
  try {
    for (const { question, answer } of sent) {
      if (!question.mayAnswer && question.answers.some(({ by }) => by === caller.name)) continue;
      if (question.state !== 'open') continue;
      await questions.answer(caller, question.id, { ...answer, sha256: question.sha256 }, { key, signal });
    }
  } catch (error) {
    void early?.events()[Symbol.asyncIterator]().return?.();
    throw error;
  }
  return { run: early ?? (await follow()), known: clientPosition(answers) };
};

/** Each of them is looked up in the log of its run, and nobody else is served meanwhile. */
const answersMax = 256;

/** The questions with these ids, in their order. Rejects with `question_unknown`, or with `request_invalid` for too many. */
export const findAsked = async (
  { questions }: Pick<AgentService, 'questions'>,
  caller: AdmittedRequest['caller'],
  ids: readonly string[],
): Promise<readonly CallerQuestion[]> => {
  if (ids.length > answersMax)
    throw new CloisterError(
      'request_invalid',
      `One request can bring ${answersMax} answers, and this one has ${ids.length}.`,
    );
  // probe: answered-by-front-end
  return Promise.all(ids.map((id) => questions.find(caller, id)));
};

const checkOwnRun = async (
  service: AgentService,
  caller: AdmittedRequest['caller'],
  { run, id, agent }: { readonly run: string; readonly id: string; readonly agent: string },
): Promise<void> => {
  const unknown = new CloisterError('question_unknown', `Question "${id.slice(0, 120)}".`);
  const { summary } = await service.find(caller, run).catch((error: unknown) => {
    throw error instanceof CloisterError && error.code === 'run_unknown' ? unknown : error;
  });
  if (summary.agent !== agent) throw unknown;
};

/** The run does not run here yet: the answer resumes it. */
const nullIfElsewhere = (error: unknown): null => {
  if (error instanceof CloisterError && error.code === 'run_owned') return null;
  throw error;
};

const clientPosition = (answers: readonly ReturnedAnswer[]): ClientPosition => {
  const frames = answers.flatMap(({ frame }) => (frame === undefined ? [] : [frame]));
  if (frames.length < answers.length) return { questions: answers.map(({ question }) => question) };
  return { frame: Math.min(...frames) };
};

/** Whether this can be the id of a call of a client's tool: calls of the agent's own tools have other ids. */
export const isClientCall = (id: string): boolean => readQuestionId(id) !== null;
