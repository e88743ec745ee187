// What the tokens of a server allow: a caller reads about its own, the operator about all of them.
import { CloisterError } from '#base';
import { about, amount, boolean, listOf, named, oneOf, openObject, orNull } from '#base/shapes';
import type { Shape } from '#base/shapes';
import { budgetShape, seesShape } from '#contracts';
import type { AgentService, HttpRoute } from '#contracts';
import type { RestWorld } from './agent-routes.ts';
import { jsonReply, restRoute } from './described-route.ts';
import {
  countShape as count,
  textOrNullShape as textOrNone,
  textShape as text,
  textsShape as texts,
  timeShape as time,
} from './value-shapes.ts';

const used = (unit: Shape): Shape => orNull(openObject({ limit: unit, used: unit }));

const allowance = about(
  orNull(
    openObject({
      per: oneOf('hour', 'day', 'month'),
      tokens: used(count),
      usd: used(amount(-Infinity, Infinity)),
      resetsAt: about(time, 'When the next period begins.'),
    }),
  ),
  'The maximum for all requests of a period together, and what ended runs have used of it; null: none.',
);

const accountFields = {
  name: text,
  operator: about(boolean(), 'Whether the holder runs the server: it reads, steers and answers for all runs.'),
  sees: seesShape,
  watchOnly: about(boolean(), 'Whether the token reads runs, and starts, sends and stops nothing.'),
  budget: about(orNull(budgetShape), 'The maximum for one request; null: the token sets none.'),
  allowance,
};

const accountShape = named(
  'Account',
  openObject({
    ...accountFields,
    agents: about(count, 'How many agents you can run.'),
    version: text,
    workspace: about(
      textOrNone,
      'For an operator: the name of the workspace’s folder, or of the folder around `.cloister`; null in memory.',
    ),
  }),
);

const callerShape = named(
  'Caller',
  openObject({
    ...accountFields,
    agents: about(orNull(texts), 'The agents that it may use; null: all of them.'),
    requestsPerMinute: orNull(count),
    running: about(orNull(count), 'How many of its runs may run at a time; null: the token sets no limit.'),
    runningNow: about(count, 'How many of them run on this server now.'),
    may: orNull(texts),
    answers: about(texts, 'Agents whose questions it answers in runs of other callers.'),
    expiresAt: orNull(time),
  }),
);

export const accountValues: readonly Shape[] = [accountShape, callerShape];

export const accountRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/me',
    id: 'showAccount',
    tag: 'server',
    summary: 'Get what your token allows, and how much of it is used',
    replies: { 200: jsonReply('The account.', accountShape) },
    answer: async ({ caller }) => {
      const account = await service.accounts.own(caller);
      const agents = service.agents(caller).length;
      const workspace = account.operator ? (world.workspace ?? null) : null;
      return { status: 200, body: { ...account, agents, version: world.version, workspace } };
    },
  }),
  restRoute({
    method: 'GET',
    path: '/v1/callers',
    id: 'listCallers',
    tag: 'server',
    summary: 'List the tokens of the server: what each allows, and how much of it is used',
    description: 'Only for operators; for every other token there is nothing here.',
    replies: { 200: jsonReply('The callers.', openObject({ callers: listOf(callerShape) })) },
    answer: async ({ caller }) => {
      const callers = await service.accounts.all(caller);
      if (callers === undefined) throw new CloisterError('route_unknown');
      return { status: 200, body: { callers } };
    },
  }),
];
