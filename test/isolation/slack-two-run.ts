// Two people in one channel of Slack, two worlds at a time: the worlds differ in everything one of them does. All that the other one is
// shown, and what its model is shown, is recorded and compared.
import fc from 'fast-check';
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import { sha256 } from '#base';
import type { Clock } from '#contracts';
import { seededRng } from '../app/serve/seeded-rng.ts';
import type { SeededRng } from '../app/serve/seeded-rng.ts';
import { openSlackWorld } from '../app/slack/slack-world.ts';
import type { SlackWorld } from '../app/slack/slack-world.ts';

const mark = 'bee';

const word = fc
  .tuple(fc.constantFrom('plain', 'send', 'fault', 'slow'), fc.nat(9))
  .map(([how, no]) => `${mark}-${how}-${no}`);

/** What the watched person does, the same in both worlds. */
export type SlackAct =
  | { readonly do: 'mention' | 'dm' | 'reply' | 'command' | 'intrude' | 'elsewhere'; readonly word: string }
  | { readonly do: 'press'; readonly button: string; readonly value: 'own' | 'other' | 'unknown' }
  | { readonly do: 'stop' };

export const slackAct: fc.Arbitrary<SlackAct> = fc.oneof(
  fc.record({ do: fc.constantFrom('mention', 'mention', 'dm', 'reply', 'command', 'intrude', 'elsewhere'), word }),
  fc.record({
    do: fc.constant('press' as const),
    button: fc.constantFrom('retry', 'details', 'json', 'allow', 'deny', 'edit', 'stop', 'page_0'),
    value: fc.constantFrom('own' as const, 'other' as const, 'unknown' as const),
  }),
  fc.constant({ do: 'stop' as const }),
);

const stepMs = 15_000;

/** Everything that the watched person and its model saw. */
export const observeSlack = async (acts: readonly SlackAct[], salt: number): Promise<readonly string[]> => {
  const seen: string[] = [];
  const rng = seededRng(salt);
  const world = openSlackWorld({
    agents: (clock) => agentsOf(clock, seen),
    people: { requestsPerMinute: 5 },
    slots: { running: 1_000, runningPerAgent: 1_000 },
    config: { channels: { C1: { agent: 'echo' } }, dm: { agent: 'echo' } },
  });
  const { slack, time } = world;
  for (const user of ['U1', 'U2']) slack.say(user, 'C1', 'I am here');
  const process = await world.start();
  // In half of the worlds it has nothing that could be found.
  const isActive = rng.chance(0.5);
  const own: string[] = [];
  const others: string[] = [];
  for (const act of acts) {
    if (isActive) disturb(world, rng, others);
    await time.pass(stepMs / 2);
    perform(world, act, { own, others });
    await time.pass(stepMs / 2);
  }
  await time.pass(60_000);
  const shown = observe(world, own);
  process.kill();
  return [...shown, ...seen];
};

const observe = ({ slack }: SlackWorld, own: readonly string[]): readonly string[] => [
  ...own.map((key) => {
    const [channel = '', ts = ''] = key.split(' ');
    const said = slack.thread(channel, ts).filter(({ isByApp }) => isByApp);
    return JSON.stringify({
      // Where a text goes on in another message depends on when Slack took it.
      text: said
        .map(({ text }) => text)
        .join(' ')
        .replaceAll(/\s+/gu, ' '),
      cards: said.flatMap(({ cards }) => cards.map(({ id: _id, ...card }) => card)),
      buttons: said.flatMap(({ buttons }) => buttons.map(({ text }) => text)),
      status: slack.session(channel, ts)?.status,
    });
  }),
  ...slack.ephemerals('U1').map(({ text }) => text),
  ...slack.views('U1').map(({ view }) => JSON.stringify(view)),
  ...slack.files.flatMap(({ channel, thread, text }) =>
    own.includes(`${channel} ${thread}`) ? [withoutIds(text ?? '')] : [],
  ),
];

/** Ids, times and what is made of them. */
const withoutIds = (text: string): string =>
  text
    .replaceAll(/(?<![\da-z])[\da-f]{8,64}(?![\da-z])/gu, '<id>')
    .replaceAll(/\b18934\d+(?:\.\d+)?\b/gu, '<time>')
    .replaceAll(/(?<=c-)[\da-f]+/gu, '<id>');

type Threads = { readonly own: string[]; readonly others: readonly string[] };

const perform = ({ slack }: SlackWorld, act: SlackAct, { own, others }: Threads): void => {
  const last = own.at(-1)?.split(' ');
  switch (act.do) {
    case 'mention':
    case 'command': {
      if (act.do === 'command') return void slack.command('U1', 'C1', '/ask', act.word);
      const { channel, ts } = slack.mention('U1', 'C1', act.word);
      return void own.push(`${channel} ${ts}`);
    }
    case 'elsewhere':
      return void slack.mention('U1', 'C7', act.word);
    case 'dm': {
      const { channel, ts } = slack.dm('U1', act.word);
      return void own.push(`${channel} ${ts}`);
    }
    case 'reply':
      return last === undefined ? undefined : void slack.say('U1', last[0]!, act.word, { thread: last[1]! });
    case 'intrude': {
      // A thread of the other one, or one that nobody has begun with the app.
      const root = others.at(-1)?.split(' ')[1] ?? slack.say('U2', 'C1', `<@UAPP2> ${mark}`).ts;
      return void slack.say('U1', 'C1', act.word, { thread: root });
    }
    case 'stop':
      return last === undefined ? undefined : void slack.say('U1', last[0]!, 'stop', { thread: last[1]! });
    case 'press': {
      if (last === undefined) return;
      const target = slack.thread(last[0]!, last[1]!).findLast(({ buttons }) => buttons.length > 0);
      if (target === undefined) return;
      const action = { action_id: `cloister_${act.button}` };
      const foreign = others.flatMap((key) => slack.thread('C1', key.split(' ')[1]!)).flatMap(({ buttons }) => buttons);
      const same = foreign.findLast(({ actionId }) => actionId === action.action_id) ?? foreign.at(-1);
      const value = { own: undefined, other: same?.value ?? 'e'.repeat(40), unknown: 'f'.repeat(40) }[act.value];
      slack.press('U1', target, target.buttons[0]!.actionId, { ...action, ...(value === undefined ? {} : { value }) });
    }
  }
};

/** The other person does something, in the same channel. */
const disturb = ({ slack }: SlackWorld, rng: SeededRng, others: string[]): void => {
  const said = `${['plain', 'send', 'fault', 'slow'][rng.below(4)]!} ${rng.below(1_000_000)}`;
  if (rng.chance(0.2)) return void slack.mention('U2', 'C7', said);
  const last = others.at(-1)?.split(' ')[1];
  if (last === undefined || rng.chance(0.5)) return void others.push(`C1 ${slack.mention('U2', 'C1', said).ts}`);
  const target = slack.thread('C1', last).findLast(({ buttons }) => buttons.length > 0);
  if (rng.chance(0.3) || target === undefined) return void slack.say('U2', 'C1', said, { thread: last });
  slack.press('U2', target, target.buttons[rng.below(target.buttons.length)]!.actionId);
};

/** Answers depend on every byte that the models were shown. */
const agentsOf = (clock: Clock, seen: string[]): readonly Agent[] => {
  const reply = ({ messages, goal, turn }: RequestView): ScriptedReply => {
    const prompt = JSON.stringify(messages);
    if (prompt.includes(`${mark}-`)) seen.push(prompt);
    const text = `It is ${sha256(prompt).slice(0, 16).replaceAll(/\d/gu, 'x')}.`;
    if (goal.includes('fault')) return { fault: 400 };
    if (goal.includes('send') && turn === 1)
      return { text, calls: [{ tool: 'send', args: { to: goal.slice(0, 20) } }] };
    return { text, delayMs: goal.includes('slow') ? 4_000 : 100 };
  };
  const send = {
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
    execute: ({ to }: { readonly to?: unknown }) => `Sent to ${String(to)}.`,
  };
  const models = [rehearse([{ reply }], { clock, keepRequests: false })];
  return [
    defineAgent({
      name: 'echo',
      description: 'Answers.',
      prompt: 'Answer.',
      models,
      tools: [send],
      approve: 'send',
      limits: { maxRetries: 0 },
    }),
  ];
};
