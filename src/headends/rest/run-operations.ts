// The OpenAPI operations of the run routes.
import type { JsonObject } from '#base';
import {
  emptyBody,
  eventsResponse,
  pathParameter,
  queryParameter,
  jsonResponse,
  schemaRef,
} from './operation-parts.ts';

const tags = ['runs'];

export const runParameter = pathParameter('run', 'The id of one of your runs.');

/** For operations that need a running run. */
export const notRunningResponse = jsonResponse(
  'The run is not running on this server: it has ended.',
  schemaRef('Error'),
);

/** How many runs one page lists. */
export const runsPerPage = { default: 50, max: 1000 };

export const listRunsOperation: JsonObject = {
  operationId: 'listRuns',
  tags,
  summary: 'List your runs, newest first',
  parameters: [
    queryParameter('limit', 'Maximum number of runs.', {
      type: 'integer',
      minimum: 1,
      maximum: runsPerPage.max,
      default: runsPerPage.default,
    }),
  ],
  responses: {
    200: jsonResponse('The runs, and whether there are older ones.', {
      type: 'object',
      required: ['runs', 'more'],
      properties: { runs: { type: 'array', items: schemaRef('Run') }, more: { type: 'boolean' } },
    }),
  },
};

export const showRunOperation: JsonObject = {
  operationId: 'showRun',
  tags,
  summary: 'Get one run: status, answer, usage and cells',
  parameters: [runParameter],
  responses: { 200: jsonResponse('The run.', schemaRef('Report')) },
};

export const watchRunOperation: JsonObject = {
  operationId: 'watchRun',
  tags,
  summary: 'Stream the events of a run: first the recorded ones, then live',
  description: 'If a stream ends without `outcome` or `error`, continue it after its last id.',
  parameters: [
    runParameter,
    queryParameter('after', 'Only events after the one with this id.', { type: 'string' }),
    {
      name: 'last-event-id',
      in: 'header',
      description: 'The same, sent by clients that reconnect automatically. Takes precedence over `after`.',
      schema: { type: 'string' },
    },
  ],
  responses: { 200: eventsResponse('The events.') },
};

export const cancelRunOperation: JsonObject = {
  operationId: 'cancelRun',
  tags,
  summary: 'Cancel a run, including everything it has started',
  parameters: [runParameter],
  requestBody: emptyBody,
  responses: { 202: jsonResponse('The run is being cancelled.', schemaRef('Begun')), 409: notRunningResponse },
};

export const resumeRunOperation: JsonObject = {
  operationId: 'resumeRun',
  tags,
  summary: 'Continue an interrupted run',
  description:
    'After a crash or a kill. A resident run continues with the agents it had started, their windows, files and unread messages.',
  parameters: [runParameter],
  requestBody: emptyBody,
  responses: {
    202: jsonResponse('The run continues.', schemaRef('Begun')),
    409: jsonResponse('The run has ended, or is running.', schemaRef('Error')),
  },
};
