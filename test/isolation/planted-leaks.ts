// Leaks to plant in the production code: each a small change that a hurried change could make. The two-run comparison must
// catch every one.
import type { Edit } from '../planted/plant.ts';

export type Leak = {
  readonly name: string;
  /** Whose observations must differ. */
  readonly seenBy: 'child' | 'parent or sibling';
  readonly edits: readonly Edit[];
};

const child = 'child';
const above = 'parent or sibling';

/** Runs code in the parent's run just before its child is given its goal. */
const beforeChild = (code: string): Edit => ({ probe: 'child-goal-crossing', put: `${code}\n  $(whole)` });

/** Adds text to the goal, where the run's side of the parent is at hand. */
const inGoal = (expression: string): Edit =>
  beforeChild(`if (request.goal !== null) request = { ...request, goal: request.goal + ${expression} };`);

/** Adds text to the goal, where the parent's own cell is at hand. */
const inRequestedGoal = (expression: string): Edit => ({
  probe: 'child-request',
  put: `if (goal !== null) goal += ${expression};\n  $(whole)`,
});

/** Adds fields to a model request, over those that are there. */
const inRequest = (fields: string): Edit => ({ probe: 'model-request-fields', put: `$(whole), ${fields}` });

/** Changes what a cell has to say, in whatever leaves it. */
const inResult = (output: string): Edit => ({
  probe: 'result-envelope',
  put: `export const $(declaration.declarations.0.id) = (outcome: any, caller: any) => {
  const { output, failure, spent } = outcome;
  return { ...($(declaration.declarations.0.init))(outcome, caller), output: ${output} };
};`,
});

/** Leaves the parent's balance where its child's code can find it. */
const leaveBalance = beforeChild(
  `const { tokens = Infinity } = caller.account.caps;
  (globalThis as any).planted = tokens - caller.account.spent(0).inputTokens;`,
);

export const leaks: readonly Leak[] = [
  {
    name: 'a hash of the parent’s history, in the goal',
    seenBy: child,
    edits: [
      inGoal(
        `'\\n#' + process['getBuiltinModule']('node:crypto').hash('sha256', JSON.stringify((caller as any).shown?.view))`,
      ),
    ],
  },
  {
    name: 'base64 of the parent’s newest message, in the system prompt',
    seenBy: child,
    edits: [
      beforeChild(
        `(globalThis as any).planted = Buffer.from(JSON.stringify((caller as any).shown?.view.at(-1))).toString('base64');`,
      ),
      { probe: 'system-prompt', put: `$(whole) + ((globalThis as any).planted ?? '')` },
    ],
  },
  // invariant: hold-by-own-facts
  {
    name: 'the remaining budget, as maxOutputTokens',
    seenBy: child,
    edits: [
      leaveBalance,
      {
        probe: 'model-request-fields',
        put: '$(key): Math.min($(value), Math.ceil(((globalThis as any).planted ?? Infinity) / 200))',
      },
    ],
  },
  // invariant: window-limit-by-definitions
  {
    name: 'the remaining budget, as the window size',
    seenBy: child,
    edits: [
      leaveBalance,
      {
        probe: 'window-limit',
        put: `const left = Math.ceil(((globalThis as any).planted ?? Infinity) / 400);
  return { tokens: Math.min(($(argument)).tokens, left), by: 'given' };`,
      },
    ],
  },
  {
    name: 'a child id that is a counter, in idempotency keys',
    seenBy: child,
    edits: [{ probe: 'child-id', put: '((this.run as any).planted = ((this.run as any).planted ?? 0) + 1)' }],
  },
  {
    name: 'the order of tools, by the number of the parent’s tools',
    seenBy: child,
    edits: [
      beforeChild('(globalThis as any).planted = caller.agent.definition.tools.length % 2;'),
      {
        probe: 'window-tools',
        put: `const turned = cell.runtime.depth > 0 && (globalThis as any).planted === 1;
    $(expression.left) = turned ? $(expression.right).toReversed() : $(expression.right);`,
      },
    ],
  },
  {
    name: 'a note that the parent’s output was truncated',
    seenBy: child,
    edits: [inRequestedGoal(`cell.output('burst_001.txt') === undefined ? '' : '\\n[Earlier output was cut.]'`)],
  },
  {
    name: 'an environment variable',
    seenBy: child,
    edits: [{ probe: 'goal-words', put: `$(whole) + (process.env['CLOISTER_TWO_RUN_SECRET'] ?? '')` }],
  },
  {
    name: 'the provider’s error text, in the result',
    seenBy: above,
    edits: [inResult(`output + (failure?.detail ?? '')`)],
  },
  {
    name: 'the last error of another cell, in an error text',
    seenBy: child,
    edits: [
      {
        probe: 'failure-words',
        put: `const last = (globalThis as any).planted ?? '';
  (globalThis as any).planted = failure.detail;
  return $(argument) + last;`,
      },
    ],
  },
  { name: 'a timestamp', seenBy: child, edits: [inGoal('`\\nAsked at ${caller.now}.`')] },
  {
    name: 'the parent’s folder, as the child’s',
    seenBy: child,
    edits: [{ probe: 'workspace-cell', put: 'this.parent ?? $(whole)' }],
  },
  {
    name: 'one folder for all cells of a run',
    seenBy: child,
    edits: [{ probe: 'memory-workspace-key', put: 'const $(declarations.0.id) = String(run);' }],
  },
  {
    name: 'a file’s name, in the goal',
    seenBy: child,
    edits: [
      inRequestedGoal(
        `((files) => files === undefined ? '' : '\\nSee ' + [...files.keys()].join())((cell as any).planted)`,
      ),
      { probe: 'cell-count-file', put: '$(whole)\n    (this as any).planted = $(expression.callee.object);' },
    ],
  },
  {
    name: 'whether an equal output is already stored',
    seenBy: child,
    edits: [
      {
        probe: 'tool-text',
        put: `((kept: Set<string>, said: string) => {
            const again = kept.has(said);
            kept.add(said);
            return again ? '(stored once) ' + said : said;
          })(((session.ports.world as any).planted ??= new Set()), $(whole))`,
      },
    ],
  },
  {
    name: 'the number of agents started before',
    seenBy: child,
    edits: [inGoal('` (${caller.account.spent(0).spawns})`')],
  },
  {
    name: 'steps counted across cells, so that a limit comes early',
    seenBy: child,
    edits: [
      { probe: 'cell-count-step', put: 'return ((this.#world as any).planted = this.steps + 1);' },
      { probe: 'cell-steps', put: 'return (this.#world as any).planted ?? $(argument);' },
    ],
  },
  {
    name: 'outputs numbered across cells',
    seenBy: child,
    edits: [
      {
        probe: 'cell-count-output',
        put: 'const $(declarations.0.id): number = ((this.#world as any).planted = ((this.#world as any).planted ?? 0) + 1);',
      },
    ],
  },
  {
    name: 'the settings of the first agent that called a model',
    seenBy: child,
    edits: [inRequest('...((this.#session.ports.world as any).planted ??= agent.resources.settings)')],
  },
  {
    name: 'the number of the log’s newest frame, in a result’s heading',
    seenBy: child,
    edits: [
      { probe: 'frame-append', put: '$(whole)\n    (globalThis as any).planted = $(expression.arguments.0).no;' },
      { probe: 'child-envelope', put: '$(whole), no: (globalThis as any).planted' },
      {
        probe: 'child-result-heading',
        put: 'const $(declarations.0.id) = $(declarations.0.init) + ` Entry ${(envelope as any).no}.`;',
      },
    ],
  },
  {
    name: 'the parent’s id, in a header',
    seenBy: child,
    edits: [
      inRequest(
        `...(({ parent }) => (parent === null ? {} : { headers: { 'x-parent': parent } }))(this.#session.cell)`,
      ),
    ],
  },
  {
    name: 'idempotency keys numbered across cells',
    seenBy: child,
    edits: [
      {
        probe: 'step-key',
        put: 'return $(argument.callee)(((this.#ports as any).planted = ((this.#ports as any).planted ?? 0) + 1));',
      },
    ],
  },
  {
    name: 'the previous goal of the same agent',
    seenBy: child,
    edits: [
      inGoal(`((asked: Map<unknown, string>) => {
      const last = asked.get(agent);
      asked.set(agent, request.goal!);
      return last === undefined ? '' : '\\nBefore: ' + last;
    })((caller.run as any).planted ??= new Map())`),
    ],
  },
  {
    name: 'the reason, which is meant for the log',
    seenBy: child,
    edits: [
      {
        probe: 'child-goal',
        put: `$(whole) + (typeof request.reason === 'string' ? '\\nBecause ' + request.reason : '')`,
      },
    ],
  },
  { name: 'the names of the ancestors', seenBy: child, edits: [inGoal(`' for ' + caller.ancestry.join('/')`)] },
  {
    name: 'the parent’s instructions, without a grant to share them',
    seenBy: child,
    edits: [inGoal(`'\\n' + caller.agent.prompt`)],
  },
  {
    name: 'the parent’s name and tools, with the prompt that it shares',
    seenBy: child,
    edits: [
      {
        probe: 'shared-prompt',
        put: `const $(declarations.0.id) = [$(declarations.0.init), definition.guidance].join('\\n\\n');`,
      },
    ],
  },
  {
    name: 'the instructions of the root’s caller, with the prompt that the root shares',
    seenBy: child,
    edits: [
      {
        probe: 'share-prompt',
        put: `const received = window.view.flatMap(({ category, part, origin }) =>
    origin.rule === 'shared-system@1' && cell.runtime.parent === null && 'message' in part
      ? [{ category: 'SYSTEM', text: String(part.message.content) } as const]
      : [],
  );
  const $(declarations.0.id) = [...$(declarations.0.init), ...received];`,
      },
    ],
  },
  {
    name: 'the names and hashes of files that came with the root’s goal, with the context that it shares',
    seenBy: child,
    edits: [
      {
        probe: 'share-prompt',
        put: `const attached = window.view.flatMap(({ part, origin }) =>
    origin.rule === 'attachment@1' && cell.runtime.parent === null && 'message' in part
      ? [{ category: 'CONTEXT', text: JSON.stringify(part.message.content) } as const]
      : [],
  );
  const $(declarations.0.id) = [...$(declarations.0.init), ...attached];`,
      },
    ],
  },
  {
    name: 'the skill of the parent, to a child with a skill of the same name',
    seenBy: child,
    edits: [
      {
        probe: 'own-skills',
        put: '((own: any) => { const before = (globalThis as any).planted ?? own; (globalThis as any).planted = own; return before; })($(whole))',
      },
    ],
  },
  {
    name: 'the prompt that the parent’s own caller shared with it',
    seenBy: child,
    edits: [
      {
        probe: 'share-prompt',
        put: `const inherited = window.view.flatMap(({ category, part }) =>
    category === 'SYSTEM' && 'message' in part && agent.permissions.share.includes('system')
      ? [{ category, text: String(part.message.content) } as const]
      : [],
  );
  const $(declarations.0.id) = [...$(declarations.0.init), ...inherited.slice(1)];`,
      },
    ],
  },
  {
    name: 'the number of the child’s steps, in its answer',
    seenBy: above,
    edits: [inResult('output && `${output}\\n(${spent.steps} steps)`')],
  },
  {
    name: 'the duration of the child’s work, in its answer',
    seenBy: above,
    edits: [inResult('output && `${output}\\n(${spent.ms} ms)`')],
  },
  {
    name: 'the names of the child’s files, in its answer',
    seenBy: above,
    edits: [
      {
        probe: 'child-outcome',
        put: `const ended = $(argument);
  const files = (await cell.workspace.list()).map(({ path }) => path).join();
  return { ...ended, output: ended.output && ended.output + files };`,
      },
    ],
  },
  {
    name: 'which providers do not answer, from one cell to all others',
    seenBy: above,
    edits: [
      { probe: 'circuit-opened', put: '((globalThis as any).planted = $(whole))' },
      { probe: 'circuits-of-cell', put: '((globalThis as any).planted ?? circuits)' },
    ],
  },
  {
    name: 'what a child wrote around its JSON value',
    seenBy: above,
    edits: [{ probe: 'json-answer-value', put: 'if ($(test)) return { json: text };' }],
  },
  {
    name: 'the text of a child whose JSON does not fit',
    seenBy: above,
    edits: [{ probe: 'json-latest-text', put: 'true' }],
  },
];
