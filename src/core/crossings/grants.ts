import type { Agent, CrossingEnd, Grant, GrantName } from '#contracts';
import type { CellId } from '#base';

/** The grants of one cell, from its agent's definition and from who asked for it. */
export const grantsOf = ({ grants, share }: Agent, cell: CellId, asker: CrossingEnd): readonly Grant[] => {
  const made = grants.map((name) => grantOf(name, cell, asker));
  return share.length === 0 ? made : [...made, grantOf('share', cell, asker)];
};

/** Each is named for the one kind that it lets through. */
export const grantOf = (name: GrantName, cell: CellId, asker: CrossingEnd): Grant =>
  name === 'result' || name === 'note'
    ? { name, kind: name, from: cell, to: asker }
    : { name, kind: name, from: asker, to: cell };

type Narrowing = Pick<Grant, 'countMax' | 'expiresAt' | 'revoked' | 'refuses'>;

/** The same grant with less room. Nothing given here can widen it. */
export const narrowGrant = (grant: Grant, by: Narrowing): Grant =>
  Object.freeze({
    ...grant,
    ...least('countMax', grant.countMax, by.countMax),
    ...least('expiresAt', grant.expiresAt, by.expiresAt),
    ...(grant.revoked === true || by.revoked === true ? { revoked: true } : {}),
    ...(grant.refuses || by.refuses
      ? { refuses: [...new Set([...(grant.refuses ?? []), ...(by.refuses ?? [])])] }
      : {}),
  });

/** What is not a number leaves no room at all. */
const least = (key: 'countMax' | 'expiresAt', one?: number, other?: number): Partial<Grant> => {
  if (one === undefined && other === undefined) return {};
  const room = Math.min(one ?? Infinity, other ?? Infinity);
  return { [key]: Number.isNaN(room) ? 0 : room };
};
