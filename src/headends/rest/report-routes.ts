// What follows from the record of a caller's run: explanations, the audit, windows, the ledger, tasks, files, replays, comparisons.
import { about, listOf, object, openObject, string } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { AgentService, HttpRoute } from '#contracts';
import { jsonReply, restRoute } from './described-route.ts';
import {
  auditShape,
  diffShape,
  explanationShape,
  ledgerShape,
  mailShape,
  replayShape,
  taskShape,
  windowShape,
} from './report-shapes.ts';
import { failureJson } from './run-json.ts';
import { requireRun } from './run-routes.ts';

const explainQuery = object(
  { cell: { ...about(string(), 'One of the cells of the run.'), expected: 'a cell of the run' } },
  { find: about(string(), 'A text to look for in everything that the model was shown.') },
);

const diffQuery = object({
  with: { ...about(string(), 'The id of another one of your runs.'), expected: 'the id of another one of your runs' },
});

const listOfRun = (field: string, one: Shape): Shape => openObject({ run: string(), [field]: listOf(one) });

export const reportRoutes = (service: AgentService): readonly HttpRoute[] => [
  ...checkingRoutes(service),
  ...listingRoutes(service),
  mailRoute(service),
  ...comparingRoutes(service),
];

const checkingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/explain',
    id: 'explainCell',
    tag: 'runs',
    summary: 'Explain why a cell’s model saw what it saw',
    description:
      'Only for tokens that show `contents`. Every segment of every prompt, with its text and where it came from.',
    query: explainQuery,
    replies: { 200: jsonReply('The explanation.', explanationShape) },
    answer: async (call, { query: { cell, ...options } }) => {
      const found = await requireRun(service, call);
      return { status: 200, body: await found.explain(cell, options) };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/audit',
    id: 'auditRun',
    tag: 'runs',
    summary: 'Check the whole record of a run: hashes, grants, budgets, and the origin of every byte of every prompt',
    replies: { 200: jsonReply('What was found.', auditShape) },
    answer: async (call) => ({ status: 200, body: await (await requireRun(service, call)).audit() }),
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/windows',
    id: 'readWindows',
    tag: 'runs',
    summary: 'Get the size of each cell’s prompt, by category, and how its window was reduced',
    replies: { 200: jsonReply('The windows.', listOfRun('windows', windowShape)) },
    answer: async (call) => {
      const found = await requireRun(service, call);
      return { status: 200, body: { run: found.summary.run, windows: await found.windows() } };
    },
  }),
];

const listingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/ledger',
    id: 'readLedger',
    tag: 'runs',
    summary: 'List what crossed into and out of each cell, and what was refused, as the log has it',
    replies: { 200: jsonReply('The ledger of each cell.', listOfRun('cells', ledgerShape)) },
    answer: async (call) => {
      const found = await requireRun(service, call);
      return { status: 200, body: { run: found.summary.run, cells: await found.ledger() } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/tasks',
    id: 'listTasks',
    tag: 'runs',
    summary: 'List the tasks of a team’s run',
    replies: { 200: jsonReply('The tasks; none if the run is not a team’s.', listOfRun('tasks', taskShape)) },
    answer: async (call) => {
      const found = await requireRun(service, call);
      return { status: 200, body: { run: found.summary.run, tasks: await found.tasks() } };
    },
  }),
];

const mailRoute = (service: AgentService): HttpRoute =>
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/mail',
    id: 'readMail',
    tag: 'runs',
    summary: 'List every message between the agents of a run, with its states and their times',
    description: 'Without their texts: those are in the events with `details`, for tokens that show `contents`.',
    replies: { 200: jsonReply('The messages.', listOfRun('mail', mailShape)) },
    answer: async (call) => {
      const found = await requireRun(service, call);
      return { status: 200, body: { run: found.summary.run, mail: await found.mail() } };
    },
  });

const comparingRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/replay',
    id: 'replayRun',
    tag: 'runs',
    summary: 'Replay a run from its log, without any model, tool or network, and compare every record',
    replies: { 200: jsonReply('What the replay did.', replayShape) },
    answer: async (call) => {
      const { outcome, ...replayed } = await (await requireRun(service, call)).replay();
      const ended = outcome === null ? null : { ...outcome, failure: failureJson(outcome.failure) };
      return { status: 200, body: { ...replayed, outcome: ended } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/diff',
    id: 'compareRuns',
    tag: 'runs',
    summary: 'Compare a run with another one of your runs, such as its fork, cell by cell',
    query: diffQuery,
    replies: { 200: jsonReply('The comparison.', diffShape) },
    answer: async (call, { query }) => {
      const found = await requireRun(service, call);
      return { status: 200, body: await found.diff(query.with) };
    },
  }),
];
