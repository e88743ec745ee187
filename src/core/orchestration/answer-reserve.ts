// What a team's account keeps free from its tasks, so that its coordinator can still answer when they have used up the rest.
import type { Agent, Amounts } from '#contracts';

const tokensMost = 25_000;

/** From the caps alone: a quarter of the tokens, but no more than an answer takes; an eighth of the money. */
export const answerReserve = (
  { coordinator }: Agent,
  answers: boolean,
  { tokens, nanoUsd }: Amounts,
): Amounts | undefined => {
  if (coordinator === null || !answers || (tokens === undefined && nanoUsd === undefined)) return undefined;
  return {
    ...(tokens === undefined ? {} : { tokens: Math.min(tokensMost, Math.floor(tokens / 4)) }),
    ...(nanoUsd === undefined ? {} : { nanoUsd: Math.floor(nanoUsd / 8) }),
  };
};
