// The baseline: the smallest loop that does the same work on the same model. It records, checks and limits nothing.
import type {
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';

export type RawAgent = {
  readonly model: LanguageModelV4;
  readonly system: string;
  readonly tools: LanguageModelV4FunctionTool[];
  execute(name: string, args: Record<string, string>): Promise<string> | string;
};

export const runRaw = async (agent: RawAgent, goal: string): Promise<string> => {
  const messages: LanguageModelV4Message[] = [
    { role: 'system', content: agent.system },
    { role: 'user', content: [{ type: 'text', text: goal }] },
  ];
  for (;;) {
    const { text, calls } = await callModel(agent, messages);
    if (calls.length === 0) return text;
    const parsedCalls = calls.map((call) => ({ ...call, input: JSON.parse(call.input) as Record<string, string> }));
    messages.push({ role: 'assistant', content: [{ type: 'text', text }, ...parsedCalls] });
    const results = await Promise.all(
      parsedCalls.map(async (call) => resultPart(call, await agent.execute(call.toolName, call.input))),
    );
    messages.push({ role: 'tool', content: results });
  }
};

type Reply = { readonly text: string; readonly calls: readonly LanguageModelV4ToolCall[] };

const callModel = async ({ model, tools }: RawAgent, prompt: LanguageModelV4Message[]): Promise<Reply> => {
  const { stream } = await model.doStream({ prompt, tools });
  const reader = stream.getReader();
  const calls: LanguageModelV4ToolCall[] = [];
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text, calls };
    if (value.type === 'text-delta') text += value.delta;
    else if (value.type === 'tool-call') calls.push(value);
    else if (value.type === 'error') throw value.error;
  }
};

const resultPart = (
  { toolCallId, toolName }: { toolCallId: string; toolName: string },
  value: string,
): LanguageModelV4ToolResultPart => ({ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } });
