import { expect, test } from 'vitest';
import type { ConversationSummary } from '#contracts';
import { cli, emulate, runId, scene, startAt } from './driver.ts';
import type { Behaviour } from './driver.ts';
import { conversation } from './fake-conversations.ts';
import type { ConversationFixture } from './fake-conversations.ts';

const ref = { agent: 'lead', name: 'trip' };
const others = [conversation(scene()), conversation(scene(), { agent: 'scout' })];

const conversations = async (
  args: readonly string[],
  talk: ConversationFixture = {},
  more: Pick<Behaviour, 'lines' | 'defaultAgent'> & { readonly tty?: boolean } = {},
) => {
  const asked: unknown[][] = [];
  const { tty = false, ...behaviour } = more;
  const told = await cli(['conversations', ...args], scene(), {
    behaviour: { lines: { isTerminal: false, texts: [] }, ...behaviour, talk: { ...talk, asked } },
    terminal: { tty },
  });
  return { ...told, asked };
};

test('the list shows agent, name, turns, time, state and attached agents, in 80 columns', async () => {
  const all: readonly ConversationSummary[] = [
    conversation(scene(), { attached: ['scout', 'researcher-of-the-northern-provinces'], running: [runId] }),
    conversation(scene(), { agent: 'an-agent-with-a-rather-long-name', name: 'a-conversation-with-a-long-name' }),
    conversation(scene(), { name: 'old', deletedAt: startAt }),
  ];
  const { code, stdout } = await conversations(['list'], { conversations: all });
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^agent +name +turns +last turn +state +attached$/u);
  expect(lines[1]).toMatch(/^lead +trip +3 +2026-03-01 12:01:00 +running +scout/u);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect((await conversations(['list', '--deleted'], { conversations: all })).stdout).toMatch(
    /^lead +old +.* deleted/mu,
  );
  expect(JSON.parse((await conversations(['list', '--json'], { conversations: all })).stdout)).toEqual(all.slice(0, 2));
});

test('the list can be limited to one agent; an empty list says how to start', async () => {
  const { stdout } = await conversations(['list', '--agent', 'scout'], { conversations: others });
  expect(stdout.trimEnd().split('\n').slice(1)).toEqual([expect.stringMatching(/^scout +trip/u)]);
  const none = await conversations(['list', '--agent', 'x'], { conversations: others });
  expect(none.stdout).toMatch(/^No conversations of x yet\.\nStart one with `cloister chat/u);
});

test('if only deleted conversations are left, the list says how to see them', async () => {
  const all = [conversation(scene(), { name: 'old', deletedAt: startAt })];
  const { stdout } = await conversations(['list'], { conversations: all });
  expect(stdout).toBe(
    'No conversations; 1 deleted one can be restored:\n  npx cloister conversations list --deleted\n',
  );
});

test('show prints every message with author and recipient, interleaved, and marks context', async () => {
  const { code, stdout } = await conversations(['show', 'trip']);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'lead/trip',
    'started   2026-03-01 12:00:00, 3 turns, last turn 2026-03-01 12:01:00',
    'attached  researcher',
    '',
    '2026-03-01 12:00:00  person → lead, context',
    'It rains.',
    '',
    '2026-03-01 12:00:01  person → lead',
    'Compare SQLite and DuckDB',
    '',
    '2026-03-01 12:00:02  lead → person',
    'SQLite for rows,',
    'DuckDB for columns.',
    '',
    '2026-03-01 12:00:03  researcher → person',
    'SQLite for rows,',
    'DuckDB for columns.',
    '',
  ]);
  const json = JSON.parse((await conversations(['show', 'lead/trip', '--json'])).stdout) as object;
  expect(json).toMatchObject({ ...ref, entries: [{ agent_id: 'person', recipient_id: 'lead' }, {}, {}, {}] });
});

test('if several agents have a conversation of one name, the name stands for the default agent’s', async () => {
  const { code, asked } = await conversations(['purge', 'trip'], { conversations: others }, { defaultAgent: 'scout' });
  expect({ code, asked }).toEqual({ code: 0, asked: [['purge', { agent: 'scout', name: 'trip' }]] });
});

test('an ambiguous name is refused; the error lists the full names, which are accepted', async () => {
  const { code, stderr, asked } = await conversations(['purge', 'trip'], { conversations: others });
  expect({ code, asked }).toEqual({ code: 4, asked: [] });
  expect(stderr).toBe(
    'error: more than one agent has a conversation "trip": lead/trip, scout/trip\ntry: include the agent: lead/trip\n',
  );
  for (const args of [
    ['purge', 'scout/trip'],
    ['purge', 'trip', '--agent', 'scout'],
  ])
    expect((await conversations(args, { conversations: others })).asked).toEqual([
      ['purge', { agent: 'scout', name: 'trip' }],
    ]);
});

test('of two conversations with one name, restore takes the deleted one and delete the other', async () => {
  const talk = {
    conversations: [conversation(scene()), conversation(scene(), { agent: 'scout', deletedAt: startAt })],
  };
  expect((await conversations(['restore', 'trip'], talk)).asked).toEqual([
    ['restore', { agent: 'scout', name: 'trip' }],
  ]);
  expect((await conversations(['delete', 'trip'], talk)).asked[0]?.slice(0, 2)).toEqual(['delete', ref]);
});

test.each(['show', 'export', 'delete', 'restore', 'purge'])(
  '%s of an unknown name lists what exists',
  async (action) => {
    const { code, stderr, asked } = await conversations([action, 'nothing'], { conversations: others });
    expect({ code, asked }).toEqual({ code: 1, asked: [] });
    expect(stderr).toMatch(/^error: There is no such conversation\. The newest are: lead\/trip, scout\/trip\.\ntry: /u);
    expect((await conversations([action, 'x'], { conversations: [] })).stderr).toContain(
      'This workspace has no conversations.',
    );
  },
);

test('export prints the path of the file', async () => {
  const path = '/work/space/.cloister/conversations/trip.json';
  expect((await conversations(['export', 'trip'])).stdout).toBe(`${path}\n`);
  expect(JSON.parse((await conversations(['export', 'trip', '--json'])).stdout)).toEqual({ conversation: ref, path });
});

test('attach and detach take the other agent as an argument; --to, which no help lists, does the same', async () => {
  for (const action of ['attach', 'detach']) {
    expect((await conversations([action, 'trip', 'scout'])).asked).toEqual([[action, ref, 'scout']]);
    expect((await conversations([action, 'trip', '--to', 'scout'])).asked).toEqual([[action, ref, 'scout']]);
    const { stdout } = await conversations([action, '--help']);
    expect(stdout).toContain(`cloister conversations ${action} [options] <name> <other>\n`);
    expect(stdout).not.toContain('--to');
  }
  expect((await conversations(['attach', 'trip', 'scout'])).stdout).toBe('scout can now take part in lead/trip.\n');
  expect(JSON.parse((await conversations(['attach', 'trip', 'scout', '--json'])).stdout)).toEqual({
    action: 'attach',
    conversation: ref,
  });
});

test('a name can contain a slash if its agent comes first', async () => {
  const talk = { conversations: [conversation(scene(), { name: 'a/b' })] };
  expect((await conversations(['purge', 'lead/a/b'], talk)).asked).toEqual([['purge', { agent: 'lead', name: 'a/b' }]]);
});

test('an agent to attach must exist: it is found by name or file, offline', async () => {
  const toAttach = { workspace: './.cloister', agents: [], agent: 'scout', offline: true };
  expect((await conversations(['attach', 'trip', 'scout'])).opened).toEqual([toAttach]);
  expect((await conversations(['attach', 'trip', 'x/scout.ai', '--agents', 'y'])).opened).toEqual([
    { ...toAttach, agents: ['x/scout.ai', 'y'] },
  ]);
  const asked: unknown[][] = [];
  const { code, stderr } = await cli(['conversations', 'attach', 'trip', 'nobody'], scene(), {
    behaviour: { agents: [], talk: { asked } },
  });
  expect({ code, asked }).toEqual({ code: 1, asked: [] });
  expect(stderr).toContain('No agent has that name. Looked for "nobody": pass its file');
});

test('delete prints the command that restores the conversation', async () => {
  const { code, stdout, asked } = await conversations(['delete', 'trip', '--workspace', 'my work']);
  expect(code).toBe(0);
  expect(stdout).toBe(
    "Deleted lead/trip. To restore it:\n  npx cloister conversations restore lead/trip --workspace 'my work'\n",
  );
  expect(asked).toEqual([['delete', ref, { force: false }]]);
});

const shared: ConversationFixture = { sharedWith: 'scout' };

test('without a terminal a shared conversation is deleted only with --force', async () => {
  for (const json of [[], ['--json']]) {
    const { code, stdout, stderr, asked } = await conversations(['delete', 'trip', ...json], shared);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain(
      'That conversation is shared with other agents, or has branches. Attached: scout.',
    );
    expect(asked).toEqual([['delete', ref, { force: false }]]);
  }
  const forced = await conversations(['delete', 'trip', '--force'], shared);
  expect(forced).toMatchObject({ code: 0, asked: [['delete', ref, { force: true }]] });
});

test('at a terminal delete names the other agents, asks first, and proceeds only on yes', async () => {
  for (const yes of ['y', 'yes', ' Y ']) {
    const { code, stderr, prompts, asked } = await conversations(['delete', 'trip'], shared, {
      lines: { isTerminal: true, texts: [yes] },
      tty: true,
    });
    expect({ code, prompts }).toEqual({ code: 0, prompts: ['Delete it anyway? [y/N] '] });
    expect(stderr).toBe('That conversation is shared with other agents, or has branches. Attached:\nscout.\n');
    expect(asked.at(-1)).toEqual(['delete', ref, { force: true }]);
  }
  for (const texts of [['n'], [''], ['yesterday'], []]) {
    const { code, stderr, asked } = await conversations(['delete', 'trip'], shared, {
      lines: { isTerminal: true, texts },
      tty: true,
    });
    expect(code).toBe(130);
    expect(stderr).toContain('Nothing was deleted.\n');
    expect(asked).toHaveLength(1);
  }
});

test('with --json delete never asks', async () => {
  const { code, prompts } = await conversations(['delete', 'trip', '--json'], shared, {
    lines: { isTerminal: true, texts: ['y'] },
    tty: true,
  });
  expect({ code, prompts }).toEqual({ code: 1, prompts: [] });
});

const mistakes: readonly (readonly [args: readonly string[], error: RegExp, advice: RegExp])[] = [
  [['lst'], /unknown command 'lst'/u, /try: cloister conversations list\n/u],
  [['zzzzz'], /unknown command 'zzzzz'/u, /try: cloister conversations --help/u],
  [['show'], /missing required argument 'name'/u, /try: cloister conversations show --help/u],
  [['show', 'a/'], /"a\/" is not a valid conversation name/u, /try: use <name> or <agent>\/<name>/u],
  [['show', '/b'], /"\/b" is not a valid conversation name/u, /try: use <name> or <agent>\/<name>/u],
  [['show', ''], /"" is not a valid conversation name/u, /try: /u],
  [['show', 'lead/trip', '--agent', 'scout'], /lead\/trip does not belong to agent scout/u, /try: omit --agent/u],
  [['attach', 'trip'], /missing the other agent/u, /try: cloister conversations attach <name> <other>/u],
  [['attach', 'trip', 'a', '--to', 'b'], /two other agents given: a and b/u, /try: name only one of them/u],
  [['delete', 'trip', '--forse'], /unknown option '--forse'/u, /try: --force/u],
];

test.each(mistakes)('a usage error is reported with a suggestion, exit 4: %j', async (args, error, advice) => {
  const { code, stderr, opened } = await conversations(args);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
  expect(stderr).toMatch(advice);
});

test('without a subcommand the help is printed, exit 4', async () => {
  const { code, stderr } = await conversations([]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/Usage: cloister conversations/u);
});
