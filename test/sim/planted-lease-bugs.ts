// Bugs to plant where a process may lose a run to another one. Each is a small mistake that could happen in a hurry.
import type { Bug } from './planted-bugs.ts';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const leaseBugs: readonly Bug[] = [
  bug('a process appends to the log of a run that it has lost', 'epoch-checked', ''),
  // invariant: lease-lapse-is-a-loss
  bug(
    'a lease that is renewed after a lapse counts as if it had never lapsed',
    'lease-lapse',
    'const $(declarations.0.id) = this.#term === 0;',
  ),
  // invariant: durable-while-owned
  {
    name: 'a log is durable whoever owns its run',
    edits: [
      { probe: 'durable-and-owned', put: 'undefined' },
      { probe: 'committed-and-owned', put: 'undefined' },
    ],
  },
];
