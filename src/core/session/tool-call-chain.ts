// A tool call as a chain of operations. `callTools` interleaves the chains of a turn.
import { CloisterError, utf8Bytes } from '#base';
import type { ErrorCode, Failure, Json, JsonObject } from '#base';
import type { PostOperation, Settlement, StepOperation } from '#contracts';
import type { ToolCall, ToolCallChain, Session } from './state.ts';

/** A chain of one step. Its settlement is shown as the tool's result. */
export const stepChain = (
  operation: StepOperation | PostOperation,
  onEnd?: (settled: Settlement<Json>) => void,
): ToolCallChain => ({
  begin: [operation],
  onSettled: (_index, settled, no) => {
    onEnd?.(settled);
    return { end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } };
  },
});

/** A call that could not be started; it is recorded like any other step. */
export const failingStep = (
  call: ToolCall,
  { cell }: Session,
  { code, detail }: Failure,
  about: JsonObject,
): StepOperation => ({
  do: 'step',
  name: `tool:${call.name}`,
  repeat: 'free',
  timeoutMs: cell.limits.toolTimeout,
  timeoutCode: 'tool_timeout',
  about,
  work: () => Promise.reject(new CloisterError(code, detail)),
});

export const failingChain = (call: ToolCall, session: Session, code: ErrorCode, detail?: string): ToolCallChain =>
  stepChain(failingStep(call, session, { code, detail }, stepAbout(session, call)));

const argsCharsMax = 500;

/** A call as people read it, with the number of its step. */
export const stepAbout = (session: Session, call: ToolCall, tool = call.name): JsonObject => ({
  step: session.cell.nextStepNumber(),
  ...callAbout(call, tool),
});

/** The question that allowed a call. */
export const askAbout = ({ ask }: Pick<ToolCall, 'ask'>): { readonly about?: JsonObject } =>
  ask === undefined ? {} : { about: { ask: ask.no, argsHash: ask.argsHash } };

/** Tool and arguments; if the arguments are shortened, also their length. */
export const callAbout = ({ name, input, ask }: ToolCall, tool = name): JsonObject => {
  // probe: call-about-ask
  const asked: JsonObject = askAbout({ ask }).about ?? {};
  if (input.length <= argsCharsMax) return { tool, args: input, ...asked };
  const args = `${input.slice(0, argsCharsMax)}…`;
  return { tool, args, argsBytes: utf8Bytes(input), argsChars: input.length, ...asked };
};
