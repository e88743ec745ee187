// How a run ended, as the result of a tool.
import { clientError, clientFailure } from '#headends/shared';
import type { ClientFailure } from '#contracts';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { isObject } from '#base';
import type { Agent, OutputFormat, RunOutcome } from '#contracts';
import { outputSchemaOf } from './agent-tool.ts';
import { wordsOf } from './rpc.ts';

export const toToolResult = (agent: Agent, format: OutputFormat['format'], outcome: RunOutcome): CallToolResult => {
  const { status, output, data, run } = outcome;
  const _meta = { 'cloister/run': run, 'cloister/status': status };
  const failure = clientFailure(outcome.failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' });
  if (output === '' || status === 'failed' || status === 'cancelled') return failed(failure, _meta);

  const structured = format === 'json' && isObject(data) ? { structuredContent: { ...data } } : {};
  const whole = status === 'completed';
  const content = [textOf(output), ...(whole ? [] : [textOf(`The answer is not whole: ${wordsOf(failure)}`)])];
  // What has an output schema may give other than data only as an error.
  const isError = outputSchemaOf(agent) !== null && !('structuredContent' in structured);
  return { content, ...structured, ...(isError ? { isError } : {}), _meta };
};

/** Why a call was not served. */
export const errorResult = (error: unknown): CallToolResult => failed(clientError(error), {});

const failed = (failure: ClientFailure, meta: Readonly<Record<string, string>>): CallToolResult => ({
  content: [textOf(wordsOf(failure))],
  isError: true,
  _meta: { ...meta, 'cloister/error': failure.code, 'cloister/retryable': failure.retryable },
});

const textOf = (text: string): { type: 'text'; text: string } => ({ type: 'text', text });
