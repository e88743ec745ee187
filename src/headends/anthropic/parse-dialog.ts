// Parses the messages of a request into a dialog, tool results and system texts.
import { CloisterError } from '#base';
import type { CallResult, ClientRules, DialogMessage } from '#contracts';
import type { BodyFields } from '#headends/shared';

export type ParsedDialog = {
  /** Consecutive messages of one author are one turn, as in the protocol. Includes results of the client's tools, if those are allowed. */
  readonly turns: readonly (DialogMessage | CallResult)[];
  /** The client's system prompts, each with its path in the request. */
  readonly system: readonly { readonly path: string; readonly text: string }[];
};

/** Throws `request_invalid`, or `request_unsupported` for content other than text. */
export const parseDialog = (request: BodyFields, { tools }: ClientRules): ParsedDialog => {
  const turns: (Turn | CallResult)[] = [];
  const system = [request.has('system') ? systemTexts(request, 'system') : []];
  for (const message of request.items('messages')) {
    const role = message.oneOf('role', ['user', 'assistant', 'system']);
    if (role === undefined) throw message.invalid('role', 'user or assistant');
    if (role === 'system') system.push(systemTexts(message, 'content'));
    else if (role === 'assistant') addMessage(turns, parseAssistant(message, tools));
    else {
      const results = tools ? toolResults(message) : [];
      for (const result of results) turns.push(result);
      const userMessage = parseUser(message, tools);
      if (results.length === 0 || userMessage.text !== '') addMessage(turns, userMessage);
    }
  }
  const joined = turns.map((turn) => ('call' in turn ? turn : { by: turn.by, text: paragraphs(turn.texts) }));
  return { turns: joined, system: system.flat() };
};

type Turn = { readonly by: DialogMessage['by']; readonly texts: string[] };

const addMessage = (turns: (Turn | CallResult)[], { by, text }: DialogMessage): void => {
  const last = turns.at(-1);
  if (last === undefined || 'call' in last || last.by !== by) turns.push({ by, texts: [text] });
  else last.texts.push(text);
};

const toolResults = (message: BodyFields): readonly CallResult[] => {
  if (!Array.isArray(message.value['content'])) return [];
  return message
    .items('content')
    .filter((block) => block.value['type'] === 'tool_result')
    .map((block) => ({
      call: block.text('tool_use_id'),
      text: block.has('content') ? paragraphs(contentTexts(block, 'content', [])) : '',
      failed: block.flag('is_error'),
    }));
};

const systemTexts = (fields: BodyFields, name: string): ParsedDialog['system'] =>
  contentTexts(fields, name, [])
    .filter((text) => text.trim() !== '')
    .map((text) => ({ path: fields.path(name), text }));

const parseUser = (message: BodyFields, tools: boolean): DialogMessage => ({
  by: 'person',
  text: paragraphs(contentTexts(message, 'content', tools ? ['tool_result'] : [])),
});

/**
 * The client sends an earlier answer back as it received it. Thinking blocks were meant for the client only, and calls of its tools are
 * the client's to remember, so only the texts are kept, joined without a separator.
 */
const parseAssistant = (message: BodyFields, tools: boolean): DialogMessage => ({
  by: 'agent',
  text: contentTexts(message, 'content', ['thinking', 'redacted_thinking', ...(tools ? ['tool_use'] : [])]).join(''),
});

const paragraphs = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

/** The string, or the texts of an array of blocks. Blocks of the types in `skippedTypes` are skipped. */
const contentTexts = (fields: BodyFields, name: string, skippedTypes: readonly string[]): readonly string[] => {
  const value = fields.value[name];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw fields.invalid(name, 'a string or an array of blocks');
  return fields.items(name).flatMap((block) => {
    const type = block.text('type');
    if (skippedTypes.includes(type)) return [];
    if (type === 'text') return [block.text('text')];
    const reason = `only text is supported, not ${JSON.stringify(type.slice(0, 40))}.`;
    throw new CloisterError('request_unsupported', `${block.path('type')}: ${reason}`);
  });
};
