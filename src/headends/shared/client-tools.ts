// A client's tools and the results of their calls, as the protocols have them in common.
import type { AgentRequest, Caller, CallResult, ClientTool, DialogMessage, ServedRun, AgentService } from '#contracts';
import { BodyFields } from './body-fields.ts';

/** One tool, with its schema in this field. */
export const parseTool = (tool: BodyFields, schemaField: string): ClientTool => {
  const schema = tool.optionalObject(schemaField) ?? {};
  if ((schema['type'] ?? 'object') !== 'object')
    throw new BodyFields(schema, tool.path(schemaField)).invalid('type', '"object", for arguments are one');
  return {
    name: tool.text('name'),
    description: tool.optionalText('description') ?? '',
    inputSchema: { ...schema, type: 'object' },
  };
};

type OpenResults<Turn> = {
  /** The dialog without results: those of earlier answers are in the answers. */
  readonly dialog: readonly Turn[];
  /** Those that no answer came after. */
  readonly results: readonly CallResult[];
  /** What a person said beside them. */
  readonly said: readonly string[];
  /** Something is asked, besides or instead. */
  readonly isAsked: boolean;
};

/** `isAgent`: it is the agent's, be it said or called. */
export const openResults = <Turn extends object>(
  turns: readonly (Turn | CallResult)[],
  isAgent: (turn: Turn) => boolean,
): OpenResults<Turn> => {
  const last = turns.findLastIndex((turn) => !isResult(turn) && isAgent(turn));
  const open = turns.slice(last + 1);
  const results = open.filter((turn) => isResult(turn));
  return {
    dialog: turns.filter((turn): turn is Turn => !isResult(turn)),
    results,
    said: open.flatMap((turn) => (!isResult(turn) && isSaid(turn) && turn.text.trim() !== '' ? [turn.text] : [])),
    isAsked: results.length === 0 || open.length > results.length,
  };
};

const isSaid = (turn: object): turn is DialogMessage => 'by' in turn;

const isResult = (turn: object): turn is CallResult => 'call' in turn;

/** What a request has, of which `asked` is made only if it is needed. Null: there is nothing but results. */
export type StartOrContinueInput = Pick<OpenResults<never>, 'results' | 'said'> & {
  readonly asked: (() => AgentRequest | Promise<AgentRequest>) | null;
};

/** Goes on with the run that waits for results, or begins what is asked. */
export const startOrContinue = async (
  serving: AgentService,
  caller: Caller,
  { results, said, asked }: StartOrContinueInput,
  signal: AbortSignal,
): Promise<ServedRun> => {
  // Results of an answer that was given up are no more than what was said then.
  const isAwaited = serving.awaits(
    caller,
    results.map(({ call }) => call),
  );
  if (asked === null || isAwaited) return serving.continueRun(caller, { results, said }, signal);
  return serving.startRun(caller, await asked(), signal);
};
