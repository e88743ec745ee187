// Completes the dialog of a request that refers to earlier responses instead of repeating them.
//
//   earlier-responses-own-only. Only the caller's own runs are looked up; the run of another caller is as unknown as one that
//       never existed.
import { CloisterError } from '#base';
import type { Caller, DialogMessage, AgentService } from '#contracts';
import type { ParsedResponseRequest } from './parse-response.ts';

/** Rejects with `run_unknown`, or with `request_invalid` for a response that was never completed. */
export const resolveEarlierResponses = async (
  service: Pick<AgentService, 'find'>,
  caller: Caller,
  { previous, dialog }: Pick<ParsedResponseRequest, 'previous' | 'dialog'>,
): Promise<readonly DialogMessage[]> => {
  const found = new Map<string, readonly DialogMessage[]>();
  const dialogOf = async (run: string): Promise<readonly DialogMessage[]> => {
    // probe: recalled-said
    const said = found.get(run) ?? (await (await service.find(caller, run)).dialog());
    found.set(run, said);
    return said;
  };

  const all: DialogMessage[] = [];
  if (previous !== null) {
    const before = await dialogOf(previous);
    lastAnswer(before, 'previous_response_id: it');
    all.push(...before);
  }
  const lastReference = new Map(
    dialog.flatMap((turn, index) => ('answerOfRun' in turn ? [[turn.answerOfRun, index]] : [])),
  );
  for (const [index, turn] of dialog.entries()) {
    if (!('answerOfRun' in turn)) all.push(turn);
    // Only the last reference to a run stands for its answer; earlier ones are texts from before the client returned tool results.
    else if (lastReference.get(turn.answerOfRun) === index)
      all.push(lastAnswer(await dialogOf(turn.answerOfRun), 'input: an item'));
  }
  return all;
};

const lastAnswer = (dialog: readonly DialogMessage[], subject: string): DialogMessage => {
  const last = dialog.at(-1);
  if (last?.by === 'agent') return last;
  throw new CloisterError('request_invalid', `${subject} refers to a response that was never completed.`);
};
