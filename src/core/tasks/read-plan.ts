// Reads the coordinator's plan: a list of tasks, or an object with `tasks`. The tasks themselves are checked apart.
import { isObject } from '#base';
import type { Json } from '#base';
import { showValue } from '#base/shapes';

/** The list as written, or why the value is not a plan. */
type ReadPlan = { readonly tasks: unknown } | { readonly problem: string };

export const readPlan = (value: Json | undefined): ReadPlan => {
  if (value === undefined) return { problem: 'The answer is not JSON.' };
  if (Array.isArray(value)) return { tasks: value };
  if (!isObject(value))
    return { problem: `The plan must be a list of tasks, or an object with "tasks"; got ${showValue(value)}.` };
  if (!Object.hasOwn(value, 'tasks')) return { problem: 'The plan has no "tasks".' };
  const unknown = Object.keys(value).find((key) => key !== 'tasks');
  if (unknown !== undefined)
    return { problem: `The plan has an unknown key ${showValue(unknown)}; only "tasks" is allowed.` };
  return { tasks: value['tasks'] };
};
