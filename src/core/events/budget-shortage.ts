// Says why a request does not fit into a budget: what it needs, what is left, and which setting helps. For the operator and for
// whoever asked for the run; no model sees it, because it would tell what other cells have spent.
import type { Amounts } from '#contracts';

type Unit = Exclude<keyof Amounts, 'spawns'>;

export type BudgetShortage = {
  readonly unit: Unit;
  readonly needed: number;
  readonly left: number;
  readonly cap: number;
  /** The part of what is left that the callers' own next requests need. */
  readonly kept: number;
  readonly whose: 'own' | 'caller' | 'run';
};

/** `shorterFits`: the same request would fit with a shorter reply. */
export const shortageText = ({ unit, needed, left, cap, kept, whose }: BudgetShortage, shorterFits: boolean): string =>
  `The request needs ${amountText(unit, needed)}, but ${amountText(unit, left)} of ${amountText(unit, cap)} ` +
  `${left === 1 ? 'is' : 'are'} left in ${owners[whose]}` +
  `${kept === 0 ? '' : `, and ${amountText(unit, kept)} of it must stay free for its callers`}. ${advice(unit, shorterFits)}`;

const owners = { own: "the agent's budget", caller: "a caller's budget", run: 'the budget of the run' } as const;

const advice = (unit: Unit, shorterFits: boolean): string => {
  const other = shorterFits ? 'lower `maxOutputTokens`' : 'give the agent less to read';
  switch (unit) {
    case 'tokens':
      return `Raise \`budget.tokens\`, or ${other}.`;
    case 'nanoUsd':
      return `Raise \`budget.usd\`, ${other}, or use a cheaper model.`;
    case 'bytes':
      return 'Raise `budget.memory`.';
  }
};

/** An amount as people write it. */
export const amountText = (unit: Unit, amount: number): string => {
  switch (unit) {
    case 'tokens':
      return `${grouped(amount)} tokens`;
    case 'nanoUsd':
      return `$${(amount / 1e9).toFixed(amount > 0 && amount < 1e7 ? 6 : 4)}`;
    case 'bytes':
      return `${grouped(amount)} bytes`;
  }
};

const grouped = (amount: number): string => Math.floor(amount).toLocaleString('en-US');
