// What a fork is asked for, from what was chosen.
import type { ForkChange } from './what-changed.ts';

export type ChangeKind = 'grant' | 'goal' | 'model' | 'budget' | 'again';

export type ChangeChoice = {
  readonly kind: ChangeKind;
  readonly cell: string;
  /** The first operation that is done again; undefined: the start of the cell. */
  readonly op: number | undefined;
  readonly value: Readonly<Record<string, string>>;
  /** What the cell was asked. */
  readonly goal: string;
};

/** Null: something is missing, or nothing would change. */
export const forkBody = ({ kind, cell, op, value, goal }: ChangeChoice): ForkChange | null => {
  if (cell === '') return null;
  const at = op === undefined ? cell : `${cell}/${op}`;
  switch (kind) {
    case 'grant':
      return value['grant'] ? { at, withoutGrants: [value['grant']] } : null;
    case 'goal': {
      const asked = value['goal']?.trim() ?? '';
      // Only a room that starts anew can be asked something else.
      return asked === '' || asked === goal ? null : { at: cell, goal: asked };
    }
    case 'model': {
      const model = value['model']?.trim() ?? '';
      return /^[^/\s]+\/\S+$/u.test(model) ? { at, model } : null;
    }
    case 'budget': {
      const [tokens, usd] = [Number(value['tokens'] ?? 0), Number(value['usd'] ?? 0)];
      const isSound = Number.isSafeInteger(tokens) && tokens >= 0 && Number.isFinite(usd) && usd >= 0;
      if (!isSound || (tokens === 0 && usd === 0)) return null;
      return { at: cell, budget: { ...(tokens > 0 ? { tokens } : {}), ...(usd > 0 ? { usd } : {}) } };
    }
    case 'again':
      return { at };
  }
};
