// What models are told of the tools that start other agents and talk to them.
import type { JsonObject } from '#base';
import type { MailTool, ToolSchema } from '#contracts';

const text = (description: string): JsonObject => ({ type: 'string', description });
const texts = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description });

const tool = (
  name: MailTool,
  description: string,
  properties: JsonObject,
  required: readonly string[] = [],
): ToolSchema => ({
  name,
  description,
  inputSchema: { type: 'object', properties, required, additionalProperties: false },
});

const timeout: JsonObject = {
  type: 'integer',
  minimum: 0,
  description: 'How long to wait at most, in milliseconds; 30000 unless given. The wait ends, nobody is stopped.',
};

export const mailSchemas = {
  spawn_agent: tool(
    'spawn_agent',
    'Starts another agent with a clean context, and does not wait for it. It lives until you shut it down or end yourself. Its answers and its end come to your mailbox: read them with receive_message.',
    {
      agent_id: text('Which agent to start; "self" for another one of your own kind.'),
      workflow_id: text('A name for the group that it belongs to: it is then called <workflow_id>:<agent_id>.'),
      initial_message: text('What it should do first: it sees nothing else of yours. Without it, it waits for mail.'),
      auto_subscribe: texts('Topics that it hears from the start.'),
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Notes for yourself: list_spawned_agents shows them.',
      },
      share: {
        type: 'array',
        items: { enum: ['system', 'context'] },
        description: 'What of your own instructions and context it is given, once.',
      },
      template: {
        type: 'object',
        description: 'Describes an agent that has no file, with some of your own tools.',
        properties: { description: { type: 'string' }, prompt: { type: 'string' }, tools: texts('Some of your own.') },
        required: ['prompt'],
        additionalProperties: false,
      },
    },
    ['agent_id'],
  ),
  list_spawned_agents: tool('list_spawned_agents', 'Lists the agents that you have started, and how they are.', {}),
  shutdown_agent: tool(
    'shutdown_agent',
    'Asks an agent that you have started to come to an end, and stops it if it does not.',
    { sub_agent_id: text('Its sub_agent_id or its session_id.'), reason: text('Why, for the log.') },
    ['sub_agent_id'],
  ),
  send_message: tool(
    'send_message',
    'Sends a message to another agent, and does not wait for an answer.',
    {
      to: text('Its name, or "parent".'),
      message: text('What to say: it sees nothing else of yours.'),
      reply_to: text('The message_id that this answers, if it does.'),
      expires_ms: {
        type: 'integer',
        minimum: 1,
        description: 'Do not deliver it later than so many milliseconds from now.',
      },
    },
    ['to', 'message'],
  ),
  receive_message: tool(
    'receive_message',
    'Reads what is in your mailbox, or waits for the next message. Each message is shown once.',
    {
      from: texts('Only from these; all of them unless given.'),
      wait_for: { enum: ['any', 'all'], description: '"all": until each one named in `from` has written.' },
      timeout_ms: timeout,
    },
  ),
  subscribe: tool(
    'subscribe',
    'Hears everything that is published on a topic from now on.',
    { topic: text('Its name.') },
    ['topic'],
  ),
  publish: tool(
    'publish',
    'Says something to everybody who hears a topic.',
    { topic: text('Its name.'), message: text('What to say.') },
    ['topic', 'message'],
  ),
  receive_broadcast: tool(
    'receive_broadcast',
    'Reads what was published on the topics that you hear, or waits for the next one. Each one is shown once.',
    { topics: texts('Only on these; all that you hear unless given.'), timeout_ms: timeout },
  ),
} as const satisfies Record<MailTool, ToolSchema>;

export const isMailTool = (name: string): name is MailTool => Object.hasOwn(mailSchemas, name);
