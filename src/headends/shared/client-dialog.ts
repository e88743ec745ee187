// The dialog of front ends that keep it themselves and send all of it each time: AG-UI and the AI SDK's UI message stream.
import type { AgentRequest, CallResult, ClientRules, DialogMessage } from '#contracts';
import type { BodyFields } from './body-fields.ts';
import { parseClientTools, separateResults, splitDialog } from './client-tools.ts';
import type { PastCall } from './client-tools.ts';

/** A message, a call of one of the client's tools, or its result. */
export type ClientTurn = DialogMessage | CallResult | PastCall;

export type ClientDialog = {
  readonly turns: readonly ClientTurn[];
  readonly system: readonly string[];
  /** The newest frame that the client was told of when it was asked for its results; -1: none. */
  readonly frame: number;
};

export type DialogRequest = {
  /** Of the client's tools. */
  readonly results: readonly CallResult[];
  readonly userTexts: readonly string[];
  /** The newest frame that the client was told of when it was asked for these results. */
  readonly resultsFrame: number;
  /** Throws `request_invalid` or `request_unsupported` if there is nothing to run. */
  readonly newRequest: () => AgentRequest;
};

/** The last message of the user is the request, what comes before it is history. Throws for invalid tools. */
export const requestFromDialog = (
  body: BodyFields,
  { turns, system, frame }: ClientDialog,
  agent: string,
  rules: ClientRules,
): DialogRequest => {
  const { dialog, results, userTexts } = separateResults(turns, ({ by }) => by === 'agent');
  const tools = parseClientTools(body, rules);
  return {
    results,
    userTexts,
    resultsFrame: frame,
    newRequest: () => ({
      agent,
      ...splitDialog(dialog, 'messages'),
      ...(system.length === 0 ? {} : { system }),
      ...(tools.length === 0 ? {} : { tools }),
    }),
  };
};
