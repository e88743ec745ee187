// Texts that want to be more than text, on every way to Slack: nothing that a person or a model writes notifies, links, hides or presses.
// invariants: blocks-are-plain, no-unfurls
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Json } from '#base';
import type { Clock } from '#contracts';
import { testRuns } from '../../test-seed.ts';
import { openSlackWorld } from './slack-world.ts';

const piece = fc.constantFrom(
  '<!channel>',
  '<!here|here>',
  '<@U9>',
  '<#C9>',
  '<https://evil.example|https://good.example>',
  '[good](https://evil.example)',
  '![x](https://evil.example/x.png)',
  '&lt;!channel&gt;',
  '*bold* _it_ ~no~ `code`',
  '```\n',
  '\u202Egnp.exe',
  '\u200B\u2063',
  '\u0000\u0007',
  '{"type":"section"}',
  'cloister_allow',
  '\n> quote\n',
  '@channel @here',
  'x'.repeat(200),
  '🙂👩‍👩‍👧',
);

const hidden = ['\u202E', '\u0000', '\u0007', '\u2063'];

const hostile = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(' '));

/** Says, asks and calls with what it was told. */
const parrots = (clock: Clock): readonly Agent[] => {
  const model = rehearse(
    [
      {
        reply: ({ goal, turn }) => {
          if (turn > 1) return `Done: ${goal}`;
          if (goal.includes('cloister_allow'))
            return { calls: [{ tool: 'ask_person', args: { question: goal, options: [goal.slice(0, 100), 'b'] } }] };
          return { text: goal, calls: [{ tool: 'send', args: { to: goal } }] };
        },
      },
    ],
    { clock, keepRequests: false },
  );
  const send = {
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
    execute: () => 'sent',
  };
  return [
    defineAgent({
      name: 'lead',
      description: 'L.',
      prompt: 'L.',
      models: [model],
      tools: [send],
      approve: 'send',
      asks: true,
    }),
  ];
};

/** Every field in which Slack reads mark-up. */
const markedUp = (value: Json | undefined, type = ''): readonly string[] => {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((one) => markedUp(one, type));
  if (typeof value !== 'object' || value === null) return [];
  const own = (value as { readonly [name: string]: Json })['type'];
  return Object.entries(value).flatMap(([name, field]) => {
    const isText = name === 'text' || name === 'details' || name === 'output' || name === 'markdown_text';
    if (isText && typeof field === 'string') return own === 'plain_text' || type === 'preformatted' ? [] : [field];
    return markedUp(field, own === 'rich_text_preformatted' ? 'preformatted' : type);
  });
};

test('a thousand hostile texts neither notify, nor link, nor unfurl, nor break a message', { timeout: 900_000 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(hostile, { minLength: 8, maxLength: 8 }), async (texts) => {
      const world = openSlackWorld({ agents: parrots, people: { requestsPerMinute: 1_000 } });
      const process = await world.start();
      for (const text of texts) world.slack.mention('U1', 'C1', text);
      world.slack.command('U1', 'C1', '/ask', texts[0]!);
      await world.time.pass(30_000);
      for (const { method, args, body } of world.slack.log) {
        if (!method.startsWith('chat.') && !method.startsWith('views.')) continue;
        expect([method, body?.['ok'], body?.['error']]).toEqual([method, true, undefined]);
        for (const text of markedUp(args)) {
          // People are named by us only, and by their ids.
          const told = text.replaceAll(/^<@U1> asks:$/gu, '').replaceAll(/```[^]*?(?:```|$)|`[^`\n]*`/gu, '');
          expect(told).not.toMatch(/<[!@#]|<https?:|<mailto:/u);
          expect(hidden.filter((character) => told.includes(character))).toEqual([]);
        }
        if (method === 'chat.postMessage') expect(args).toMatchObject({ unfurl_links: false, unfurl_media: false });
      }
      expect(process.logged).toEqual([]);
      process.kill();
    }),
    { numRuns: testRuns(126) },
  ),
);

test('a name of 4,000 characters, and a message of 40,000, are cut or refused, never lost', async () => {
  const world = openSlackWorld({ agents: parrots });
  const process = await world.start();
  const long = world.slack.mention('U1', 'C1', 'y'.repeat(4_000));
  const huge = world.slack.mention('U1', 'C1', 'z'.repeat(40_000));
  await world.time.pass(60_000);
  for (const { ts } of [long, huge])
    expect(world.slack.thread('C1', ts).length + world.slack.ephemerals('U1').length).toBeGreaterThan(1);
  for (const { method, body } of world.slack.log.filter((one) => one.method.startsWith('chat.')))
    expect([method, body?.['error']]).toEqual([method, undefined]);
  expect(process.logged).toEqual([]);
  process.kill();
});
