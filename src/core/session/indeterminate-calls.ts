// Calls that must not be repeated and were in flight during a crash, by the operator's policy.
//
//   policy-of-operator. The policy comes from the `resume` record, so a replay follows it too; nothing that a model writes chooses it.
//   made-again-only-if-allowed. Such a call is made again only after a person has allowed exactly that.
import type { JsonObject } from '#base';
import { askAgainChain } from './approved-tool.ts';
import type { Session, ToolCall, ToolCallChain, ToolRunner } from './state.ts';

type CallContext = {
  readonly runner: ToolRunner;
  readonly call: ToolCall;
  readonly args: JsonObject;
  readonly session: Session;
};

/** The chain of a call, which asks a person or ends the session if a crash has left the outcome of the call unknown. */
export const withIndeterminatePolicy = (chain: ToolCallChain, context: CallContext): ToolCallChain => ({
  ...chain,
  onSettled: (index, settled, no) => {
    const isUnknown = !settled.ok && settled.failure.code === 'indeterminate';
    const { runner, call, args, session } = context;
    const policy = isUnknown ? session.cell.runtime.indeterminatePolicy(no) : 'continue';
    if (policy === 'fail' && !settled.ok) return { stop: settled.failure };
    if (policy === 'continue') return chain.onSettled(index, settled, no);
    return { instead: withIndeterminatePolicy(askAgainChain(runner, call, args, { session, no }), context) };
  },
});
