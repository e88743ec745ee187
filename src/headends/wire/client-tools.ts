// A client's tools and the results of their calls, as the protocols have them in common.
import { CloisterError } from '#base';
import type { Asked, Caller, CallResult, ClientTool, ServedRun, Serving } from '#contracts';
import type { Fields } from './fields.ts';

/** One tool, with its schema in this field. */
export const parseTool = (tool: Fields, schemaField: string): ClientTool => {
  const schema = tool.optionalObject(schemaField) ?? {};
  if ((schema['type'] ?? 'object') !== 'object') throw tool.invalid(schemaField, 'the JSON Schema of an object');
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
    isAsked: results.length === 0 || open.length > results.length,
  };
};

const isResult = (turn: object): turn is CallResult => 'call' in turn;

/** Begins what is asked; or, when there is nothing but results, goes on with the run that waits for them. */
export const beginOrGoOn = async (
  serving: Serving,
  caller: Caller,
  { results, asked }: { readonly results: readonly CallResult[]; readonly asked: Asked | null },
  signal: AbortSignal,
): Promise<ServedRun> => {
  if (asked === null) return serving.goOn(caller, results, signal);
  // Results of an answer that was given up are no more than what was said then.
  const calls = results.map(({ call }) => call);
  if (calls.length === 0 || !serving.awaits(caller, calls)) return serving.begin(caller, asked, signal);
  throw new CloisterError(
    'request_unsupported',
    'A run waits for results of tools: send them alone, and say more when its answer has come.',
  );
};
