// The budget of a request: what it asks for, but no more than its token allows.
import { CloisterError } from '#base';
import type { Budget } from '#contracts';

/** Takes the smaller value of each field. Throws `budget_invalid`. */
export const budgetWithin = (requested: Budget = {}, most: Budget = {}): Budget => {
  const budget: Record<string, number> = { ...most };
  for (const [name, value] of Object.entries(requested) as [keyof Budget, number | undefined][]) {
    if (value === undefined) continue;
    // Checked before anything is reserved: a negative amount would add to the allowance.
    if (!(value >= 0)) throw new CloisterError('budget_invalid', `budget.${name}: expected a number ≥ 0.`);
    budget[name] = Math.min(value, most[name] ?? Infinity);
  }
  return budget;
};
