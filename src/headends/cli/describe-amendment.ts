// Describes what a fork changed.
import type { Amendment } from '#contracts';
import { excerpt } from './sanitize-text.ts';

/** The amendment must be sanitized. */
export const describeAmendment = ({ agent, model, withoutGrants = [], goal }: Amendment): string => {
  const changes = [
    ...(model === undefined ? [] : [`with model ${model}`]),
    ...withoutGrants.map((grant) => `without the grant ${grant}`),
    ...(goal === undefined ? [] : [`with the goal "${excerpt(goal, 60)}"`]),
  ];
  return changes.length === 0 ? 'nothing changed' : `${agent} ${changes.join(', ')}`;
};
