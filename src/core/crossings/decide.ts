import type { Crossing, Grant, RefusalReason } from '#contracts';

export type Verdict =
  | { readonly allowed: true; readonly grant: Grant }
  | { readonly allowed: false; readonly reason: RefusalReason };

/** How often the holder has used each grant. */
export type GrantUses = Map<Grant, number>;

/** Looks for a grant that allows the crossing. A refusal gives the reason of the last grant that matched, or `no-grant`. */
export const decide = (crossing: Crossing, grants: readonly Grant[], at: number, uses?: GrantUses): Verdict => {
  let reason: RefusalReason = 'no-grant';
  for (const grant of grants) {
    if (grant.kind !== crossing.kind || grant.from !== crossing.from || grant.to !== crossing.to) continue;
    const refusal = refusalReason(grant, crossing, at, uses?.get(grant) ?? 0);
    if (refusal === null) return { allowed: true, grant };
    reason = refusal;
  }
  return { allowed: false, reason };
};

const refusalReason = (grant: Grant, crossing: Crossing, at: number, used: number): RefusalReason | null => {
  if (grant.revoked === true) return 'revoked';
  if (grant.expiresAt !== undefined && !(at < grant.expiresAt)) return 'expired';
  if (grant.countMax !== undefined && !(used < grant.countMax)) return 'used-up';
  if (grant.refuses?.some((label) => crossing.labels.includes(label)) === true) return 'label';
  return null;
};
