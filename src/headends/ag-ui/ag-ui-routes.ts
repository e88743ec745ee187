// The route for front ends that speak AG-UI: a request is a run, and its events are the run's.
import type { AdmittedRequest, AgentService, ErrorFormatter, HttpRoute, RouteReply, ServerEvent } from '#contracts';
import { answerAndFollow, clientTools, followActivity, startOrContinue } from '#headends/shared';
import type { FollowActivity } from '#headends/shared';
import { AgUiEvents } from './ag-ui-events.ts';
import { agUiOperation } from './operation.ts';
import { parseRunInput } from './parse-run-input.ts';
import type { RunInput } from './parse-run-input.ts';

/** `formatError`: of errors before the stream starts. */
export const agUiRoutes = (
  service: AgentService,
  { formatError }: { readonly formatError: ErrorFormatter },
): readonly HttpRoute[] => [
  {
    method: 'POST',
    path: '/ag-ui/:agent',
    formatError,
    operation: agUiOperation(service.clients),
    answer: (call) => answerRun(service, call),
  },
];

/** Everything that can be refused is refused before the stream starts. */
const answerRun = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  const { caller, params, body, headers, signal } = call;
  const agent = service.agent(caller, params['agent'] ?? '').name;
  const input = parseRunInput(body, agent, service.clients);
  const details = caller.sees === 'contents';
  if (input.answers.length > 0) {
    const { run, known } = await answerAndFollow(service, call, { agent, answers: input.answers, details });
    return { events: agUiStream(run.run, followActivity(run, { known }), input) };
  }
  const request = { ...input.newRequest(), stream: true, details, readsEvents: true };
  const { results, userTexts } = input;
  const from = { results, userTexts, newRequest: () => request, headers, ...clientTools(request) };
  const run = await startOrContinue(service, caller, from, signal);
  const isContinued = results.length > 0 && (run.nth ?? 1) > 1;
  const known = isContinued ? { frame: input.resultsFrame } : undefined;
  return { events: agUiStream(run.run, followActivity(run, { known }), input) };
};

async function* agUiStream(run: string, { steps, fold }: FollowActivity, input: RunInput): AsyncGenerator<ServerEvent> {
  const events = new AgUiEvents(run, input);
  const sent = (all: readonly object[]): readonly ServerEvent[] => all.map((one) => ({ data: JSON.stringify(one) }));
  yield* sent(events.start());
  for await (const step of steps) {
    if (step.type === 'end') yield* sent(events.end(step.end, fold.usage));
    else if (step.isKnown) events.learn(step.activity);
    else yield* sent(events.next(step.activity));
  }
}
