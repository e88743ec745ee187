// Which questions no answer can continue, because an agent below the root has changed: known from the definitions in the log.
// invariants: changed-agent-certain, changed-agent-reached
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, RunSession, ToolDefinition } from 'cloister';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

type Options = Partial<Parameters<typeof defineAgent>[0]>;

const look: ToolDefinition = {
  name: 'look',
  description: 'Looks something up.',
  inputSchema: { type: 'object' },
  execute: () => 'Seen.',
};
const send: ToolDefinition = { ...look, name: 'send', description: 'Sends a letter.', approve: true };

const agent = (name: string, lines: readonly ScriptLine[], more: Options = {}): Agent =>
  defineAgent({ name, description: name, prompt: `You are ${name}.`, models: [rehearse(lines)], ...more });

const calls = (tool: string, args: object): readonly ScriptLine[] => [
  { when: { turn: 1 }, reply: { calls: [{ tool, args: args as never }] } },
  { reply: 'Done.' },
];

/** Asks a person before its first call. */
const clerk = (more: Options): Agent => agent('clerk', calls('send', {}), { tools: [send, look], ...more });

const caller = (args: object, more: Options): Agent =>
  agent('lead', calls('clerk', { prompt: 'Write.', ...args }), { agents: [clerk(more)] });

const spawner = (args: object, more: Options): Agent =>
  agent('lead', calls('spawn_agent', { agent_id: 'clerk', initial_message: 'Write.', ...args }), {
    tools: ['spawn_agent'],
    spawns: { agents: [clerk(more)], share: ['context'] },
    limits: { timeout_ms: 50_000, max_steps: 20 },
  });

const less = { timeout_ms: 9_000, tools: ['send'] };

const ways: readonly (readonly [string, (more: Options) => Agent])[] = [
  ['called', (more) => caller({}, more)],
  ['called with less time and fewer tools', (more) => caller(less, more)],
  [
    'gathered',
    (more) =>
      agent('lead', calls('gather', { tasks: [{ agent: 'clerk', prompt: 'Write.' }] }), {
        agents: [clerk(more)],
        gather: { timeoutMs: 10_000 },
      }),
  ],
  ['spawned', (more) => spawner({}, more)],
  ['spawned with less time and fewer tools', (more) => spawner(less, more)],
  ['spawned with a part of the window', (more) => spawner({ share: ['context'] }, more)],
  [
    'called by an agent that was spawned',
    (more) =>
      agent('lead', calls('spawn_agent', { agent_id: 'desk', initial_message: 'Write.' }), {
        tools: ['spawn_agent'],
        spawns: { agents: [agent('desk', calls('clerk', { prompt: 'Write.' }), { agents: [clerk(more)] })] },
        limits: { timeout_ms: 50_000, max_steps: 20 },
      }),
  ],
];

const waiting = async (session: RunSession): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  session.onWaiting((waits) => waits && resolve());
  if (!session.waitsForPeople) await promise;
};

/** Leaves a run of the first agent while it asks; what a Cloister with each of the others says of its question, and of an answer. */
const answerLater = async (before: Agent, later: readonly Agent[]): Promise<readonly (readonly string[])[]> => {
  await using folder = await temporaryFolder();
  const owner = await openCloister({ agents: [before], workspace: folder.path });
  await waiting(owner.run('lead', 'Go.'));
  await owner.close();
  const said: string[][] = [];
  for (const one of later) {
    await using cloister = await openCloister({ agents: [one], workspace: folder.path });
    const [question] = await cloister.questions();
    const answered = await cloister
      .answer(question!.id, { allow: true, sha256: question!.sha256 })
      .then(({ state, session }) => session!.outcome.then(({ status }) => [state, status]))
      .catch((error: Error) => [error.message]);
    said.push([question!.agent, question!.state, ...answered]);
  }
  return said;
};

const staleText = (agentName: string): unknown =>
  expect.stringMatching(
    new RegExp(`The definition of "${agentName}" has changed since the run started: .*\\bprompt`, 'u'),
  );

test.each(ways)(
  'an agent that was %s makes a question stale if its definition has changed, and only then',
  async (_how, lead) => {
    const [changed, same] = await answerLater(lead({}), [lead({ prompt: 'You are another clerk.' }), lead({})]);
    expect(changed).toEqual(['clerk', 'stale', staleText('clerk')]);
    expect(same).toEqual(['clerk', 'open', 'allowed', 'completed']);
  },
);

test('an agent that has got another tool has changed', async () => {
  const more = { tools: [send, look, { ...look, name: 'find' }] };
  const [changed] = await answerLater(caller({}, {}), [caller({}, more)]);
  expect(changed).toEqual(['clerk', 'stale', expect.stringContaining('"clerk" has changed since the run started: ')]);
});

/** A desk asks its clerk, and has ended when the lead asks a person. */
const afterDesk = (deskPrompt: string, clerkPrompt: string): Agent => {
  const helper = agent('clerk', [{ reply: 'Done.' }], { prompt: clerkPrompt });
  const desk = agent('desk', calls('clerk', { prompt: 'Write.' }), { agents: [helper], prompt: deskPrompt });
  const lines: readonly ScriptLine[] = [
    { when: { turn: 1 }, reply: { calls: [{ tool: 'desk', args: { prompt: 'Write.' } }] } },
    { when: { turn: 2 }, reply: { calls: [{ tool: 'send', args: {} }] } },
    { reply: 'Done.' },
  ];
  return agent('lead', lines, { agents: [desk], tools: [send] });
};

test('what has changed below an agent that has ended is not looked at again: only that agent itself is', async () => {
  const later = [afterDesk('Other.', 'Write.'), afterDesk('Pass it on.', 'Other.')];
  const [ended, below] = await answerLater(afterDesk('Pass it on.', 'Write.'), later);
  expect(ended).toEqual(['lead', 'stale', staleText('desk')]);
  expect(below).toEqual(['lead', 'open', 'allowed', 'completed']);
});
