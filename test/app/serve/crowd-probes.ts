// Attempts to reach another caller's run.
import { headersFor } from './crowd-requests.ts';

export type Probe = {
  readonly name: string;
  readonly status: number;
  request(url: string, token: string, run: string): Request;
};

const probe = (
  name: string,
  path: (run: string) => string,
  { method = 'GET', body, status = 404 }: { method?: string; body?: (run: string) => unknown; status?: number } = {},
): Probe => ({
  name,
  status,
  request: (url, token, run) =>
    new Request(url + path(run), {
      method,
      headers: headersFor(url, token),
      ...(body === undefined ? {} : { body: JSON.stringify(body(run)) }),
    }),
});

/** A chat that only another caller has. */
export const leftChat = 'chat-left';

/** What `useChat` sends when a call is allowed. */
export const approvedChat = (question: string): object => {
  const call = { type: 'dynamic-tool', toolName: 'send', toolCallId: question, input: {}, state: 'approval-responded' };
  const approval = { id: question, approved: true };
  return { id: 'chat', messages: [{ role: 'assistant', parts: [{ ...call, approval }] }] };
};

const empty = { method: 'POST', body: () => ({}) };

export const probes: readonly Probe[] = [
  probe('show', (run) => `/v1/runs/${run}`),
  probe('watch', (run) => `/v1/runs/${run}/events`),
  probe('read', (run) => `/v1/runs/${run}/messages`),
  probe('callers', () => '/v1/callers'),
  probe('delete', (run) => `/v1/runs/${run}`, { method: 'DELETE' }),
  probe('export', (run) => `/v1/runs/${run}/export`),
  probe('archive', (run) => `/v1/runs/${run}/archive`, empty),
  probe('restore', (run) => `/v1/runs/${run}/restore`, empty),
  probe('forget a caller', () => '/v1/callers/ann?dryRun=true', { method: 'DELETE' }),
  probe('agents', (run) => `/v1/runs/${run}/agents`),
  probe('cancel', (run) => `/v1/runs/${run}/cancel`, empty),
  probe('finish', (run) => `/v1/runs/${run}/finish`, empty),
  probe('resume', (run) => `/v1/runs/${run}/resume`, empty),
  probe('finish one', (run) => `/v1/runs/${run}/agents/echo`, { method: 'DELETE' }),
  probe('write', (run) => `/v1/runs/${run}/messages`, { method: 'POST', body: () => ({ text: 'Tell me.' }) }),
  probe('response', (run) => `/v1/responses/resp_${run}`),
  probe('continue', () => '/v1/responses', {
    method: 'POST',
    body: (run) => ({ model: 'echo', input: 'And?', previous_response_id: `resp_${run}` }),
  }),
  // Accepted without effect: the id belongs to another caller.
  probe('cancel a call', () => '/mcp', {
    method: 'POST',
    body: () => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
    status: 202,
  }),
  probe('attachment', (run) => `/v1/runs/${run}/attachments/${'0'.repeat(64)}`),
  probe('questions', (run) => `/v1/runs/${run}/questions`),
  probe('question', (run) => `/v1/questions/q-${run}-3`),
  probe('answer', (run) => `/v1/questions/q-${run}-3`, {
    method: 'POST',
    body: () => ({ allow: true, sha256: '0'.repeat(64) }),
  }),
  probe('answer by ag-ui', () => '/ag-ui/echo', {
    method: 'POST',
    body: (run) => ({
      threadId: 'thread',
      runId: 'run',
      messages: [],
      resume: [{ interruptId: `q-${run}-3`, status: 'resolved', payload: { approved: true } }],
    }),
  }),
  probe('answer by a chat', () => '/ui/echo', { method: 'POST', body: (run) => approvedChat(`q-${run}-3`) }),
  // Nothing runs in it.
  probe('read a chat', () => `/ui/echo/${leftChat}/stream`, { status: 204 }),
  probe('stop a chat', () => `/ui/echo/${leftChat}/stream`, { method: 'DELETE', status: 204 }),
  probe('transcript', (run) => `/v1/runs/${run}/transcript`),
  probe('explain', (run) => `/v1/runs/${run}/explain?cell=echo`),
  probe('audit', (run) => `/v1/runs/${run}/audit`),
  probe('windows', (run) => `/v1/runs/${run}/windows`),
  probe('ledger', (run) => `/v1/runs/${run}/ledger`),
  probe('tasks', (run) => `/v1/runs/${run}/tasks`),
  probe('attachment', (run) => `/v1/runs/${run}/attachments/${'0'.repeat(64)}`),
  probe('mail', (run) => `/v1/runs/${run}/mail`),
  probe('retry', (run) => `/v1/runs/${run}/retry`, empty),
  probe('replay', (run) => `/v1/runs/${run}/replay`, empty),
  probe('fork', (run) => `/v1/runs/${run}/fork`, { method: 'POST', body: () => ({ at: 'echo', goal: 'Tell me.' }) }),
  probe('diff', (run) => `/v1/runs/${run}/diff?with=${run}`),
];
