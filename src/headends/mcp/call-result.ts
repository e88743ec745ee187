// The outcome of a run as the result of a tool call.
import { clientError, clientFailure } from '#headends/shared';
import type { ClientFailure } from '#contracts';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { isObject } from '#base';
import type { Agent, OutputFormat, RunOutcome } from '#contracts';
import { toolOutputSchema } from './agent-tool.ts';
import { clientFailureText } from './rpc.ts';

export const toToolResult = (agent: Agent, format: OutputFormat['format'], outcome: RunOutcome): CallToolResult => {
  const { status, output, data, run, missing, spawned = [] } = outcome;
  const _meta = {
    'cloister/run': run,
    'cloister/status': status,
    ...(missing.length === 0 ? {} : { 'cloister/missing': missing }),
    ...(spawned.length === 0 ? {} : { 'cloister/spawned': spawned }),
  };
  const failure = clientFailure(outcome.failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' });
  if (output === '' || status === 'failed' || status === 'cancelled') return failedResult(failure, _meta);

  const structured = format === 'json' && isObject(data) ? { structuredContent: { ...data } } : {};
  const whole = status === 'completed';
  const content = [
    textContent(output),
    ...(whole ? [] : [textContent(`The answer is incomplete: ${incompleteText(outcome, failure)}`)]),
  ];
  // A tool with an output schema may return anything but data only as an error.
  const isError = toolOutputSchema(agent) !== null && !('structuredContent' in structured);
  return { content, ...structured, ...(isError ? { isError } : {}), _meta };
};

/** Agents can be missing without a failure of the agent that answered. */
const incompleteText = ({ failure, missing }: RunOutcome, shown: ClientFailure): string =>
  failure === null && missing.length > 0
    ? `nothing complete came from ${missing.join(', ')}.`
    : clientFailureText(shown);

/** Why a call was not served. */
export const errorResult = (error: unknown): CallToolResult => failedResult(clientError(error), {});

const failedResult = (failure: ClientFailure, meta: Readonly<Record<string, unknown>>): CallToolResult => ({
  content: [textContent(clientFailureText(failure))],
  isError: true,
  _meta: { ...meta, 'cloister/error': failure.code, 'cloister/retryable': failure.retryable },
});

const textContent = (text: string): { type: 'text'; text: string } => ({ type: 'text', text });
