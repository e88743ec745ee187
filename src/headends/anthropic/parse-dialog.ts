// The messages of a request as a dialog, and what is told beside it.
import { CloisterError } from '#base';
import type { CallResult, ClientRules, DialogMessage } from '#contracts';
import type { BodyFields } from '#headends/shared';

export type ParsedDialog = {
  /** Neighbours by the same speaker are one turn, as the protocol has it. With results of the client's tools, if those are taken. */
  readonly turns: readonly (DialogMessage | CallResult)[];
  /** What the client would have as a system prompt, with where it stands in the request. */
  readonly system: readonly { readonly path: string; readonly text: string }[];
};

/** Throws `request_invalid`, or `request_unsupported` for what is not text. */
export const parseDialog = (request: BodyFields, { tools }: ClientRules): ParsedDialog => {
  const turns: (Turn | CallResult)[] = [];
  const system = [request.has('system') ? systemTexts(request, 'system') : []];
  for (const message of request.items('messages')) {
    const role = message.oneOf('role', ['user', 'assistant', 'system']);
    if (role === undefined) throw message.invalid('role', 'user or assistant');
    if (role === 'system') system.push(systemTexts(message, 'content'));
    else if (role === 'assistant') addTo(turns, fromAssistant(message, tools));
    else {
      const results = tools ? resultsIn(message) : [];
      for (const result of results) turns.push(result);
      const said = fromUser(message, tools);
      if (results.length === 0 || said.text !== '') addTo(turns, said);
    }
  }
  const joined = turns.map((turn) => ('call' in turn ? turn : { by: turn.by, text: paragraphs(turn.texts) }));
  return { turns: joined, system: system.flat() };
};

type Turn = { readonly by: DialogMessage['by']; readonly texts: string[] };

const addTo = (turns: (Turn | CallResult)[], { by, text }: DialogMessage): void => {
  const last = turns.at(-1);
  if (last === undefined || 'call' in last || last.by !== by) turns.push({ by, texts: [text] });
  else last.texts.push(text);
};

const resultsIn = (message: BodyFields): readonly CallResult[] => {
  if (!Array.isArray(message.value['content'])) return [];
  return message
    .items('content')
    .filter((block) => block.value['type'] === 'tool_result')
    .map((block) => ({
      call: block.text('tool_use_id'),
      text: block.has('content') ? paragraphs(textsOf(block, 'content', [])) : '',
      failed: block.flag('is_error'),
    }));
};

const systemTexts = (fields: BodyFields, name: string): ParsedDialog['system'] =>
  textsOf(fields, name, [])
    .filter((text) => text.trim() !== '')
    .map((text) => ({ path: fields.path(name), text }));

const fromUser = (message: BodyFields, tools: boolean): DialogMessage => ({
  by: 'person',
  text: paragraphs(textsOf(message, 'content', tools ? ['tool_result'] : [])),
});

/**
 * An answer comes back as it was sent: thoughts between its texts were for the client, calls of the client's tools are its own to
 * remember, and the texts follow one another.
 */
const fromAssistant = (message: BodyFields, tools: boolean): DialogMessage => ({
  by: 'agent',
  text: textsOf(message, 'content', ['thinking', 'redacted_thinking', ...(tools ? ['tool_use'] : [])]).join(''),
});

const paragraphs = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

/** A text, or the texts of a list of blocks, without those of the types to leave out. */
const textsOf = (fields: BodyFields, name: string, leftOut: readonly string[]): readonly string[] => {
  const value = fields.value[name];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw fields.invalid(name, 'a text or a list of blocks');
  return fields.items(name).flatMap((block) => {
    const type = block.text('type');
    if (leftOut.includes(type)) return [];
    if (type === 'text') return [block.text('text')];
    const words = `only text is taken here, not ${JSON.stringify(type.slice(0, 40))}.`;
    throw new CloisterError('request_unsupported', `${block.path('type')}: ${words}`);
  });
};
