// The part of a team's budget that its tasks cannot spend, so that the coordinator can still answer when they have used up the rest.
import type { Agent, Amounts } from '#contracts';

/** The longest reply is at most a quarter of a cap; the results that it is about come on top. */
const share = 3 / 8;

/** What an answer needs at most with the default cap on replies, and at prices that are common. */
const [reserveTokensMax, reserveNanoUsdMax] = [25_000, 0.3e9];

/** Computed from the caps alone: their share, but no more than an answer needs. In dollars at least an eighth: prices differ. */
export const answerReserve = ({ team }: Agent, answers: boolean, { tokens, nanoUsd }: Amounts): Amounts | undefined => {
  if ((team?.coordinator ?? null) === null || !answers || (tokens === undefined && nanoUsd === undefined))
    return undefined;
  return {
    ...(tokens === undefined ? {} : { tokens: Math.min(reserveTokensMax, Math.floor(tokens * share)) }),
    ...(nanoUsd === undefined
      ? {}
      : { nanoUsd: Math.floor(Math.max(nanoUsd / 8, Math.min(reserveNanoUsdMax, nanoUsd * share))) }),
  };
};
