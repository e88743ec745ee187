// A tool call as a chain of operations. One driver interleaves the chains of a turn.
import { CloisterError, utf8Bytes } from '#base';
import type { ErrorCode, Json, JsonObject } from '#base';
import type { PostOperation, Settlement, StepOperation } from '#contracts';
import type { ToolCall, ToolCallChain, Session } from './state.ts';

/** A chain of one step, shown as that tool's result. */
export const stepChain = (
  operation: StepOperation | PostOperation,
  onEnd?: (settled: Settlement<Json>) => void,
): ToolCallChain => ({
  begin: [operation],
  after: (_place, settled, no) => {
    onEnd?.(settled);
    return { end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } };
  },
});

/** A call that could not be started, recorded like any other step. */
export const failingStep = (call: ToolCall, session: Session, code: ErrorCode, detail?: string): StepOperation => ({
  do: 'step',
  name: `tool:${call.name}`,
  repeat: 'free',
  timeoutMs: session.cell.limits.toolTimeout,
  timeoutCode: 'tool_timeout',
  about: stepAbout(session, call),
  work: () => Promise.reject(new CloisterError(code, detail)),
});

export const failingChain = (call: ToolCall, session: Session, code: ErrorCode, detail?: string): ToolCallChain =>
  stepChain(failingStep(call, session, code, detail));

const argsCharsMax = 500;

/** What people read of a call: its step number, its tool, and its arguments; if they are shortened, how long they were. */
export const stepAbout = (session: Session, { name, input }: ToolCall, tool = name): JsonObject => {
  const step = session.cell.nextStep();
  if (input.length <= argsCharsMax) return { step, tool, args: input };
  const args = `${input.slice(0, argsCharsMax)}…`;
  return { step, tool, args, argsBytes: utf8Bytes(input), argsChars: input.length };
};
