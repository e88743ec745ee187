// A conversation remembers its tools: a turn is shown the calls and results of its agent's earlier turns.
import { expect, test } from 'vitest';
import type { AgentOptions } from 'cloister';
import type { ScriptLine } from '#testkit';
import { newestPrompt, newWorkspace, openTalk, ref, takeTurn } from './conversations-driver.ts';
import type { Talk } from './conversations-driver.ts';

const search = {
  name: 'search',
  description: 'Searches.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: ({ size = 0 }) => `found ${'word '.repeat(size)}`,
};
const withSearch: Partial<AgentOptions> = { tools: [search, 'write_file'] };

/** `search <size>` and `write <size>` call a tool; the answer then thinks aloud, with a signature. */
const acts: readonly ScriptLine[] = [
  { when: ({ toolResults }) => toolResults.length > 0, reply: { reasoning: 'Thought about it.', text: 'Done.' } },
  {
    when: { pattern: /^(?:search|write) \d+$/u },
    reply: ({ goal }) => {
      const size = Number(goal.split(' ')[1]);
      const write = { tool: 'write_file', args: { path: 'a.txt', content: 'x'.repeat(size) } };
      const call = goal.startsWith('write') ? write : { tool: 'search', args: { size } };
      return { reasoning: 'Think first.', text: 'I look.', calls: [call] };
    },
  },
];

const open = (agents: Readonly<Record<string, Partial<AgentOptions>>>, more: object = {}): Promise<Talk> =>
  openTalk({ says: acts, agents, ...more });

/** The messages of the newest request, without SYSTEM. */
const messages = ({ model }: Talk) => (model.requests.at(-1)?.prompt ?? []).filter(({ role }) => role !== 'system');

test('a turn is shown the tool calls of its agent’s earlier turns as calls and results, without what was thought then', async () => {
  const talk = await open({ lead: withSearch });
  await takeTurn(talk, 'search 1');
  const { run } = await takeTurn(talk, 'And now?');
  const text = (value: string) => [{ type: 'text', text: value }];
  const call = { toolCallId: 'earlier_1', toolName: 'search' };
  expect(messages(talk)).toEqual([
    { role: 'user', content: text('search 1') },
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { size: 1 } }] },
    { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value: 'found word ' } }] },
    { role: 'assistant', content: text('Done.') },
    { role: 'user', content: text('Your task: And now?') },
  ]);
  expect(await talk.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(await talk.cloister.replay(run)).toMatchObject({ ok: true });
  // People see messages.
  const { entries } = await talk.cloister.conversations.show(ref('main'));
  expect(entries.map(({ category }) => category)).toEqual(Array.from({ length: 4 }, () => 'DIALOG'));
});

test('an agent that has no tools any more is shown them as text', async () => {
  const workspace = newWorkspace();
  const first = await open({ lead: withSearch }, { workspace });
  await takeTurn(first, 'search 1');
  await first.cloister.close();
  const second = await open({ lead: {} }, { workspace });
  const { run } = await takeTurn(second, 'And now?');
  expect(messages(second).map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user']);
  expect(newestPrompt(second)).toContain('| search {\\"size\\":1}\\n(It returned:)\\n| found word ');
  expect(await second.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
});

test('no other agent is shown them, even if it is attached or the conversation is branched to it', async () => {
  const talk = await open({
    lead: withSearch,
    guest: withSearch,
    heir: { ...withSearch, grants: ['goal', 'result', 'history'] },
  });
  const { run } = await takeTurn(talk, 'search 1');
  await talk.cloister.conversations.attach(ref('main'), 'guest');
  await takeTurn(talk, 'And you?', { agent: 'guest', conversation: ref('main') });
  expect(newestPrompt(talk)).toContain('Done.');
  expect(newestPrompt(talk)).not.toContain('found');
  const { id } = await talk.cloister.checkpoints.create(run);
  await talk.cloister.checkpoints.branch(id, { name: 'theirs', agent: 'heir' });
  await takeTurn(talk, 'And you?', { agent: 'heir', conversation: 'theirs' });
  expect(newestPrompt(talk)).toContain('Done.');
  expect(newestPrompt(talk)).not.toContain('found');
  await talk.cloister.checkpoints.branch(id, { name: 'own' });
  await takeTurn(talk, 'And you?', { conversation: 'own' });
  expect(newestPrompt(talk)).toContain('found word');
});

test('long results are named, and long inputs are shortened', async () => {
  const talk = await open({ lead: withSearch });
  await takeTurn(talk, 'search 9000');
  await takeTurn(talk, 'write 9000');
  await takeTurn(talk, 'And now?');
  expect(newestPrompt(talk)).toContain('read_output {\\"name\\": \\"search_001.txt\\"');
  expect(newestPrompt(talk)).toContain(`${'x'.repeat(200)} … [shortened from 9000 bytes]`);
  expect(newestPrompt(talk).length).toBeLessThan(6_000);
});

test('when the window is full, they are dropped first, and nothing else is cut', async () => {
  const talk = await open({ lead: { ...withSearch, limits: { contextTokensMax: 3_000 } } });
  for (let nth = 0; nth < 6; nth++) await takeTurn(talk, 'search 300');
  const { run } = await takeTurn(talk, 'x'.repeat(4_000));
  const roles = messages(talk).map(({ role }) => role);
  expect(roles.filter((role) => role === 'tool').length).toBeLessThan(4);
  expect(roles.filter((role) => role === 'user').length).toBe(7);
  const [window] = await talk.cloister.windows(run);
  expect(window?.happened.map(({ what }) => what)).not.toContain('compacted');
  expect(await talk.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
});
