// A tool of the client that requested the run: the call is a question to the client, and what the client sends is its result.
//
//   client-call-is-asked. Nothing of such a call runs here: the question waits in the log, so the result may come after a restart.
//   client-result-as-sent. The model is shown what crossed with the answer, shortened as any tool's result. A result that the client
//       calls failed, or none in time, is the tool's failure.
import type { JsonObject } from '#base';
import { argumentsHash } from '#core/events';
import type { AnswerContent, AskOperation, QuestionResult, StepOperation, ToolSchema } from '#contracts';
import { outputName } from '#core/rules';
import { textExtension } from './output-extension.ts';
import { storeOffloaded, toolValue } from './plain-tool.ts';
import { askAbout, failingStep, stepAbout } from './tool-call-chain.ts';
import type { Session, ToolCall, ToolRunner } from './state.ts';

export const clientTool = ({ name, description, inputSchema }: ToolSchema, timeoutMs: number): ToolRunner => ({
  schema: { name, description, inputSchema },
  createChain: (call, args, session) => {
    const argsHash = argumentsHash(args);
    const nth = session.cell.nextOutputNumber(name);
    // Counted now: the limit of steps holds for calls that wait, too.
    const about = stepAbout(session, call);
    const ask: AskOperation = {
      do: 'ask',
      name: `ask:${name}`,
      ...askAbout(call),
      question: { tool: name, args, argsHash, why: 'client' },
      schema: inputSchema,
      timeoutMs,
    };
    return {
      begin: [ask],
      onSettled: (index, settled, no) => {
        if (index === 0 && settled.ok) {
          const result = settled.value as unknown as QuestionResult;
          const made = { about: { ...about, ask: no, argsHash }, file: { tool: name, nth } };
          return { begin: [takeResult(session, call, result, made)] };
        }
        if (index > 0) storeOffloaded(session, settled);
        return { end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } };
      },
    };
  },
});

type MadeCall = { readonly about: JsonObject; readonly file: { readonly tool: string; readonly nth: number } };

/** The step that records the result. It may be repeated: it reads what is in the log. */
const takeResult = (
  session: Session,
  call: ToolCall,
  { verdict, said, expired }: QuestionResult,
  { about, file }: MadeCall,
): StepOperation => {
  if (expired === true || said === undefined)
    return failingStep(call, session, { code: 'tool_timeout', detail: 'The client sent no result in time.' }, about);
  const { cell } = session;
  const { text = '' } = JSON.parse(cell.runtime.received.at(said)!.content) as AnswerContent;
  if (verdict === 'deny') return failingStep(call, session, { code: 'tool_failed', detail: text }, about);
  return {
    do: 'step',
    name: `tool:${call.name}`,
    repeat: 'free',
    timeoutMs: cell.limits.toolTimeout,
    timeoutCode: 'tool_timeout',
    about,
    work: async (world) => {
      return toolValue(text, {
        world,
        shownMax: cell.shownBytesMax,
        name: outputName(file.tool, file.nth, textExtension(text, undefined)),
      });
    },
  };
};
