// A response of an earlier request, made again from its run.
import { CloisterError, shownFailure } from '#base';
import type { JsonObject } from '#base';
import type { RunReport } from '#contracts';
import { messageItem, responseObject } from './response-object.ts';
import type { ResponseState } from './response-object.ts';

/** `name`: what it was named by. Throws `run_unknown` for one of several answers of the run: the log tells only the last. */
export const keptResponse = (report: RunReport, name: string): JsonObject => {
  const { agent, startedAt, output, spent } = report;
  if (name !== report.run && (name !== `${report.run}_1` || hasCalled(report)))
    throw new CloisterError(
      'run_unknown',
      'Of a run that asked its client for results, single responses are not kept.',
    );
  const status = statusOf(report);
  const failure = report.cells.find(({ parent }) => parent === null)?.outcome?.failure ?? { code: 'defect' as const };
  return responseObject(
    { run: name, agent, startedAt, previous: null, format: null },
    {
      status,
      output: output === '' ? [] : [messageItem(name, output, status === 'completed' ? status : 'incomplete')],
      ...(report.endedAt === null ? {} : { spent }),
      ...(status === 'failed' ? { failure: shownFailure(failure) } : {}),
    },
  );
};

/** It may have been a client's tool: then the run has answered more than one request. */
const hasCalled = ({ cells, events }: RunReport): boolean => {
  const root = cells.find(({ parent }) => parent === null)?.cell;
  return events.some(({ type, cell }) => type === 'tool-start' && cell === root);
};

const statusOf = ({ status, output }: RunReport): ResponseState['status'] => {
  switch (status) {
    case 'running':
      return 'in_progress';
    // It can be gone on with.
    case 'interrupted':
      return 'incomplete';
    case 'completed':
    case 'cancelled':
    case 'failed':
      return status;
    case 'partial':
    case 'limit':
    case 'budget':
    case 'timeout':
      return output === '' ? 'failed' : 'incomplete';
  }
};
