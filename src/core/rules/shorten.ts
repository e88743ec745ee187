// shorten@1 cuts a tool's old output to its first characters. The call keeps a result, and the full output stays on disk.
import { utf8Bytes } from '#base';
import { toOneLine } from './data-frame.ts';
import { toolMessage } from './dialog.ts';
import type { Rule } from './rule.ts';

const charsMax = 160;

export const shortenRule: Rule = ([source]) => {
  const part = source?.from === 'segment' ? source.part : undefined;
  const result = part && 'message' in part && part.message.role === 'tool' ? part.message.content[0] : undefined;
  if (result?.type !== 'tool-result' || (result.output.type !== 'text' && result.output.type !== 'error-text'))
    throw new TypeError('shorten@1 needs a tool result');
  const { type, value } = result.output;
  const beginning = [...toOneLine(value.slice(0, charsMax * 4))].slice(0, charsMax).join('');
  return toolMessage(result.toolCallId, result.toolName, {
    type,
    value: `${beginning} … [shortened from ${utf8Bytes(value)} bytes]`,
  });
};
