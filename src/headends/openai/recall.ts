// What was said before a request for a response, where it names earlier answers instead of repeating them.
//
//   W1. Only the caller's own runs are looked up; another's is as unknown as one that never was.
import { CloisterError } from '#base';
import type { Caller, Said, Serving } from '#contracts';
import type { ResponseAsked } from './parse-response.ts';

/** Rejects with `run_unknown`, or with `request_invalid` for an answer that never came. */
export const recall = async (
  serving: Pick<Serving, 'find'>,
  caller: Caller,
  { previous, dialog }: Pick<ResponseAsked, 'previous' | 'dialog'>,
): Promise<readonly Said[]> => {
  const found = new Map<string, readonly Said[]>();
  const saidIn = async (run: string): Promise<readonly Said[]> => {
    // probe: recalled-said
    const said = found.get(run) ?? (await (await serving.find(caller, run)).said());
    found.set(run, said);
    return said;
  };

  const all: Said[] = [];
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

const answerIn = (said: readonly Said[], who: string): Said => {
  const last = said.at(-1);
  if (last?.by === 'agent') return last;
  throw new CloisterError('request_invalid', `${who} refers to an answer that never came.`);
};
