// Questions to people: lists and shows those that a caller sees, and takes its answers.
import { about, object, string, whole } from '#base/shapes';
import type { AdmittedRequest, AgentService, CallerQuestion, HttpRoute } from '#contracts';
import { requestKey } from '#headends/shared';
import { jsonReply, restRoute } from './described-route.ts';
import { answerReceiptShape, questionAnswerShape, questionListShape, questionShape } from './question-shapes.ts';
import { errorShape } from './reply-shapes.ts';
import { requireRun } from './run-routes.ts';

const perPage = { default: 100, max: 1000 };

const limitField = {
  limit: about(whole(1, perPage.max), 'Maximum number of questions.', { default: perPage.default }),
};

const runQuery = object({}, limitField);
const listQuery = object({}, { run: about(string(), 'Only those of this run.'), ...limitField });

const idOf = ({ params }: AdmittedRequest): string => params['question'] ?? '';

export const questionRoutes = (service: AgentService): readonly HttpRoute[] => [
  ...readingRoutes(service),
  restRoute({
    method: 'POST',
    path: '/v1/questions/:question',
    id: 'answerQuestion',
    tag: 'questions',
    summary: 'Answer a question',
    description:
      'The answer is on disk when you are told so. If nobody runs the run, it is resumed. A question that is not yours to answer is as unknown as one that nobody asked.',
    body: questionAnswerShape,
    headers: { 'idempotency-key': 'The same answer, sent again with the same key, is taken once.' },
    replies: {
      200: jsonReply('The answer was taken.', answerReceiptShape),
      202: jsonReply('The answer is on disk; whoever owns or resumes the run takes it.', answerReceiptShape),
      404: jsonReply('There is no such question, or it is not yours to answer.', errorShape),
      409: jsonReply(
        'It no longer waits, its arguments are not those that you name, or its run cannot go on because its agents have changed.',
        errorShape,
      ),
      422: jsonReply('The answer does not fit the question, or the key was used for another answer.', errorShape),
    },
    answer: async (call, { body }) => {
      const { caller, headers, signal } = call;
      const receipt = await service.questions.answer(caller, idOf(call), body, { key: requestKey(headers), signal });
      return { status: receipt.state === 'stored' ? 202 : 200, body: receipt };
    },
  }),
];

const readingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/questions',
    id: 'listQuestions',
    tag: 'questions',
    summary: 'List the questions that wait for an answer, oldest first',
    description: 'Those of your runs, and those of others that your token answers.',
    query: listQuery,
    replies: { 200: jsonReply('The questions.', questionListShape) },
    answer: async ({ caller }, { query: { run, limit } }) => ({
      status: 200,
      body: questionPage(await service.questions.list(caller, run), limit),
    }),
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/questions',
    id: 'listRunQuestions',
    tag: 'questions',
    summary: 'List the questions of a run that wait for an answer, oldest first',
    query: runQuery,
    replies: { 200: jsonReply('The questions.', questionListShape) },
    answer: async (call, { query: { limit } }) => {
      const { summary } = await requireRun(service, call);
      return { status: 200, body: questionPage(await service.questions.list(call.caller, summary.run), limit) };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/questions/:question',
    id: 'showQuestion',
    tag: 'questions',
    summary: 'Get one question, also if it no longer waits',
    replies: { 200: jsonReply('The question.', questionShape) },
    answer: async (call) => ({ status: 200, body: await service.questions.find(call.caller, idOf(call)) }),
  }),
];

const questionPage = (all: readonly CallerQuestion[], limit: number = perPage.default) => ({
  questions: all.slice(0, limit),
  more: all.length > limit,
});
