// What replies tell about agents, for the OpenAPI document.
import { about, amount, boolean, listOf, named, openObject, orNull } from '#base/shapes';
import { budgetShape } from '#contracts';
import { countShape as count, textShape as text, textsShape as texts } from './value-shapes.ts';

export const agentFactsShape = named(
  'AgentFacts',
  openObject({
    name: text,
    description: text,
    models: texts,
    tools: texts,
    agents: about(texts, 'Those that it calls, spawns or gives tasks to.'),
    team: boolean(),
    topics: texts,
    messages: about(orNull(texts), 'Whom it may write to; null: its parent and children.'),
    approve: about(texts, 'Tools that a person must allow.'),
    budget: budgetShape,
  }),
);

const amountOrNone = orNull(amount(-Infinity, Infinity));

export const topologyShape = named(
  'Topology',
  openObject({
    edges: listOf(
      openObject({ from: text, to: text, kind: about(text, '`calls`, `spawns`, `tasks`, `messages` or `topic`.') }),
    ),
    worstCase: about(
      orNull(openObject({ agents: orNull(count), depth: count, tokens: amountOrNone, usd: amountOrNone })),
      'Upper bounds for one run, for operators; null: not known.',
    ),
    warnings: about(texts, 'What `cloister check` finds, for operators.'),
  }),
);
