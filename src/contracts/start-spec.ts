// What a request needs to begin as a run in another process: plain data, checked when it arrives there.
import { about, either, jsonObject, listOf, object, oneOf, openObject, orNull, string, whole } from '#base/shapes';
import type { Of } from '#base/shapes';
import { agentNameShape, answerFormatShape, attachmentShape, budgetShape, sentMessageShape } from './shapes.ts';

const clientToolShape = object(
  { name: string(), description: string(), inputSchema: jsonObject() },
  { timeoutMs: whole(1) },
);

const startOptionsShape = object(
  {},
  {
    budget: budgetShape,
    format: answerFormatShape,
    schema: jsonObject(),
    context: listOf(string()),
    system: listOf(string()),
    attachments: listOf(attachmentShape),
    history: listOf(sentMessageShape),
    conversation: either(
      'the name of a conversation, or { agent, name }',
      string(),
      openObject({ agent: string(), name: string() }),
    ),
    topics: listOf(string()),
    caller: string(),
    requestHash: string(),
  },
);

export const startSpecShape = object(
  {
    agent: agentNameShape,
    digest: about(string(), 'The digest of the definition of its agent, as whoever took the request has it.'),
    kind: about(oneOf('run', 'turn', 'resident'), 'A run of its own, a turn of a conversation, or a long-lived agent.'),
    input: either('a text, a JSON object or null', string(), jsonObject(), orNull(string())),
    options: startOptionsShape,
  },
  { tools: listOf(clientToolShape) },
);

export type StartSpec = Of<typeof startSpecShape>;
