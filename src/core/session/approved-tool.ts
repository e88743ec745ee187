// A tool that is called only if a person allows it: the call is a question first, and then the tool's own chain.
//
//   marked-call-asks-first. Whichever cell calls a marked tool, whatever kind of tool it is: nothing of it begins before the answer.
//   answered-is-what-runs. The tool gets the arguments that were shown, or those that the person wrote instead.
//   answer-not-forked. An answer belongs to the run that asked: a call that a fork makes is asked about again.
import { deepFreeze, isExactJson } from '#base';
import type { JsonObject } from '#base';
import { argumentsHash } from '#core/events';
import type { ApprovalMark, AnswerContent, AskOperation, QuestionResult, Source } from '#contracts';
import { failingChain, failingStep, stepAbout } from './tool-call-chain.ts';
import type { ChainStep, Session, ToolCall, ToolCallChain, ToolRunner } from './state.ts';

/** `decides`: whether these arguments need approval; absent: all do. */
export const approvedTool = (
  tool: ToolRunner,
  { when: _when, ...rule }: ApprovalMark,
  decides?: (args: JsonObject) => boolean,
): ToolRunner => ({
  schema: tool.schema,
  marked: { tool, rule },
  createChain: (call, args, session) =>
    // probe: approval-skipped
    decides?.(args) !== false ? askedChain(tool, call, args, { rule, session }) : tool.createChain(call, args, session),
});

/** Asks whether to make a call again that was in flight during a crash. `no`: its operation. */
export const askAgainChain = (
  runner: ToolRunner,
  call: ToolCall,
  args: JsonObject,
  { session, no: unknown }: { readonly session: Session; readonly no: number },
): ToolCallChain => {
  const { tool, rule } = runner.marked ?? { tool: runner, rule: undefined };
  return askedChain(tool, call, args, { rule, session, unknown });
};

type Asking = { readonly rule: Question['rule']; readonly session: Session; readonly unknown?: number };
type Question = AskOperation['question'];

const askedChain = (
  tool: ToolRunner,
  call: ToolCall,
  args: JsonObject,
  { rule, session, unknown }: Asking,
): ToolCallChain => {
  // What a person cannot be shown, nobody can allow.
  if (!isExactJson(args))
    return failingChain(call, session, 'tool_arguments', 'A number is too large or too small to be shown.');
  const argsHash = argumentsHash(args);
  const hasRule = rule !== undefined && Object.keys(rule).length > 0;
  const ask: AskOperation = {
    do: 'ask',
    name: `ask:${call.name}`,
    question: {
      tool: call.name,
      args: deepFreeze(structuredClone(args)),
      argsHash,
      why: 'tool',
      ...(unknown === undefined ? {} : { unknown }),
      ...(hasRule ? { rule } : {}),
    },
    schema: tool.schema.inputSchema,
    timeoutMs: session.cell.limits.questionTimeout,
  };
  let inner: ToolCallChain | null = null;
  let asks = 1;
  let edited: Source | null = null;
  let denied: readonly Source[] | null = null;
  const onAnswer = (result: QuestionResult, no: number): ChainStep => {
    const said: Source | null = result.said === undefined ? null : { from: 'crossing', seq: result.said };
    if (result.verdict === 'deny') {
      denied = said === null ? [] : [said];
      // The model is told that the outcome is unknown, and what the person knows about it.
      if (unknown !== undefined)
        return { end: { show: { rule: 'denied@1', of: [{ from: 'operation', no: unknown }, ...denied] } } };
      const code = result.expired === true ? 'approval_expired' : 'approval_denied';
      return { begin: [failingStep(call, session, { code }, stepAbout(session, { ...call, ask: { no, argsHash } }))] };
    }
    if (session.cell.runtime.isForkedSince(no)) {
      asks++;
      return { begin: [ask] };
    }
    const changed = said === null ? undefined : readAnswer(session, said).args;
    if (changed !== undefined) edited = said;
    // probe: approved-args
    const used = changed ?? args;
    const input = changed === undefined ? call.input : JSON.stringify(changed);
    const chain = tool.createChain({ ...call, input, ask: { no, argsHash: argumentsHash(used) } }, used, session);
    if ('stop' in chain) return { stop: chain.stop };
    inner = chain;
    return { begin: chain.begin, ...(chain.join === undefined ? {} : { join: chain.join }) };
  };
  return {
    begin: [ask],
    onSettled: (index, settled, no) => {
      if (index < asks && inner === null && denied === null)
        return settled.ok ? onAnswer(settled.value as unknown as QuestionResult, no) : { end: failedEnd(no) };
      if (inner === null)
        return { end: { show: { rule: 'denied@1', of: [{ from: 'operation', no }, ...(denied ?? [])] } } };
      const step = inner.onSettled(index - asks, settled, no);
      return edited === null || step.end === undefined ? step : { ...step, end: { ...step.end, edited } };
    },
  };
};

/** The question was stopped with its cell. */
const failedEnd = (no: number): NonNullable<ChainStep['end']> => ({
  show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] },
});

const readAnswer = ({ cell }: Session, said: Extract<Source, { from: 'crossing' }>): AnswerContent =>
  JSON.parse(cell.runtime.received.at(said.seq)!.content) as AnswerContent;
