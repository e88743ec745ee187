import type { Agent, CrossingEnd, Grant, GrantName } from '#contracts';
import type { CellId } from '#base';

/** The grants of one cell, from its agent's definition and its requester. */
export const createGrants = ({ grants, share }: Agent, cell: CellId, requester: CrossingEnd): readonly Grant[] => {
  const created = grants.map((name) => createGrant(name, cell, requester));
  return share.length === 0 ? created : [...created, createGrant('share', cell, requester)];
};

/** A grant has the name of the one kind of crossing it allows. No definition can list `file`. */
export const createGrant = (name: GrantName | 'file', cell: CellId, requester: CrossingEnd): Grant =>
  name === 'result' || name === 'note'
    ? { name, kind: name, from: cell, to: requester }
    : { name, kind: name, from: requester, to: cell };

type GrantNarrowing = Pick<Grant, 'countMax' | 'expiresAt' | 'revoked' | 'refuses'>;

/** The same grant with tighter limits. No argument can widen it. */
export const narrowGrant = (grant: Grant, by: GrantNarrowing): Grant =>
  Object.freeze({
    ...grant,
    ...lowerBound('countMax', grant.countMax, by.countMax),
    ...lowerBound('expiresAt', grant.expiresAt, by.expiresAt),
    ...(grant.revoked === true || by.revoked === true ? { revoked: true } : {}),
    ...(grant.refuses || by.refuses
      ? { refuses: [...new Set([...(grant.refuses ?? []), ...(by.refuses ?? [])])] }
      : {}),
  });

/** NaN counts as 0, so that it allows nothing. */
const lowerBound = (key: 'countMax' | 'expiresAt', one?: number, other?: number): Partial<Grant> => {
  if (one === undefined && other === undefined) return {};
  const room = Math.min(one ?? Infinity, other ?? Infinity);
  return { [key]: Number.isNaN(room) ? 0 : room };
};
