// What a request may use: what it asks for, and never more than its token allows.
import { CloisterError } from '#base';
import type { Budget } from '#contracts';

/** In each of its fields, the smaller one. Throws `budget_invalid`. */
export const budgetWithin = (asked: Budget = {}, most: Budget = {}): Budget => {
  const budget: Record<string, number> = { ...most };
  for (const [name, value] of Object.entries(asked) as [keyof Budget, number | undefined][]) {
    if (value === undefined) continue;
    // Before anything is set aside: what is no amount would give to the allowance instead of taking from it.
    if (!(value >= 0)) throw new CloisterError('budget_invalid', `budget.${name}: expected a number, 0 or more.`);
    budget[name] = Math.min(value, most[name] ?? Infinity);
  }
  return budget;
};
