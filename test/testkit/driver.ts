// The only file of these tests that uses the model's API.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { agentLine } from '#testkit';

export type Ask = { agent?: string; goal?: string; turns?: readonly Turn[]; tools?: readonly string[] };
/** An earlier turn: the results of its calls by tool name. */
type Turn = Readonly<Record<string, string>>;

export const askFor = ({ agent = 'lead', goal = 'Compare tea and coffee', turns = [], tools = [] }: Ask = {}) =>
  ({
    prompt: [
      { role: 'system', content: `Be brief.\n${agentLine(agent)}\nStay in your cell.` },
      { role: 'user', content: [{ type: 'text', text: goal }] },
      ...turns.flatMap((results, turn) => turnMessages(results, turn + 1)),
    ],
    tools: tools.map((name) => ({ type: 'function', name, inputSchema: { type: 'object' } })),
  }) satisfies LanguageModelV4CallOptions;

const turnMessages = (results: Turn, turn: number): LanguageModelV4Message[] => {
  const calls = Object.keys(results).map((toolName, index) => ({ toolName, toolCallId: `call_${turn}_${index + 1}` }));
  return [
    { role: 'assistant', content: calls.map((call) => ({ type: 'tool-call', ...call, input: {} })) },
    {
      role: 'tool',
      content: calls.map((call) => ({
        type: 'tool-result',
        ...call,
        output: { type: 'text', value: results[call.toolName] ?? '' },
      })),
    },
  ];
};

/** Reads a stream to its end, and keeps the parts before a break. */
export const readParts = async (
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): Promise<{ parts: LanguageModelV4StreamPart[]; broke: unknown }> => {
  const { stream } = await model.doStream(options);
  const parts: LanguageModelV4StreamPart[] = [];
  try {
    for await (const part of stream) parts.push(part);
    return { parts, broke: null };
  } catch (error) {
    return { parts, broke: error };
  }
};

export const deltasOf = (parts: readonly LanguageModelV4StreamPart[]): string[] =>
  parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));

/** Assembles streamed parts as a runtime would, and fails on parts out of order. */
export const assemble = (parts: readonly LanguageModelV4StreamPart[]) => {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, string>();
  const inputs = new Map<string, string>();
  const known = (id: string): string => {
    const text = open.get(id);
    if (text === undefined) throw new Error(`${id} is not open`);
    return text;
  };
  for (const part of parts.slice(1, -1)) {
    if (part.type === 'text-start' || part.type === 'reasoning-start' || part.type === 'tool-input-start')
      open.set(part.id, '');
    else if (part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta')
      open.set(part.id, known(part.id) + part.delta);
    else if (part.type === 'text-end' || part.type === 'reasoning-end') {
      content.push({ type: part.type === 'text-end' ? 'text' : 'reasoning', text: known(part.id) });
      open.delete(part.id);
    } else if (part.type === 'tool-input-end') {
      inputs.set(part.id, known(part.id));
      open.delete(part.id);
    } else if (part.type === 'tool-call') {
      if (inputs.get(part.toolCallId) !== part.input) throw new Error('a call differs from its streamed input');
      content.push(part);
    } else throw new Error(`unexpected ${part.type}`);
  }
  const [first, last] = [parts[0], parts.at(-1)];
  if (first?.type !== 'stream-start' || last?.type !== 'finish' || open.size > 0) throw new Error('badly framed');
  return { content, finishReason: last.finishReason, usage: last.usage };
};

export const textOf = async (model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<string> =>
  (await model.doGenerate(options)).content.map((part) => (part.type === 'text' ? part.text : part.type)).join('|');

/** The error that a promise is rejected with. */
export const failureOf = async (work: PromiseLike<unknown>): Promise<any> => {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
};
