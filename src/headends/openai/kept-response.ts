// A response of an earlier request, made again from its run.
import { shownFailure } from '#base';
import type { JsonObject } from '#base';
import type { RunReport } from '#contracts';
import { messageItem, responseObject } from './response-object.ts';
import type { ResponseState } from './response-object.ts';

export const keptResponse = (report: RunReport): JsonObject => {
  const { run, agent, startedAt, output, spent } = report;
  const status = statusOf(report);
  const failure = report.cells.find(({ parent }) => parent === null)?.outcome?.failure ?? { code: 'defect' as const };
  return responseObject(
    { run, agent, startedAt, previous: null, format: null },
    {
      status,
      output: output === '' ? [] : [messageItem(run, output, status === 'completed' ? status : 'incomplete')],
      ...(report.endedAt === null ? {} : { spent }),
      ...(status === 'failed' ? { failure: shownFailure(failure) } : {}),
    },
  );
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
