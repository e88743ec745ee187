// Every key of a team file, once. Reading, the table in the docs and the options in code follow from it.
import { about, either, boolean, json, mapOf, oneOf, oneOrMore, orEmpty, whole, withRules } from '#base/shapes';
import type { ObjectForm, Shape } from '#base/shapes';
import { agentName, agentReference, block, budgetBlock, durationValue, mapExpected, text } from './file-shapes.ts';
import { frontmatterShape } from './frontmatter-shape.ts';

const tasksAtOnce = whole(1, 10_000);
const planSize = whole(1, 100_000);

const coordinator = block(
  {},
  {
    models: { ...frontmatterShape.fields['models']!, otherwise: 'the models of the config' },
    prompt: about(text, 'Instructions for planning and answering.', {
      example: 'Plan few tasks. Answer in a table.',
      otherwise: 'a short built-in prompt',
    }),
  },
);

const plan = orEmpty(
  block(
    {},
    {
      tasks: about(planSize, 'Maximum tasks in a plan.', { example: 50, default: 200 }),
      depth: about(planSize, 'Maximum length of a dependency chain.', { example: 5, default: 20 }),
    },
  ),
);

const recipientsExpected = 'true, false, or for each sender a list of recipients';

const optional = {
  name: about(agentName, 'Name of the team.', { example: 'newsroom', otherwise: 'the file name' }),
  description: about(text, 'One sentence saying what the team does.', {
    example: 'Finds things out and writes them up',
  }),
  coordinator: about(
    either(
      agentReference.expected as string,
      { ...agentReference, convert: { to: (agent: string) => ({ agent }), stored: agentReference } },
      coordinator,
    ),
    'Coordinator that plans and answers: an agent, or models for a built-in one.',
    { example: { models: ['anthropic/claude-sonnet-4-5'] }, otherwise: 'none: it only runs tasks you write' },
  ),
  parallel: about(tasksAtOnce, 'Maximum tasks in parallel.', { example: 4, default: 4 }),
  capacity: about(
    { ...mapOf(tasksAtOnce, agentName), expected: mapExpected },
    'Maximum tasks in parallel per member, by name.',
    { example: { writer: 1 }, otherwise: 'limited by `parallel` only' },
  ),
  memoryScope: about(
    oneOf('dependencies', 'all'),
    'Default for tasks: show the results a task depends on, or all results so far.',
    { example: 'dependencies', default: 'dependencies' },
  ),
  planMayAskForAll: about(boolean(), "Whether the coordinator's plan may give tasks all results.", {
    example: false,
    default: false,
  }),
  plan: about(plan, 'Maximum size of a plan.', { example: { tasks: 50, depth: 5 } }),
  retries: about(whole(0, 10), 'Default number of retries per task.', { example: 1, default: 0 }),
  backOff: about(durationValue, 'Delay before the first retry; doubled for each further retry.', {
    example: '1s',
    default: '1s',
    into: ['backOffMs'],
  }),
  backOffMs: about(durationValue, 'Alias of `backOff`.', { example: 1_000, aliasOf: 'backOff' }),
  messages: about(
    either(recipientsExpected, boolean(), mapOf(oneOrMore(agentName), agentName)),
    'Which members may message each other: `true` for all of them, or for each sender a list of recipients.',
    { example: { researcher: ['writer'] }, default: false },
  ),
  budget: about(budgetBlock, 'One budget for everything the team does.', { example: { tokens: 200_000 } }),
  // `core/tasks` checks its content.
  tasks: about(json(), 'Fixed list of tasks, if the team always does the same.', {
    example: [{ title: 'Find facts', description: 'Find three facts about bees.' }],
  }),
};

export const teamShape: Shape & ObjectForm = block(
  {
    agents: about(
      withRules(oneOrMore(agentReference), {
        find: (agents: readonly unknown[]) => (agents.length > 0 ? null : { text: 'A team needs at least one agent.' }),
        schema: { not: { type: 'array', maxItems: 0 } },
      }),
      'Its members: paths of `.ai` files relative to this one, or agent names.',
      { example: ['./researcher.ai', './writer.ai'] },
    ),
  },
  optional,
) as Shape & ObjectForm;
