import type { Crossing, Grant, RefusalReason } from '#contracts';

export type Verdict =
  | { readonly allowed: true; readonly grant: Grant }
  | { readonly allowed: false; readonly reason: RefusalReason };

/** How often each grant was used by its holder. */
export type Uses = Map<Grant, number>;

/** Looks for a grant that allows it; the refusal names what stood in the way of the nearest one. */
export const decide = (crossing: Crossing, grants: readonly Grant[], at: number, uses?: Uses): Verdict => {
  let reason: RefusalReason = 'no-grant';
  for (const grant of grants) {
    if (grant.kind !== crossing.kind || grant.from !== crossing.from || grant.to !== crossing.to) continue;
    const obstacle = obstacleOf(grant, crossing, at, uses?.get(grant) ?? 0);
    if (obstacle === null) return { allowed: true, grant };
    reason = obstacle;
  }
  return { allowed: false, reason };
};

const obstacleOf = (grant: Grant, crossing: Crossing, at: number, used: number): RefusalReason | null => {
  if (grant.revoked === true) return 'revoked';
  if (grant.expiresAt !== undefined && !(at < grant.expiresAt)) return 'expired';
  if (grant.countMax !== undefined && !(used < grant.countMax)) return 'used-up';
  if (grant.refuses?.some((label) => crossing.labels.includes(label)) === true) return 'label';
  return null;
};
