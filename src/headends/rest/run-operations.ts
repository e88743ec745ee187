// How the addresses of runs are described.
import type { JsonObject } from '#base';
import { emptyBody, eventsOnly, pathParameter, inQuery, json, schemaRef } from './operation-parts.ts';

const tags = ['runs'];

export const runParameter = pathParameter('run', 'The id of a run of yours.');

/** Of what needs a run that is at work. */
export const notRunningResponse = json('The run is not under way here: it has ended.', schemaRef('Error'));

/** How many are listed at once. */
export const runsMax = { usual: 50, most: 1000 };

export const listRunsOperation: JsonObject = {
  operationId: 'listRuns',
  tags,
  summary: 'Your runs, newest first',
  parameters: [
    inQuery('limit', 'At most so many.', {
      type: 'integer',
      minimum: 1,
      maximum: runsMax.most,
      default: runsMax.usual,
    }),
  ],
  responses: {
    200: json('The runs, and whether there are older ones.', {
      type: 'object',
      required: ['runs', 'more'],
      properties: { runs: { type: 'array', items: schemaRef('Run') }, more: { type: 'boolean' } },
    }),
  },
};

export const showRun: JsonObject = {
  operationId: 'showRun',
  tags,
  summary: 'One run: how it stands, its answer, what it spent, its cells',
  parameters: [runParameter],
  responses: { 200: json('The run.', schemaRef('Report')) },
};

export const watchRun: JsonObject = {
  operationId: 'watchRun',
  tags,
  summary: 'The events of a run: those that are recorded, then as they come',
  description: 'A stream that ends without `outcome` or `error` can be gone on with after its newest id.',
  parameters: [
    runParameter,
    inQuery('after', 'Only what came after the event of this id.', { type: 'string' }),
    {
      name: 'last-event-id',
      in: 'header',
      description: 'The same, as clients send it that come back by themselves; it goes before `after`.',
      schema: { type: 'string' },
    },
  ],
  responses: { 200: eventsOnly('The events.') },
};

export const cancelRun: JsonObject = {
  operationId: 'cancelRun',
  tags,
  summary: 'Cancel a run, with all that it has begun',
  parameters: [runParameter],
  requestBody: emptyBody,
  responses: { 202: json('It is being cancelled.', schemaRef('Begun')), 409: notRunningResponse },
};
