import { expect, test } from 'vitest';
import type { ConversationSummary } from '#contracts';
import { cli, emulate, runId, scene, startAt } from './driver.ts';
import type { Behaviour } from './driver.ts';
import { conversation } from './talk.ts';
import type { Talk } from './talk.ts';

const ref = { agent: 'lead', name: 'trip' };
const others = [conversation(scene()), conversation(scene(), { agent: 'scout' })];

const conversations = async (
  args: readonly string[],
  talk: Talk = {},
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

test('the list tells agent, name, turns, time, state and who is attached, in 80 columns', async () => {
  const all: readonly ConversationSummary[] = [
    conversation(scene(), { attached: ['scout', 'researcher-of-the-northern-provinces'], running: [runId] }),
    conversation(scene(), { agent: 'an-agent-with-a-rather-long-name', name: 'a-conversation-with-a-long-name' }),
    conversation(scene(), { name: 'old', deletedAt: startAt }),
  ];
  const { code, stdout } = await conversations(['list'], { conversations: all });
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^agent +name +turns +newest +state +attached$/u);
  expect(lines[1]).toMatch(/^lead +trip +3 +2026-03-01 12:01:00 +running +scout/u);
  expect(emulate(stdout, 80).wrapped).toBe(false);
  expect((await conversations(['list', '--deleted'], { conversations: all })).stdout).toMatch(
    /^lead +old +.* deleted/mu,
  );
  expect(JSON.parse((await conversations(['list', '--json'], { conversations: all })).stdout)).toEqual(all.slice(0, 2));
});

test('the list may be of one agent; without any it says how to start', async () => {
  const { stdout } = await conversations(['list', '--agent', 'scout'], { conversations: others });
  expect(stdout.trimEnd().split('\n').slice(1)).toEqual([expect.stringMatching(/^scout +trip/u)]);
  const none = await conversations(['list', '--agent', 'x'], { conversations: others });
  expect(none.stdout).toMatch(/^There are no conversations of x yet\.\nStart one with `cloister chat/u);
});

test('a list of which only deleted ones are left says how to see them', async () => {
  const all = [conversation(scene(), { name: 'old', deletedAt: startAt })];
  const { stdout } = await conversations(['list'], { conversations: all });
  expect(stdout).toBe(
    'There are no conversations, but 1 that can be restored:\n  npx cloister conversations list --deleted\n',
  );
});

test('show tells every message with who said it to whom, interleaved, and what was given to know', async () => {
  const { code, stdout } = await conversations(['show', 'trip']);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'lead/trip',
    'started   2026-03-01 12:00:00, 3 turns, the newest 2026-03-01 12:01:00',
    'attached  researcher',
    '',
    '2026-03-01 12:00:00  person → lead, to know',
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

test('of several agents’ conversations of one name the default agent’s is meant', async () => {
  const { code, asked } = await conversations(['purge', 'trip'], { conversations: others }, { defaultAgent: 'scout' });
  expect({ code, asked }).toEqual({ code: 0, asked: [['purge', { agent: 'scout', name: 'trip' }]] });
});

test('a name alone must be one agent’s; the error lists them in full, which is accepted', async () => {
  const { code, stderr, asked } = await conversations(['purge', 'trip'], { conversations: others });
  expect({ code, asked }).toEqual({ code: 4, asked: [] });
  expect(stderr).toBe(
    'error: more than one agent has a conversation "trip": lead/trip, scout/trip\ntry: name it with its agent: lead/trip\n',
  );
  for (const args of [
    ['purge', 'scout/trip'],
    ['purge', 'trip', '--agent', 'scout'],
  ])
    expect((await conversations(args, { conversations: others })).asked).toEqual([
      ['purge', { agent: 'scout', name: 'trip' }],
    ]);
});

test('of two with one name, the deleted one is restored and the other one deleted', async () => {
  const talk = {
    conversations: [conversation(scene()), conversation(scene(), { agent: 'scout', deletedAt: startAt })],
  };
  expect((await conversations(['restore', 'trip'], talk)).asked).toEqual([
    ['restore', { agent: 'scout', name: 'trip' }],
  ]);
  expect((await conversations(['delete', 'trip'], talk)).asked[0]?.slice(0, 2)).toEqual(['delete', ref]);
});

test.each(['show', 'export', 'delete', 'restore', 'purge'])(
  '%s of an unknown name says what there is',
  async (action) => {
    const { code, stderr, asked } = await conversations([action, 'nothing'], { conversations: others });
    expect({ code, asked }).toEqual({ code: 1, asked: [] });
    expect(stderr).toMatch(/^error: There is no such conversation\. The newest are: lead\/trip, scout\/trip\.\ntry: /u);
    expect((await conversations([action, 'x'], { conversations: [] })).stderr).toContain('There are none yet.');
  },
);

test('export prints the path of the file', async () => {
  const path = '/work/space/.cloister/conversations/trip.json';
  expect((await conversations(['export', 'trip'])).stdout).toBe(`${path}\n`);
  expect(JSON.parse((await conversations(['export', 'trip', '--json'])).stdout)).toEqual({ conversation: ref, path });
});

test('attach and detach take the other agent as an argument or with --to', async () => {
  for (const action of ['attach', 'detach']) {
    expect((await conversations([action, 'trip', 'scout'])).asked).toEqual([[action, ref, 'scout']]);
    expect((await conversations([action, 'trip', '--to', 'scout'])).asked).toEqual([[action, ref, 'scout']]);
  }
  expect((await conversations(['attach', 'trip', 'scout'])).stdout).toBe('scout may take turns in lead/trip.\n');
  expect(JSON.parse((await conversations(['attach', 'trip', 'scout', '--json'])).stdout)).toEqual({
    action: 'attach',
    conversation: ref,
  });
});

test('a name may hold a slash if its agent stands before it', async () => {
  const talk = { conversations: [conversation(scene(), { name: 'a/b' })] };
  expect((await conversations(['purge', 'lead/a/b'], talk)).asked).toEqual([['purge', { agent: 'lead', name: 'a/b' }]]);
});

test('who is attached must be there: it is looked for by name or file, offline', async () => {
  const toAttach = { workspace: './.cloister', agents: [], agent: 'scout', demo: false, offline: true };
  expect((await conversations(['attach', 'trip', 'scout'])).opened).toEqual([toAttach]);
  expect((await conversations(['attach', 'trip', 'x/scout.ai', '--agents', 'y'])).opened).toEqual([
    { ...toAttach, agents: ['x/scout.ai', 'y'] },
  ]);
  const asked: unknown[][] = [];
  const { code, stderr } = await cli(['conversations', 'attach', 'trip', 'nobody'], scene(), {
    behaviour: { agents: [], talk: { asked } },
  });
  expect({ code, asked }).toEqual({ code: 1, asked: [] });
  expect(stderr).toContain('There is no agent of that name. It was called nobody; name its file');
});

test('what is deleted says how to take it back', async () => {
  const { code, stdout, asked } = await conversations(['delete', 'trip', '--workspace', 'my work']);
  expect(code).toBe(0);
  expect(stdout).toBe(
    "lead/trip is deleted. Take it back:\n  npx cloister conversations restore lead/trip --workspace 'my work'\n",
  );
  expect(asked).toEqual([['delete', ref, { force: false }]]);
});

const shared: Talk = { sharedWith: 'scout' };

test('what others refer to is not deleted without a terminal, unless forced', async () => {
  for (const json of [[], ['--json']]) {
    const { code, stdout, stderr, asked } = await conversations(['delete', 'trip', ...json], shared);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('Other agents refer to that conversation. Attached: scout.');
    expect(asked).toEqual([['delete', ref, { force: false }]]);
  }
  const forced = await conversations(['delete', 'trip', '--force'], shared);
  expect(forced).toMatchObject({ code: 0, asked: [['delete', ref, { force: true }]] });
});

test('at a terminal it asks first, names the others, and takes only a yes for a yes', async () => {
  for (const yes of ['y', 'yes', ' Y ']) {
    const { code, stderr, prompts, asked } = await conversations(['delete', 'trip'], shared, {
      lines: { isTerminal: true, texts: [yes] },
      tty: true,
    });
    expect({ code, prompts }).toEqual({ code: 0, prompts: ['Delete it all the same? [y/N] '] });
    expect(stderr).toBe('Other agents refer to that conversation. Attached: scout.\n');
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

test('a program that reads JSON is never asked', async () => {
  const { code, prompts } = await conversations(['delete', 'trip', '--json'], shared, {
    lines: { isTerminal: true, texts: ['y'] },
    tty: true,
  });
  expect({ code, prompts }).toEqual({ code: 1, prompts: [] });
});

const mistakes: readonly (readonly [args: readonly string[], error: RegExp, advice: RegExp])[] = [
  [['lst'], /unknown command 'lst'/u, /try: list/u],
  [['zzzzz'], /unknown command 'zzzzz'/u, /try: cloister conversations --help/u],
  [['show'], /missing required argument 'name'/u, /try: cloister conversations show --help/u],
  [['show', 'a/'], /"a\/" is no name of a conversation/u, /try: give its name, or <agent>\/<name>/u],
  [['show', '/b'], /"\/b" is no name of a conversation/u, /try: give its name, or <agent>\/<name>/u],
  [['show', ''], /"" is no name of a conversation/u, /try: /u],
  [['show', 'lead/trip', '--agent', 'scout'], /lead\/trip is not of the agent scout/u, /try: leave --agent out/u],
  [['attach', 'trip'], /the other agent is missing/u, /try: cloister conversations attach <name> <agent>/u],
  [['attach', 'trip', 'a', '--to', 'b'], /two other agents are given: a and b/u, /try: give one of them/u],
  [['delete', 'trip', '--forse'], /unknown option '--forse'/u, /try: --force/u],
];

test.each(mistakes)('a mistake is named with advice, exit 4: %j', async (args, error, advice) => {
  const { code, stderr, opened } = await conversations(args);
  expect({ code, opened }).toEqual({ code: 4, opened: [] });
  expect(stderr).toMatch(error);
  expect(stderr).toMatch(advice);
});

test('without a command below it the help is told, exit 4', async () => {
  const { code, stderr } = await conversations([]);
  expect(code).toBe(4);
  expect(stderr).toMatch(/Usage: cloister conversations/u);
});
