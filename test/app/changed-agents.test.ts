// Which questions no answer can continue, because an agent below the root has changed: known from the definitions in the log.
// invariants: changed-agent-certain, changed-agent-reached
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, RunOptions, RunSession, ToolDefinition } from 'cloister';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
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

/** The same model, which escapes the names of its arguments. */
const escaping = (lines: readonly ScriptLine[]): LanguageModelV4 => {
  const model = rehearse(lines);
  const escapeInput = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
    transform: (part, controller) =>
      controller.enqueue(
        part.type === 'tool-call'
          ? { ...part, input: part.input.replaceAll(/"t(?=ools|imeout_ms)/gu, String.raw`"\u0074`) }
          : part,
      ),
  });
  const escapeFirst = async (options: Parameters<LanguageModelV4['doStream']>[0]) => {
    const result = await model.doStream(options);
    return options.prompt.some(({ role }) => role === 'assistant')
      ? result
      : { ...result, stream: result.stream.pipeThrough(escapeInput) };
  };
  return { ...model, doStream: escapeFirst };
};

const waiting = async (session: RunSession): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  session.onWaiting((waits) => waits && resolve());
  if (!session.waitsForPeople) await promise;
};

/** Leaves a run of the first agent while it asks; what a Cloister with each of the others says of its question, and of an answer. */
const answerLater = async (
  before: Agent,
  later: readonly Agent[],
  options: RunOptions = {},
): Promise<readonly (readonly string[])[]> => {
  await using folder = await temporaryFolder();
  const owner = await openCloister({ agents: [before], workspace: folder.path });
  await waiting(owner.run('lead', 'Go.', options));
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

/** What it starts asks a person; it does not. */
const starter = (args: object): Agent =>
  agent('lead', [], {
    models: [
      rehearse([
        {
          reply: ({ goal, turn }) => {
            if (turn > 1) return 'Done.';
            const message = { initial_message: 'Write.', ...args } as never;
            return { calls: [goal === 'Go.' ? { tool: 'spawn_agent', args: message } : { tool: 'send', args: {} }] };
          },
        },
      ]),
    ],
    tools: [send, look, 'spawn_agent'],
    spawns: { agents: ['self'], templates: true },
    limits: { timeout_ms: 50_000, max_steps: 20 },
  });

const ofClient: ToolDefinition = { ...look, name: 'open_file', outside: true };

test.each<[string, string, object, RunOptions]>([
  ['a copy of itself', 'lead', { agent_id: 'self' }, {}],
  ['a copy of itself with less time and fewer tools', 'lead', { agent_id: 'self', ...less }, {}],
  ['a copy of itself, which has no tools of its client', 'lead', { agent_id: 'self' }, { tools: [ofClient] }],
  ['an agent that the model defined', 'new', { agent_id: 'new', template: { prompt: 'Send.', tools: ['send'] } }, {}],
])('an agent that started %s has not changed', async (_what, asker, args, options) => {
  const said = await answerLater(starter(args), [starter(args)], options);
  expect(said).toEqual([[asker, 'open', 'allowed', 'completed']]);
});

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

test('an agent that was called with options whose names the model had escaped has not changed', async () => {
  const lead = (): Agent =>
    agent('lead', [], { agents: [clerk({})], models: [escaping(calls('clerk', { prompt: 'Write.', ...less }))] });
  expect(await answerLater(lead(), [lead()])).toEqual([['clerk', 'open', 'allowed', 'completed']]);
});

/** Two desks whose definitions are the same, each with a clerk of its own. */
const twoDesks = (second: string): Agent => {
  const desk = (toolName: string, prompt: string): Agent =>
    agent('desk', calls('clerk', { prompt: 'Write.' }), {
      toolName,
      prompt: 'Pass it on.',
      agents: [clerk({ prompt })],
    });
  return agent('lead', calls('south', { prompt: 'Write.' }), {
    agents: [desk('north', 'You write in the north.'), desk('south', second)],
  });
};

test('of two agents with the same definition, each has the agents of its own', async () => {
  const before = twoDesks('You write in the south.');
  const [changed, same] = await answerLater(before, [twoDesks('You are another.'), before]);
  expect(changed).toEqual(['clerk', 'stale', staleText('clerk')]);
  expect(same).toEqual(['clerk', 'open', 'allowed', 'completed']);
});

test('a question is stale as long as the changed agent is registered', async () => {
  await using folder = await temporaryFolder();
  const owner = await openCloister({ agents: [caller({}, {})], workspace: folder.path });
  await waiting(owner.run('lead', 'Go.'));
  await owner.close();
  await using cloister = await openCloister({ agents: [caller({}, {})], workspace: folder.path });
  const state = async (): Promise<string> => (await cloister.questions())[0]!.state;
  expect(await state()).toBe('open');
  cloister.register(caller({}, { prompt: 'You are another clerk.' }));
  const [question] = await cloister.questions();
  expect(question!.state).toBe('stale');
  const answer = { allow: true, sha256: question!.sha256 } as const;
  await expect(cloister.answer(question!.id, answer)).rejects.toMatchObject({ code: 'question_stale' });
  cloister.register(caller({}, {}));
  expect(await state()).toBe('open');
  const { session } = await cloister.answer(question!.id, answer);
  expect(await session!.outcome).toMatchObject({ status: 'completed' });
});

test('an answer that was refused because of another model is taken once the agent has its own again', async () => {
  await using folder = await temporaryFolder();
  const named = (modelId: string): Agent => caller({}, { models: [{ ...rehearse(calls('send', {})), modelId }] });
  const owner = await openCloister({ agents: [named('one')], workspace: folder.path });
  await waiting(owner.run('lead', 'Go.'));
  await owner.close();
  await using cloister = await openCloister({ agents: [named('other')], workspace: folder.path });
  const [question] = await cloister.questions();
  const answer = { allow: true, sha256: question!.sha256 } as const;
  await expect(cloister.answer(question!.id, answer)).rejects.toMatchObject({ code: 'question_stale' });
  expect(await cloister.questions()).toMatchObject([{ state: 'stale' }]);
  cloister.register(named('one'));
  expect(await cloister.questions()).toMatchObject([{ state: 'open' }]);
  const { session } = await cloister.answer(question!.id, answer);
  expect(await session!.outcome).toMatchObject({ status: 'completed' });
});
