// Leaks to plant where agents are files: in what is read, looked up and made for a session, and in what is redacted.
import type { Edit } from '../planted/plant.ts';
import type { CellName } from './agent-folder.ts';
import type { Kind, Shape } from './files-vary.ts';

/** A comparison of so many groups of runs, or the run in which everybody says the secrets. */
export type FileCheck =
  | {
      readonly kind: Kind;
      readonly groups: number;
      readonly runs: number;
      readonly seed: number;
      readonly shape?: Partial<Shape>;
    }
  | { readonly kind: 'redaction' };

export type FileLeak = {
  readonly name: string;
  readonly check: FileCheck;
  /** Where it must be seen. */
  readonly seenIn: RegExp;
  readonly edits: readonly Edit[];
};

const equipping = 'src/app/agents/equipping.ts';
const buildAgents = 'src/app/agents/build-agents.ts';
const configs = 'src/app/agents/configs.ts';
const prepareServer = 'src/app/agents/prepare-server.ts';
const guardedProcess = 'src/adapters/mcp/guarded-process.ts';
const agentTool = 'src/core/orchestration/agent-tool.ts';
const rootRun = 'src/core/orchestration/root-run.ts';
const runAgent = 'src/core/orchestration/run-agent.ts';
const session = 'src/core/session/session.ts';
const plainTool = 'src/core/session/plain-tool.ts';
const stepRunner = 'src/core/cells/step-runner.ts';
const redact = 'src/core/registry/redact.ts';
const redactForms = 'src/core/registry/redact-forms.ts';

const seed = 20_262;
/** `varied`: the cell whose privacy is at stake. */
const comparing = (kind: Kind, varied: CellName, shape: Partial<Shape> = {}): FileCheck => ({
  kind,
  shape: { varied, ...shape },
  groups: 12,
  runs: 3,
  seed,
});
const redaction: FileCheck = { kind: 'redaction' };

export const untouchedChecks: readonly FileCheck[] = [
  { kind: 'module', groups: 4, runs: 3, seed },
  { kind: 'web', groups: 1, runs: 3, seed },
  { kind: 'box', groups: 1, runs: 2, seed },
  redaction,
];

export const fileLeaks: readonly FileLeak[] = [
  {
    name: 'the parent’s variables, in its child’s provider',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [
      {
        file: equipping,
        find: 'overlay,\n            caching,',
        put: 'overlay: { ...overlay, ...((this as any).planted ??= overlay) },\n            caching,',
      },
    ],
  },
  {
    name: 'the parent’s variables, in its child’s server',
    check: comparing('web', 'lead'),
    seenIn: /^(?:left|right).* server: /u,
    edits: [
      {
        file: equipping,
        find: '{ placed, overlay, env: this.#place.env, looking }',
        put: '{ placed, overlay: { ...overlay, ...((this as any).planted ??= overlay) }, env: this.#place.env, looking }',
      },
    ],
  },
  {
    name: 'the environment of the process, in a server’s',
    check: comparing('box', 'left'),
    seenIn: /^lead (?:process|model): /u,
    edits: [
      {
        file: guardedProcess,
        find: 'env: { ...env },\n    detached',
        put: 'env: { ...process.env, ...env },\n    detached',
      },
    ],
  },
  {
    name: 'one connection for all sessions of an agent',
    check: comparing('box', 'lead'),
    seenIn: /^left (?:process|model): /u,
    edits: [
      {
        file: prepareServer,
        find: 'return () => mcpSource(filled);',
        put: `const shared = mcpSource(filled);
  let listed: ReturnType<ToolSource['list']> | undefined;
  return () => ({ name, list: (context) => (listed ??= shared.list(context).then(({ tools }) => ({ tools }))) });`,
      },
    ],
  },
  {
    name: 'equipment by the name of the agent, whichever folder it is in',
    check: comparing('module', 'right/deep'),
    seenIn: / model: /u,
    edits: [{ file: equipping, find: 'JSON.stringify([file, caching,', put: 'JSON.stringify([agent.name, caching,' }],
  },
  {
    name: 'the config beside the first file, for all of them',
    check: comparing('module', 'left'),
    seenIn: /^lead model: /u,
    edits: [
      {
        file: configs,
        find: 'return this.#known.get(this.#folderOf(file)) ??',
        put: 'return [...this.#known.values()][1] ??',
      },
    ],
  },
  {
    name: 'the defaults beside the first file, for all of them',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [
      {
        file: buildAgents,
        find: '{ ...groundOf(path), problems }',
        put: '{ ...groundOf([...linked.keys()][0]!), problems }',
      },
    ],
  },
  {
    name: 'included text from the folder of another agent',
    check: comparing('module', 'left/deep'),
    seenIn: / model: /u,
    edits: [
      {
        file: buildAgents,
        find: 'includeFiles(file.prompt, path)',
        put: 'includeFiles(file.prompt, ((problems as any).planted ??= path))',
      },
    ],
  },
  {
    name: 'the listed tools of the parent, offered to its child',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [
      {
        file: session,
        find: 'new OpenSource(use)',
        put: 'new OpenSource(((cell.home.host as any)[`planted ${use.source.name}`] ??= use))',
      },
    ],
  },
  {
    name: 'the model of the parent, for its child',
    check: comparing('module', 'left'),
    seenIn: /^lead model: /u,
    edits: [
      {
        file: rootRun,
        find: 'return { ...world.equip(agent), ...amendedModels',
        put: 'const { models: own, sources } = world.equip(agent);\n    const models = ((world as any).planted ??= own);\n    return { models, sources, ...amendedModels',
      },
    ],
  },
  {
    name: 'the reason that is meant for the log, in a JSON goal',
    check: comparing('module', 'lead', { leftInput: 'json', viaGather: false }),
    seenIn: /^left model: /u,
    edits: [
      {
        file: agentTool,
        find: 'return { goal: JSON.stringify(input), reason: why };',
        put: 'return { goal: JSON.stringify({ ...input, reason: why }), reason: why };',
      },
      { file: agentTool, find: 'return validate(input.schema, JSON.parse(goal) as Json);', put: 'return [];' },
    ],
  },
  {
    name: 'secrets, because nothing is redacted',
    check: redaction,
    seenIn: /^closed: cloister\.db$/u,
    edits: [
      { file: redact, find: 'if (patterns.length === 0) return null;', put: 'if (patterns.length >= 0) return null;' },
    ],
  },
  {
    name: 'secrets in live pieces',
    check: redaction,
    seenIn: /^lead: live pieces of child text-delta$/u,
    edits: [
      { file: stepRunner, find: 'if (redact) (this.#live ??=', put: 'if (redact === undefined) (this.#live ??=' },
    ],
  },
  {
    name: 'secrets in live pieces, where they are cut in two',
    check: redaction,
    seenIn: /^lead: live pieces of lead text-delta$/u,
    edits: [
      {
        file: 'src/core/cells/redacted-live.ts',
        find: 'stream.push(event.text)',
        put: 'this.#redact.text(event.text)',
      },
    ],
  },
  {
    name: 'secrets in what a step returns',
    check: redaction,
    seenIn: /^explain lead$/u,
    edits: [{ file: stepRunner, find: 'value: redact ? redact.json(value) : value', put: 'value' }],
  },
  {
    name: 'secrets in the words of a failure',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/history\/step_014\.json$/u,
    edits: [
      { file: stepRunner, find: 'ok: false, failure: said });', put: 'ok: false, failure: (void said, failure) });' },
    ],
  },
  {
    name: 'secrets in long outputs',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/outputs\/kit__long_001\.txt$/u,
    edits: [
      { file: plainTool, find: 'toolValue(world.redact(text),', put: 'toolValue(text,' },
      { file: stepRunner, find: 'this.#ports.redact?.bytes(bytes) ?? bytes', put: 'bytes' },
    ],
  },
  {
    name: 'secrets in the goal of a run',
    check: redaction,
    seenIn: /^runs$/u,
    edits: [{ file: runAgent, find: 'world.redact?.text(goal) ?? goal', put: 'goal' }],
  },
  {
    name: 'secrets in the middle of what is encoded',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/history\/step_005\.json$/u,
    edits: [{ file: redactForms, find: '[0, 1, 2].flatMap((before)', put: '[0].flatMap((before)' }],
  },
];
