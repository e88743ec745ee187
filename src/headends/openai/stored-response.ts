// A response of an earlier request, made again from its run.
import { clientFailure } from '#headends/shared';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Caller, RunReport, AgentService, RequestState } from '#contracts';
import { nameOfResponse, nthOfResponse, runOfResponse } from './ids.ts';
import { callItem, messageItem, responseObject } from './response-object.ts';
import type { ResponseState } from './response-object.ts';

/** Rejects with `run_unknown`, also for those of others. */
export const readResponse = async (serving: AgentService, caller: Caller, id: string): Promise<JsonObject> => {
  const [run, name, nth] = [runOfResponse(id, 'The path'), nameOfResponse(id), nthOfResponse(id)];
  const found = await serving.find(caller, run);
  // Before the report: what has ended by then has its end there.
  const part = nth === null ? undefined : serving.requestState(caller, run, nth);
  const report = await found.report();
  const head = { run: name, agent: report.agent, startedAt: report.startedAt, previous: null, format: null };
  return responseObject(head, part === undefined ? wholeRun(report, name) : stateOf(report, name, part));
};

const stateOf = (report: RunReport, name: string, part: RequestState): ResponseState => {
  switch (part.state) {
    case 'under way':
      return { status: 'in_progress' };
    case 'ended':
      return { ...ended(report, name), spent: part.spent };
    case 'calls': {
      const message = part.text === '' ? [] : [messageItem(name, part.text, 'completed')];
      const calls = part.calls.map((call) => callItem(call, 'completed'));
      return { status: 'completed', output: [...message, ...calls], spent: part.spent };
    }
  }
};

/** Throws for one of several answers of the run: the log does not tell them apart. */
const wholeRun = (report: RunReport, name: string): ResponseState => {
  if (name !== report.run && (name !== `${report.run}_1` || hasCalled(report)))
    throw new CloisterError(
      'run_unknown',
      'The run may have asked its client for results, and single responses of such a run are kept for a while only.',
    );
  return ended(report, name);
};

const ended = (report: RunReport, name: string): ResponseState => {
  const { output, spent } = report;
  const status = statusOf(report);
  const failure = report.cells.find(({ parent }) => parent === null)?.outcome?.failure ?? { code: 'defect' as const };
  return {
    status,
    output: output === '' ? [] : [messageItem(name, output, status === 'completed' ? status : 'incomplete')],
    ...(report.endedAt === null ? {} : { spent }),
    ...(status === 'failed' ? { failure: clientFailure(failure) } : {}),
  };
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
