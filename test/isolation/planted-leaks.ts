// Leaks to plant in the production code: each a small change that a hurried change could make. The two-run comparison must
// catch every one.
import type { Edit } from '../planted/plant.ts';

export type Leak = {
  readonly name: string;
  /** Whose observations must differ. */
  readonly seenBy: 'child' | 'parent or sibling';
  readonly edits: readonly Edit[];
};

const agentTool = 'src/core/orchestration/agent-tool.ts';
const rootRun = 'src/core/orchestration/root-run.ts';
const plainTool = 'src/core/session/plain-tool.ts';
const cell = 'src/core/cells/cell.ts';
const crossResult = 'src/core/cells/cross-result.ts';
const envelope = 'src/core/cells/envelope.ts';
const localContext = 'src/core/cells/local-context.ts';
const localRun = 'src/core/cells/local-run.ts';
const modelStep = 'src/core/session/model-step.ts';
const stepRunner = 'src/core/cells/step-runner.ts';
const segment = 'src/core/memory/segment.ts';
const window = 'src/core/memory/window.ts';
const children = 'src/core/rules/children.ts';
const dialog = 'src/core/rules/dialog.ts';
const memoryWorkspaces = 'src/adapters/workspaces/memory.ts';

const child = 'child';
const above = 'parent or sibling';

/** Adds text to the goal, where the parent's whole cell is at hand. */
const inGoal = (expression: string): Edit => ({
  file: agentTool,
  find: 'content: goal,',
  put: `content: goal + (${expression}),`,
});

/** Runs code in the parent's session just before its child begins. */
const beforeChild = (code: string): Edit => ({
  file: agentTool,
  find: 'const door = { grants, ledger: home.host.ledger, at: home.now };',
  put: `${code}\n  const door = { grants, ledger: home.host.ledger, at: home.now };`,
});

/** Adds fields to a model request, over those that are there. */
const inRequest = (fields: string): readonly Edit[] => [
  {
    file: modelStep,
    find: 'this.#request = null;',
    put: `this.#request = null;
    const { cell } = this.#session;
    const { home } = cell;
    const model = this.#model;
    void [home, model];`,
  },
  { file: modelStep, find: 'abortSignal: world.signal,', put: `${fields},\n      abortSignal: world.signal,` },
];

/** Leaves the parent's balance where its child's code can find it. */
const leaveBalance = beforeChild(
  `const { tokens = Infinity } = home.account.caps;
  (globalThis as any).planted = tokens - home.account.spent(0).inputTokens;`,
);

export const leaks: readonly Leak[] = [
  {
    name: 'a hash of the parent’s history, in the goal',
    seenBy: child,
    edits: [inGoal(`'\\n#' + process.getBuiltinModule('node:crypto').hash('sha256', JSON.stringify(home.view?.view))`)],
  },
  {
    name: 'base64 of the parent’s newest message, in the system prompt',
    seenBy: child,
    edits: [
      beforeChild(
        `(globalThis as any).planted = Buffer.from(JSON.stringify(home.view?.view.at(-1))).toString('base64');`,
      ),
      {
        file: segment,
        find: 'value: definition.prompt }',
        put: `value: definition.prompt + ((globalThis as any).planted ?? '') }`,
      },
    ],
  },
  {
    name: 'what is left of the budget, as maxOutputTokens',
    seenBy: child,
    edits: [
      leaveBalance,
      ...inRequest(
        'maxOutputTokens: Math.min(outputTokensMax(limits, model), Math.ceil(((globalThis as any).planted ?? Infinity) / 200))',
      ),
    ],
  },
  {
    name: 'what is left of the budget, as the size of the window',
    seenBy: child,
    edits: [
      leaveBalance,
      {
        file: 'src/core/session/window-limit.ts',
        find: 'return limit ?? unknown;',
        put: `const left = Math.ceil(((globalThis as any).planted ?? Infinity) / 400);
  return { tokens: Math.min((limit ?? unknown).tokens, left), by: 'given' };`,
      },
    ],
  },
  {
    name: 'a child id that is a counter, in idempotency keys',
    seenBy: child,
    edits: [
      {
        file: localContext,
        find: '`${agent}-${this.host.ports.ids.random()}`',
        put: '`${agent}-${((this.host as any).planted = ((this.host as any).planted ?? 0) + 1)}`',
      },
    ],
  },
  {
    name: 'the order of tools, by how many the parent has',
    seenBy: child,
    edits: [
      beforeChild('(globalThis as any).planted = cell.agent.definition.tools.length % 2;'),
      {
        file: window,
        find: 'this.#view = [...segments];\n    this.#prompt = [...prompt];\n    this.#tools = tools;',
        put: `const turned = cell.home.depth > 0 && (globalThis as any).planted === 1;
    this.#view = [...segments];
    this.#prompt = [...prompt];
    this.#tools = turned ? tools.toReversed() : tools;`,
      },
    ],
  },
  {
    name: 'a note that the parent’s output was cut',
    seenBy: child,
    edits: [inGoal(`cell.output('burst_001.txt') === undefined ? '' : '\\n[Earlier output was cut.]'`)],
  },
  {
    name: 'a value of the environment',
    seenBy: child,
    edits: [
      {
        file: dialog,
        find: 'Your task: ${text(source)}',
        put: `Your task: \${text(source)}\${process.env['CLOISTER_TWO_RUN_SECRET'] ?? ''}`,
      },
    ],
  },
  {
    name: 'the provider’s own words, in the result',
    seenBy: above,
    edits: [{ file: envelope, find: '  output,\n', put: `  output: output + (failure?.detail ?? ''),\n` }],
  },
  {
    name: 'the last error of another cell, in an error text',
    seenBy: child,
    edits: [
      {
        file: dialog,
        find: 'export const failureText = (failure: Failure): string => {',
        put: `export const failureText = (failure: Failure): string => {
  const last = (globalThis as any).planted ?? '';
  (globalThis as any).planted = failure.detail;`,
      },
      { file: dialog, find: 'return `Error (${kind}): ${summary}', put: 'return `Error (${kind}): ${last}${summary}' },
    ],
  },
  { name: 'a timestamp', seenBy: child, edits: [inGoal('`\\nAsked at ${home.now}.`')] },
  {
    name: 'the parent’s folder, as the child’s',
    seenBy: child,
    edits: [
      {
        file: cell,
        find: 'this.#workspaces.open(this.#run, this.home.cellId)',
        put: 'this.#workspaces.open(this.#run, this.parent ?? this.home.cellId)',
      },
    ],
  },
  {
    name: 'one folder for all cells of a run',
    seenBy: child,
    edits: [{ file: memoryWorkspaces, find: 'const key = `${run}/${cell}`;', put: 'const key = String(run);' }],
  },
  {
    name: 'a file’s name, in the goal',
    seenBy: child,
    edits: [
      inGoal(`((files) => files === undefined ? '' : '\\nSee ' + [...files.keys()].join())((cell as any).planted)`),
      {
        file: cell,
        find: 'files.set(path, bytes);',
        put: 'files.set(path, bytes);\n    (this as any).planted = files;',
      },
    ],
  },
  {
    name: 'that an equal output is stored already',
    seenBy: child,
    edits: [
      {
        file: plainTool,
        find: 'return toolValue(world.redact(text), {',
        put: `const kept: Set<string> = ((cell.home.host as any).planted ??= new Set());
          const again = kept.has(text);
          kept.add(text);
          return toolValue(again ? '(stored once) ' + text : text, {`,
      },
    ],
  },
  {
    name: 'how many agents were started before',
    seenBy: child,
    edits: [inGoal('` (${home.account.spent(0).spawns})`')],
  },
  {
    name: 'steps counted across cells, so that a limit comes early',
    seenBy: child,
    edits: [
      {
        file: cell,
        find: 'return ++this.#steps;',
        put: 'return ((this.home.host as any).planted = this.steps + 1);',
      },
      { file: cell, find: 'return this.#steps;', put: 'return (this.home.host as any).planted ?? this.#steps;' },
    ],
  },
  {
    name: 'outputs numbered across cells',
    seenBy: child,
    edits: [
      {
        file: cell,
        find: 'const nth = (this.#outputsOf?.get(tool) ?? 0) + 1;',
        put: 'const nth: number = ((this.home.host as any).planted = ((this.home.host as any).planted ?? 0) + 1);',
      },
    ],
  },
  {
    name: 'the settings of whoever asked first',
    seenBy: child,
    edits: [...inRequest('...((home.host as any).planted ??= cell.agent.settings)')],
  },
  {
    name: 'the number of the log’s newest frame, in a result’s heading',
    seenBy: child,
    edits: [
      {
        file: localRun,
        find: 'this.ports.log.append(frame);',
        put: 'this.ports.log.append(frame);\n    (globalThis as any).planted = frame.no;',
      },
      {
        file: crossResult,
        find: '...envelopeOf(outcome),',
        put: '...envelopeOf(outcome), no: (globalThis as any).planted,',
      },
      {
        file: children,
        find: '(status: ${envelope.status})',
        put: '(status: ${envelope.status}, entry ${(envelope as any).no})',
      },
    ],
  },
  {
    name: 'the parent’s id, in a header',
    seenBy: child,
    edits: [...inRequest(`...(cell.parent === null ? {} : { headers: { 'x-parent': cell.parent } })`)],
  },
  {
    name: 'idempotency keys numbered across cells',
    seenBy: child,
    edits: [
      {
        file: stepRunner,
        find: 'this.#owner.keyOf(this.#started.no);',
        put: 'this.#owner.keyOf(((this.#ports as any).planted = ((this.#ports as any).planted ?? 0) + 1));',
      },
    ],
  },
  {
    name: 'what the same agent was asked before',
    seenBy: child,
    edits: [
      inGoal(`((asked: Map<Agent, string>) => {
      const last = asked.get(agent);
      asked.set(agent, goal);
      return last === undefined ? '' : '\\nBefore: ' + last;
    })((home.host as any).planted ??= new Map())`),
    ],
  },
  {
    name: 'the reason that is meant for the log',
    seenBy: child,
    edits: [
      {
        file: agentTool,
        find: 'const born = bear(agent, goal, session.cell);',
        put: `const born = bear(agent, goal + (typeof asked.reason === 'string' ? '\\nBecause ' + asked.reason : ''), session.cell);`,
      },
    ],
  },
  { name: 'who is above', seenBy: child, edits: [inGoal(`' for ' + cell.ancestry.join('/')`)] },
  {
    name: 'the parent’s own instructions, as a share that nobody granted',
    seenBy: child,
    edits: [inGoal(`'\\n' + cell.agent.prompt`)],
  },
  {
    name: 'how many steps the child took, in its answer',
    seenBy: above,
    edits: [
      {
        file: envelope,
        find: '({ status, output, failure, missing }',
        put: '({ status, output, failure, missing, spent }',
      },
      { file: envelope, find: '  output,\n', put: '  output: output && `${output}\\n(${spent.steps} steps)`,\n' },
    ],
  },
  {
    name: 'how long the child took, in its answer',
    seenBy: above,
    edits: [
      {
        file: envelope,
        find: '({ status, output, failure, missing }',
        put: '({ status, output, failure, missing, spent }',
      },
      { file: envelope, find: '  output,\n', put: '  output: output && `${output}\\n(${spent.ms} ms)`,\n' },
    ],
  },
  {
    name: 'the names of the child’s files, in its answer',
    seenBy: above,
    edits: [
      {
        file: rootRun,
        find: 'const outcome = await (agent.team === null',
        put: 'const ended = await (agent.team === null',
      },
      {
        file: rootRun,
        find: '  await home.drained();\n  return spentBy(outcome, home);',
        put: `  await home.drained();
  const files = (await cell.workspace.list()).map(({ path }) => path).join();
  const outcome = { ...ended, output: ended.output && ended.output + files };
  return spentBy(outcome, home);`,
      },
    ],
  },
];
