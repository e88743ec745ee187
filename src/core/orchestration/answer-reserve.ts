// The part of a team's budget that its tasks cannot spend, so that the coordinator can still answer when they have used up the rest.
import type { Agent, Amounts } from '#contracts';

const reserveTokensMax = 25_000;

/** Computed from the caps alone: a quarter of the tokens, but no more than an answer needs, and an eighth of the dollars. */
export const answerReserve = (
  { coordinator }: Agent,
  answers: boolean,
  { tokens, nanoUsd }: Amounts,
): Amounts | undefined => {
  if (coordinator === null || !answers || (tokens === undefined && nanoUsd === undefined)) return undefined;
  return {
    ...(tokens === undefined ? {} : { tokens: Math.min(reserveTokensMax, Math.floor(tokens / 4)) }),
    ...(nanoUsd === undefined ? {} : { nanoUsd: Math.floor(nanoUsd / 8) }),
  };
};
