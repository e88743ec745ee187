// The checkpoints of a caller's runs: takes, lists, shows and compares them, and continues from them.
import { about, object, string, whole } from '#base/shapes';
import type {
  AdmittedRequest,
  AgentService,
  CheckpointContinuation,
  HttpRoute,
  RouteReply,
  ServedRun,
} from '#contracts';
import { leaveQueueOnDisconnect, refuseKey } from '#headends/shared';
import { eventsPath } from './ask-agent.ts';
import {
  branchShape,
  checkpointDiffShape,
  checkpointListShape,
  checkpointReportShape,
  checkpointShape,
  continuationShape,
  createCheckpointShape,
} from './checkpoint-shapes.ts';
import { jsonReply, restRoute } from './described-route.ts';
import { errorShape } from './reply-shapes.ts';

const perPage = { default: 50, max: 1000 };

const listQuery = object(
  {},
  {
    agent: about(string(), 'Only of runs of this agent.'),
    run: about(string(), 'Only of this run.'),
    limit: about(whole(1, perPage.max), 'Maximum number of checkpoints.', { default: perPage.default }),
  },
);

const diffQuery = object({
  with: {
    ...about(string(), 'The id of another checkpoint of yours.'),
    expected: 'the id of another checkpoint of yours',
  },
});

const continued = {
  200: jsonReply('Only the conversation was changed: there was nothing to continue.', continuationShape),
  202: jsonReply('A run continues from the checkpoint.', continuationShape),
  409: jsonReply('The conversation is busy, or was deleted.', errorShape),
};

const idOf = ({ params }: AdmittedRequest): string => params['checkpoint'] ?? '';

export const checkpointRoutes = (service: AgentService): readonly HttpRoute[] => [
  ...readingRoutes(service),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/checkpoints',
    id: 'createCheckpoint',
    tag: 'checkpoints',
    summary: 'Take a checkpoint of a run as it is now',
    description: 'Running or not. The oldest ones are removed when you have more than the operator keeps.',
    body: createCheckpointShape,
    replies: { 201: jsonReply('The checkpoint.', checkpointShape) },
    answer: async (call, { body }) => {
      refuseKey(call, 'each checkpoint is one of its own.');
      return { status: 201, body: await service.checkpoints.create(call.caller, call.params['run'] ?? '', body) };
    },
  }),
  ...continuingRoutes(service),
];

const readingRoutes = ({ checkpoints }: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/checkpoints',
    id: 'listCheckpoints',
    tag: 'checkpoints',
    summary: 'List the checkpoints of your runs, newest first',
    query: listQuery,
    replies: { 200: jsonReply('The checkpoints.', checkpointListShape) },
    answer: async ({ caller }, { query: { limit = perPage.default, ...only } }) => {
      const found = await checkpoints.list(caller, { ...only, most: limit + 1 });
      return { status: 200, body: { checkpoints: found.slice(0, limit), more: found.length > limit } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/checkpoints/:checkpoint',
    id: 'showCheckpoint',
    tag: 'checkpoints',
    summary: 'Get one checkpoint, with the cells and files that its run had then',
    replies: { 200: jsonReply('The checkpoint.', checkpointReportShape) },
    answer: async (call) => ({ status: 200, body: await checkpoints.show(call.caller, idOf(call)) }),
  }),
  restRoute({
    method: 'GET',
    path: '/v1/checkpoints/:checkpoint/diff',
    id: 'compareCheckpoints',
    tag: 'checkpoints',
    summary: 'Compare a checkpoint with another one of yours',
    query: diffQuery,
    replies: { 200: jsonReply('What changed from the one to the other.', checkpointDiffShape) },
    answer: async (call, { query }) => ({
      status: 200,
      body: await checkpoints.diff(call.caller, idOf(call), query.with),
    }),
  }),
];

const continuingRoutes = ({ checkpoints }: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'POST',
    path: '/v1/checkpoints/:checkpoint/restore',
    id: 'restoreCheckpoint',
    tag: 'checkpoints',
    summary: 'Reset the conversation to a checkpoint, and continue the run if it had not ended there',
    description:
      'The run that continues is a new one of yours. It keeps the budget of its run, of which it has spent its share.',
    replies: continued,
    answer: (call) => continueFrom(call, (signal) => checkpoints.restore(call.caller, idOf(call), signal)),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/checkpoints/:checkpoint/branch',
    id: 'branchCheckpoint',
    tag: 'checkpoints',
    summary: 'Continue from a checkpoint in a new conversation of yours; the original stays unchanged',
    description: 'A run that had not ended there continues as a new one; outside a conversation, unless you name one.',
    body: branchShape,
    replies: continued,
    answer: (call, { body }) =>
      continueFrom(call, (signal) => checkpoints.branch(call.caller, idOf(call), body, signal)),
  }),
];

const continueFrom = async (
  call: AdmittedRequest,
  start: (signal: AbortSignal) => Promise<CheckpointContinuation>,
): Promise<RouteReply> => {
  refuseKey(call, 'each continuation is a run of its own.');
  const { run, ...where } = await leaveQueueOnDisconnect(call, start);
  return { status: run === null ? 200 : 202, body: { ...where, ...begunFields(run) } };
};

const begunFields = (served: ServedRun | null) =>
  served === null ? { run: null, events: null } : { run: served.run, events: eventsPath(served.run) };
