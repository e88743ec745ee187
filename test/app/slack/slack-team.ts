// Agents for the tests of Slack. What the lead does follows from its goal.
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import type { Clock } from '#contracts';

const send = (sent: string[]): ToolDefinition => ({
  name: 'send',
  description: 'Sends.',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string', maxLength: 20 } },
    required: ['to'],
    additionalProperties: false,
  },
  execute: ({ to }) => {
    sent.push(to as string);
    return `sent to ${to as string}`;
  },
});

const leadReply = ({ goal, turn, toolResults }: RequestView): ScriptedReply => {
  const told = toolResults.at(-1)?.text.split('\n').at(-1) ?? '';
  if (goal.startsWith('send') && turn === 1)
    return { text: 'I send.', calls: [{ tool: 'send', args: { to: 'x' } }], delayMs: 200 };
  if (goal.startsWith('ask freely') && turn === 1)
    return { calls: [{ tool: 'ask_person', args: { question: 'Which one?' } }], delayMs: 200 };
  if (goal.startsWith('ask') && turn === 1)
    return {
      calls: [{ tool: 'ask_person', args: { question: 'Which one?', options: ['red', 'blue'] } }],
      delayMs: 200,
    };
  if (goal.startsWith('help') && turn === 1)
    return { text: 'I ask my helper.', calls: [{ tool: 'helper', args: { prompt: goal, reason: 'r' } }], delayMs: 200 };
  if (goal.startsWith('fail')) return { fault: 400 };
  if (goal.startsWith('slow'))
    return { pieces: ['One. ', 'Two. ', 'Three. ', `Four of ${goal}.`], delayMs: 500, pieceDelayMs: 2_000 };
  if (goal.startsWith('forever')) return { text: 'never', delayMs: 100_000_000 };
  return { text: `Answer to ${goal}${told === '' ? '' : ` after ${told}`}`, delayMs: 300 };
};

export type SlackTeam = {
  readonly agents: (clock: Clock) => readonly Agent[];
  /** Whom the tool `send` was called for. */
  readonly sent: string[];
  /** How many requests the models got. */
  readonly requests: { count: number };
};

export const slackTeam = ({ approve = {} }: { readonly approve?: object } = {}): SlackTeam => {
  const [sent, requests]: [string[], { count: number }] = [[], { count: 0 }];
  const agents = (clock: Clock): readonly Agent[] => {
    const model = rehearse(
      [
        { when: { agent: 'helper' }, reply: { text: 'Helped.', delayMs: 400 } },
        {
          reply: (view) => {
            requests.count++;
            return leadReply(view);
          },
        },
      ],
      { clock, keepRequests: false },
    );
    const common = { description: 'Works.', prompt: 'Work.', models: [model], limits: { maxRetries: 0 } };
    const helper = defineAgent({ ...common, name: 'helper' });
    return [
      defineAgent({
        ...common,
        name: 'lead',
        agents: [helper],
        tools: [send(sent)],
        approve: { send: approve },
        asks: true,
      }),
      defineAgent({ ...common, name: 'desk' }),
    ];
  };
  return { agents, sent, requests };
};
