// Schemas of the tools that start other agents and exchange messages with them.
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
  description: 'Maximum wait in milliseconds (default 30000). A timeout ends the wait but stops no agent.',
};

export const mailSchemas = {
  spawn_agent: tool(
    'spawn_agent',
    'Start another agent with an empty context, without waiting for it. It runs until you shut it down, or until you have finished. Its replies and its final result arrive in your mailbox; read them with receive_message.',
    {
      agent_id: text('Agent to start; "self" starts a copy of yourself.'),
      workflow_id: text('Group name; the agent is then addressed as <workflow_id>:<agent_id>.'),
      initial_message: text(
        'Its first task. It sees nothing else of your context. If omitted, it waits for a message.',
      ),
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        description: 'Less working time for each task than it has by itself, in milliseconds.',
      },
      tools: texts('Only these of its tools. Default: all.'),
      auto_subscribe: texts('Topics it is subscribed to from the start.'),
      metadata: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Notes for yourself, shown by list_spawned_agents.',
      },
      share: {
        type: 'array',
        items: { enum: ['system', 'context'] },
        description:
          'Copy your instructions ("system") or the context you were given ("context") to it when it starts.',
      },
      template: {
        type: 'object',
        description: 'Define a new agent inline, with a subset of your tools. agent_id is its name.',
        properties: {
          description: { type: 'string' },
          prompt: { type: 'string' },
          tools: texts('A subset of your tools.'),
        },
        required: ['prompt'],
        additionalProperties: false,
      },
    },
    ['agent_id'],
  ),
  list_spawned_agents: tool('list_spawned_agents', 'List the agents you started and their status.', {}),
  shutdown_agent: tool(
    'shutdown_agent',
    'Ask an agent you started to finish; stop it if it does not.',
    { sub_agent_id: text('The sub_agent_id or session_id of the agent.'), reason: text('Reason, for the log.') },
    ['sub_agent_id'],
  ),
  send_message: tool(
    'send_message',
    'Send a message to another agent without waiting for a reply.',
    {
      to: text('Name of the agent, or "parent".'),
      message: text('The message. The agent sees nothing else of your context.'),
      reply_to: text('message_id of the message you are replying to, if any.'),
      expires_ms: {
        type: 'integer',
        minimum: 1,
        description: 'Discard the message if it is not delivered within this many milliseconds.',
      },
    },
    ['to', 'message'],
  ),
  receive_message: tool(
    'receive_message',
    'Read the messages in your mailbox, or wait for the next one. Each message is shown once. Reply to agents with send_message: your final answer goes only to whoever your current work is for. Answer the user later, when you are asked to.',
    {
      from: texts('Only messages from these agents (default: all).'),
      wait_for: {
        enum: ['any', 'all'],
        description: '"any" (default): wait for one message. "all": wait until every agent in `from` has sent one.',
      },
      timeout_ms: timeout,
    },
  ),
  subscribe: tool(
    'subscribe',
    'Subscribe to a topic: receive everything published on it from now on.',
    { topic: text('Topic name.') },
    ['topic'],
  ),
  publish: tool(
    'publish',
    'Publish a message to all subscribers of a topic.',
    { topic: text('Topic name.'), message: text('The message.') },
    ['topic', 'message'],
  ),
  receive_broadcast: tool(
    'receive_broadcast',
    'Read messages published on your topics, or wait for the next one. Each message is shown once.',
    { topics: texts('Only these topics (default: all you are subscribed to).'), timeout_ms: timeout },
  ),
} as const satisfies Record<MailTool, ToolSchema>;

export const isMailTool = (name: string): name is MailTool => Object.hasOwn(mailSchemas, name);
