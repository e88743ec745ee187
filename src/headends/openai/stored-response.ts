// Rebuilds the response of an earlier request from its run.
import { clientFailure } from '#headends/shared';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Caller, RunReport, AgentService, RequestState } from '#contracts';
import { nameFromResponseId, nthFromResponseId, runFromResponseId } from './ids.ts';
import { callItem, messageItem, responseObject } from './response-object.ts';
import type { ResponseState } from './response-object.ts';

/** Rejects with `run_unknown`, also for runs of other callers. */
export const readResponse = async (service: AgentService, caller: Caller, id: string): Promise<JsonObject> => {
  const [run, name, nth] = [runFromResponseId(id, 'The path'), nameFromResponseId(id), nthFromResponseId(id)];
  const found = await service.find(caller, run);
  // Read before the report: a request that has ended by now has its end in the report.
  const part = nth === null ? undefined : service.requestState(caller, run, nth);
  const report = await found.report();
  const head = { run: name, agent: report.agent, startedAt: report.startedAt, previous: null, format: null };
  return responseObject(head, part === undefined ? runResponse(report, name) : requestResponse(report, name, part));
};

const requestResponse = (report: RunReport, name: string, part: RequestState): ResponseState => {
  switch (part.state) {
    case 'running':
      return { status: 'in_progress' };
    case 'ended':
      return { ...endedResponse(report, name), spent: part.spent };
    case 'calls': {
      const message = part.text === '' ? [] : [messageItem(name, part.text, 'completed')];
      const calls = part.calls.map((call) => callItem(call, 'completed'));
      return { status: 'completed', output: [...message, ...calls], spent: part.spent };
    }
  }
};

/** Throws if the run has several answers, because the log does not tell them apart. */
const runResponse = (report: RunReport, name: string): ResponseState => {
  if (name !== report.run && (name !== `${report.run}_1` || hasCalledTools(report)))
    throw new CloisterError('run_unknown', 'Responses of a run with client tools are stored only for a limited time.');
  return endedResponse(report, name);
};

const endedResponse = (report: RunReport, name: string): ResponseState => {
  const { output, spent } = report;
  const status = responseStatus(report);
  const failure = report.cells.find(({ parent }) => parent === null)?.outcome?.failure ?? { code: 'defect' as const };
  return {
    status,
    output: output === '' ? [] : [messageItem(name, output, status === 'completed' ? status : 'incomplete')],
    ...(report.endedAt === null ? {} : { spent }),
    ...(status === 'failed' ? { failure: clientFailure(failure) } : {}),
  };
};

/** Whether the root called any tool. It may have been a client's tool, and then the run has answered several requests. */
const hasCalledTools = ({ cells, events }: RunReport): boolean => {
  const root = cells.find(({ parent }) => parent === null)?.cell;
  return events.some(({ type, cell }) => type === 'tool-start' && cell === root);
};

const responseStatus = ({ status, output }: RunReport): ResponseState['status'] => {
  switch (status) {
    case 'running':
      return 'in_progress';
    // An interrupted run can be resumed.
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
