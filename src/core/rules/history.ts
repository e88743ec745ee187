// Renders what a cell received besides its goal, with the sender set by the runtime: as data, except the prompt of its caller.
import type { EarlierCall, History, HistoryEntry, SharedMessage } from '#contracts';
import { dataFrame } from './data-frame.ts';
import { callInput, sourceText, toolMessage, userMessage } from './dialog.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/**
 * history@1. Source: the crossing. Numbers: index of the entry in it; 1 if the entry is the reader's own message; for a tool call,
 * what of it is shown: 1: the call, 2: its result, otherwise both, as text.
 */
export const historyRule: Rule = ([crossing], [place = 0, own = 0, shown = 0]) => {
  const { agent, category, text, call } = historyEntry(crossing, place);
  if (call !== undefined) return earlierCall(call, text, { id: `earlier_${place}`, shown });
  if (own === 1) return { message: { role: 'assistant', content: [{ type: 'text', text }] } };
  if (category === 'CONTEXT') return userMessage(dataFrame(`Context${agent === null ? '' : ` from ${agent}`}:`, text));
  return userMessage(agent === null ? text : dataFrame(`Message from ${agent}:`, text));
};

/** Without what the model thought then: a signature is valid only in its own turn. */
const earlierCall = (
  { name, input, failed }: EarlierCall,
  text: string,
  { id, shown }: { readonly id: string; readonly shown: number },
): ReturnType<Rule> => {
  if (shown === 1) {
    const content = { type: 'tool-call', toolCallId: id, toolName: name, input: callInput(input) } as const;
    return { message: { role: 'assistant', content: [content] } };
  }
  if (shown === 2) return toolMessage(id, name, { type: failed === true ? 'error-text' : 'text', value: text });
  const result = { note: failed === true ? 'It failed:' : 'It returned:' };
  return userMessage(dataFrame('You called a tool earlier:', [{ data: `${name} ${input}` }, result, { data: text }]));
};

/** left-out@1. Source: the crossing. Says how many older entries are not shown. */
export const omittedHistoryRule: Rule = ([crossing]) => {
  const { leftOut } = parseContent(crossing) as History;
  return userMessage(
    `Note: ${leftOut} older ${leftOut === 1 ? 'message' : 'messages'} of this conversation ${leftOut === 1 ? 'is' : 'are'} omitted.`,
  );
};

/** share@1. Source: the crossing. Number: index of the message in it. */
export const shareRule: Rule = ([crossing], [place = 0]) =>
  userMessage(dataFrame('Shared by your caller:', sharedMessage(crossing, place, 'CONTEXT').text));

/** shared-system@1. Source: the crossing. Number: index of the caller's prompt in it. It stands after the cell's own system text. */
export const sharedSystemRule: Rule = ([crossing], [place = 0]) => ({
  message: {
    role: 'system',
    content: `Your caller works by the instructions below. Follow them too, except where your own instructions above say otherwise.\n\n${sharedMessage(crossing, place, 'SYSTEM').text}`,
  },
});

const sharedMessage = (
  crossing: ResolvedSource | undefined,
  place: number,
  category: SharedMessage['category'],
): SharedMessage => {
  const message = (parseContent(crossing) as readonly SharedMessage[])[place];
  if (crossing?.from !== 'crossing' || crossing.kind !== 'share' || message?.category !== category)
    throw new TypeError(`the rule needs a shared ${category} message`);
  return message;
};

/** note@1. Source: the crossing, whose text comes from the runtime. */
export const noteRule: Rule = ([crossing]) => userMessage(`Note: ${sourceText(crossing)}`);

const historyEntry = (crossing: ResolvedSource | undefined, place: number): HistoryEntry => {
  const entry = (parseContent(crossing) as History).entries[place];
  if (entry === undefined) throw new TypeError('history@1 needs an existing entry');
  return entry;
};

let lastParsed: { readonly content: string; readonly value: unknown } | undefined;

/** One crossing is rendered as many parts, so its parsed content is cached until another crossing comes. */
const parseContent = (crossing: ResolvedSource | undefined): unknown => {
  const content = sourceText(crossing);
  // Comparing two equal strings reads them to the end unless they are one object, so the cache always keeps the latest object.
  lastParsed = {
    content,
    // probe: given-value
    value: lastParsed?.content === content ? lastParsed.value : JSON.parse(content),
  };
  return lastParsed.value;
};
