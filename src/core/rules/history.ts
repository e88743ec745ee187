// What a cell was given besides its goal: shown as data, with the sender set by the runtime.
import type { History, HistoryEntry, SharedMessage } from '#contracts';
import { dataFrame } from './data-frame.ts';
import { sourceText, userMessage } from './dialog.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** history@1 of the crossing, and the place of one entry in it; number: whether its agent is the reader itself. */
export const history: Rule = ([crossing], [place = 0, own = 0]) => {
  const { agent, category, text: words } = entryOf(crossing, place);
  if (own === 1) return { message: { role: 'assistant', content: [{ type: 'text', text: words }] } };
  if (category === 'CONTEXT') return userMessage(dataFrame(`To know${agent === null ? '' : `, by ${agent}`}:`, words));
  return userMessage(agent === null ? words : dataFrame(`Message from ${agent}:`, words));
};

/** left-out@1 of the crossing: that there is more than is shown. */
export const omittedHistoryRule: Rule = ([crossing]) =>
  userMessage(`Note: ${(parsed(crossing) as History).leftOut} older messages of this conversation are left out.`);

/** share@1 of the crossing, and the place of one message in it. */
export const share: Rule = ([crossing], [place = 0]) => {
  const message = (parsed(crossing) as readonly SharedMessage[])[place];
  if (message === undefined) throw new TypeError('share@1 needs a message that is there');
  return userMessage(dataFrame(`Shared by your caller (${message.category.toLowerCase()}):`, message.text));
};

/** note@1 of the crossing: fixed words of the runtime. */
export const noteRule: Rule = ([crossing]) => userMessage(`Note: ${sourceText(crossing)}`);

const entryOf = (crossing: ResolvedSource | undefined, place: number): HistoryEntry => {
  const entry = (parsed(crossing) as History).entries[place];
  if (entry === undefined) throw new TypeError('history@1 needs an entry that is there');
  return entry;
};

let newest: { readonly content: string; readonly value: unknown } | undefined;

/** One crossing is shown in many parts: the newest is not parsed again for each. */
const parsed = (crossing: ResolvedSource | undefined): unknown => {
  const content = sourceText(crossing);
  // Equal texts are compared to their ends, unless they are one: from now on it is this one.
  newest = {
    content,
    // probe: given-value
    value: newest?.content === content ? newest.value : JSON.parse(content),
  };
  return newest.value;
};
