// What was said before a request for a response, where it names earlier answers instead of repeating them.
//
//   W1. Only the caller's own runs are looked up; another's is as unknown as one that never was.
import { CloisterError } from '#base';
import type { Caller, DialogMessage, AgentService } from '#contracts';
import type { ParsedResponseRequest } from './parse-response.ts';

/** Rejects with `run_unknown`, or with `request_invalid` for an answer that never came. */
export const resolveEarlierResponses = async (
  serving: Pick<AgentService, 'find'>,
  caller: Caller,
  { previous, dialog }: Pick<ParsedResponseRequest, 'previous' | 'dialog'>,
): Promise<readonly DialogMessage[]> => {
  const found = new Map<string, readonly DialogMessage[]>();
  const saidIn = async (run: string): Promise<readonly DialogMessage[]> => {
    // probe: recalled-said
    const said = found.get(run) ?? (await (await serving.find(caller, run)).said());
    found.set(run, said);
    return said;
  };

  const all: DialogMessage[] = [];
  if (previous !== null) {
    const before = await saidIn(previous);
    answerIn(before, 'previous_response_id: it');
    all.push(...before);
  }
  const lastNamed = new Map(dialog.flatMap((turn, place) => ('answerOf' in turn ? [[turn.answerOf, place]] : [])));
  for (const [place, turn] of dialog.entries()) {
    if (!('answerOf' in turn)) all.push(turn);
    // What a run said before the client brought results is not its answer.
    else if (lastNamed.get(turn.answerOf) === place) all.push(answerIn(await saidIn(turn.answerOf), 'input: an item'));
  }
  return all;
};

const answerIn = (said: readonly DialogMessage[], who: string): DialogMessage => {
  const last = said.at(-1);
  if (last?.by === 'agent') return last;
  throw new CloisterError('request_invalid', `${who} refers to an answer that never came.`);
};
