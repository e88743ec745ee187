// Says in words, for people, where a part of a prompt comes from.
import { decodeDependency, decodeEnvelope, decodeHistory, decodeMail, decodeRoutedMessages } from '#contracts';
import type { CellId } from '#base';
import type { CrossingEnd, SegmentRecord } from '#contracts';
import { isGoalFile, ruleFamily } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import type { CellContents, VisiblePart } from './cell-contents.ts';

type NameOf = (cell: CellId) => string;

type Described = { readonly visible: VisiblePart; readonly cell: CellContents; readonly nameOf: NameOf };

const guidance = 'the runtime’s guidance';

/** Never throws: a part that cannot be described, because its log was changed, has its rule's name. */
export const describeOrigin = (visible: VisiblePart, cell: CellContents, nameOf: NameOf): string => {
  const { rule } = visible.record.origin;
  try {
    return words[ruleFamily(rule)]?.({ visible, cell, nameOf }) ?? rule;
  } catch {
    return rule;
  }
};

const words: Readonly<Record<string, (given: Described) => string>> = {
  system: ({ cell }) =>
    (cell.definition?.guidance ?? '') === ''
      ? `prompt of ${cell.birth.agent}`
      : `prompt of ${cell.birth.agent}, with ${guidance}`,
  tool: (given) => {
    const name = toolName(given);
    return given.cell.definition?.given?.includes(name) === true
      ? `tool ${name}, from your request`
      : `tool ${name} of ${given.cell.birth.agent}`;
  },
  'given-tool': (given) => `tool ${toolName(given)}, from a later request`,
  'listed-tool': (given) => `tool ${toolName(given)}, from its server`,
  goal: (given) => describeGoal(given),
  task: (given) => describeGoal(given),
  reply: () => 'its own reply',
  'tool-result': (given) =>
    `${operation(given)?.settled.ok === false ? 'error' : 'result'} of tool ${calledTool(given)}`,
  denied: (given) => {
    const settled = operation(given)?.settled;
    const isExpired = settled?.ok === false && settled.failure.code.endsWith('_expired');
    return isExpired
      ? 'note of the runtime: nobody answered'
      : `a person who did not allow the call of tool ${calledTool(given)}`;
  },
  edited: (given) => `a person who changed the call of tool ${calledTool(given)}`,
  answered: () => 'a person, who was asked',
  'child-result': (given) => `result of agent ${calledTool(given)}`,
  gather: () => 'results of the agents that it asked',
  received: () => 'messages that it received',
  compact: () => 'older messages, compacted by the runtime',
  recap: () => 'older messages, compacted by the runtime',
  summary: (given) => `older messages, summarised by ${sender(given)}`,
  shorten: ({ visible: { part } }) => {
    const tool = part !== undefined && 'message' in part ? resultTool(part.message) : undefined;
    return `result of ${tool ?? 'a call'}, shortened by the runtime`;
  },
  history: (given) => describeHistory(given),
  attachment: ({ visible }) =>
    isGoalFile(visible.record.origin) ? 'attached to your request' : 'attached to an earlier message',
  'left-out': () => 'note of the runtime',
  share: (given) => `shared by ${sender(given)}`,
  'shared-system': (given) =>
    other(given) === 'outside' ? 'instructions, from your request' : `prompt of ${sender(given)}, shared with it`,
  note: () => 'note of the runtime',
  mail: (given) => describeMail(given),
  deferred: () => guidance,
  routed: (given) => `context of agent ${decodeRoutedMessages(content(given)).agent_id}, passed on`,
  dependency: (given) => {
    const { title, assignee } = decodeDependency(content(given));
    return `result of task “${title}”${assignee === null ? '' : `, by agent ${assignee}`}`;
  },
  'task-messages': () => 'messages to its task',
  synthesis: () => 'results of all tasks',
  'last-turn': () => guidance,
  repair: () => guidance,
};

const describeGoal = (given: Described): string =>
  other(given) === 'outside' ? 'from your request' : `from ${sender(given)}, as its goal`;

const describeHistory = (given: Described): string => {
  const { entries, given: count = 0 } = decodeHistory(content(given));
  const place = given.visible.record.origin.with?.[0] ?? 0;
  const entry = entries[place];
  if (entry === undefined) return 'earlier messages';
  const isNew = place >= entries.length - count;
  if (entry.call !== undefined) return `its earlier call of ${entry.call.name}`;
  if (entry.category === 'CONTEXT') return isNew ? 'context, from your request' : 'context of the conversation';
  return `earlier message from ${entry.agent === null ? 'you' : `agent ${entry.agent}`}`;
};

const describeMail = (given: Described): string => {
  const source = given.visible.sources[0];
  if (source?.from === 'crossing' && source.kind === 'result')
    return `result of agent ${decodeEnvelope(source.content).agent_id ?? sender(given)}`;
  const { agent_id: from, topic } = decodeMail(content(given));
  return `message from ${from === null ? 'you' : `agent ${from}`}${topic === undefined ? '' : `, on topic ${topic}`}`;
};

/** The other end of the crossing that the part comes from. */
const other = ({ visible, cell }: Described): CrossingEnd | undefined => {
  const source = visible.record.origin.of.find(({ from }) => from === 'crossing');
  return source?.from === 'crossing' ? cell.received.get(source.seq)?.entry.other : undefined;
};

const sender = (given: Described): string => {
  const from = other(given);
  return from === undefined || from === 'outside' ? 'you' : `agent ${given.nameOf(from)}`;
};

const content = ({ visible }: Described): string => {
  const source = visible.sources.find(({ from }) => from === 'crossing');
  return source?.from === 'crossing' ? source.content : '';
};

const operation = ({ visible }: Described): Extract<ResolvedSource, { from: 'operation' }> | undefined =>
  visible.sources.find((source) => source.from === 'operation');

const toolName = ({ visible: { part } }: Described): string =>
  part !== undefined && 'tool' in part ? part.tool.name : 'unknown';

const calledTool = ({ visible }: Described): string => {
  const [call] = visible.sources;
  return call?.from === 'reply' && call.part.type === 'call' ? call.part.name : 'unknown';
};

type ShownMessage = Extract<NonNullable<VisiblePart['part']>, { message: unknown }>['message'];

const resultTool = ({ role, content: items }: ShownMessage): string | undefined => {
  const item = role === 'tool' ? items[0] : undefined;
  return item?.type === 'tool-result' ? item.toolName : undefined;
};

/** The operation whose reply or result a part shows. */
export const shownOperation = ({ origin: { of } }: SegmentRecord): number | undefined => {
  const result = of.find(({ from }) => from === 'operation') ?? of.find(({ from }) => from === 'reply');
  return result?.from === 'operation' || result?.from === 'reply' ? result.no : undefined;
};
