// Leaks to plant where agents are files: in what is read, looked up and made for a session, and in what is redacted.
import type { Edit } from '../planted/plant.ts';
import type { CellName } from './agent-folder.ts';
import type { Kind, Shape } from './files-vary.ts';

/** A comparison of that many groups or pairs of runs, or the run in which every agent says the secrets. */
export type FileCheck =
  | {
      readonly kind: Kind;
      readonly groups: number;
      readonly runs: number;
      readonly seed: number;
      readonly shape?: Partial<Shape>;
    }
  | { readonly kind: 'env'; readonly pairs: number; readonly seed: number }
  | { readonly kind: 'redaction' };

export type FileLeak = {
  readonly name: string;
  readonly check: FileCheck;
  /** Where it must be seen. */
  readonly seenIn: RegExp;
  readonly edits: readonly Edit[];
};

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
/** Runs of the same agents, each with values of its own. */
const env: FileCheck = { kind: 'env', pairs: 8, seed };

export const untouchedChecks: readonly FileCheck[] = [
  { kind: 'module', groups: 4, runs: 3, seed },
  { kind: 'web', groups: 1, runs: 3, seed },
  { kind: 'stdio', groups: 1, runs: 2, seed },
  env,
  redaction,
];

export const fileLeaks: readonly FileLeak[] = [
  {
    name: 'the parent’s variables, in its child’s provider',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'provider-variables', put: '$(key): { ...$(value), ...((this as any).planted ??= $(value)) }' }],
  },
  {
    name: 'the parent’s variables, in its child’s server',
    check: comparing('web', 'lead'),
    seenIn: /^(?:left|right).* server: /u,
    edits: [{ probe: 'server-variables', put: '$(key): { ...$(value), ...((this as any).planted ??= $(value)) }' }],
  },
  {
    name: 'the environment of the process, in that of a server',
    check: comparing('stdio', 'left'),
    seenIn: /^lead (?:process|model): /u,
    edits: [{ probe: 'server-environment', put: '$(key): { ...process.env, ...$(value) }' }],
  },
  {
    name: 'one connection for all sessions of an agent',
    check: comparing('stdio', 'lead'),
    seenIn: /^left (?:process|model): /u,
    edits: [
      {
        probe: 'server-source',
        put: `const shared = $(argument.body);
  let listed: ReturnType<typeof shared.list> | undefined;
  return () => ({ name, list: (context) => (listed ??= shared.list(context).then(({ tools }) => ({ tools }))) });`,
      },
    ],
  },
  {
    name: 'resources by agent name, whichever folder the agent is in',
    check: comparing('module', 'right/deep'),
    seenIn: / model: /u,
    edits: [
      { probe: 'equipment-key', put: 'const $(declarations.0.id) = { ...$(declarations.0.init), file: agent.name };' },
    ],
  },
  {
    name: 'the config of the first file, for all files',
    check: comparing('module', 'left'),
    seenIn: /^lead model: /u,
    edits: [{ probe: 'config-of-file', put: 'return [...this.#byFolder.values()][1] ?? $(argument);' }],
  },
  {
    name: 'the defaults of the first file, for all files',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'defaults-file', put: '[...linked.keys()][0]!' }],
  },
  {
    name: 'included text from the folder of another agent',
    check: comparing('module', 'left/deep'),
    seenIn: / model: /u,
    edits: [{ probe: 'include-base', put: '((problems as any).planted ??= $(whole))' }],
  },
  {
    name: 'skills from the folder of another agent',
    check: comparing('module', 'left/deep'),
    seenIn: / model: /u,
    edits: [{ probe: 'skill-base', put: '((problems as any).planted ??= $(whole))' }],
  },
  {
    name: 'the skills of whichever agent read one before',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [
      {
        probe: 'own-skills',
        put: '((own: any) => { const before = (globalThis as any).planted ?? own; (globalThis as any).planted = own; return before; })($(whole))',
      },
    ],
  },
  {
    name: 'the parent’s listed tools, offered to its child',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'source-use', put: '((ports.world as any)[`planted ${$(whole).source.name}`] ??= $(whole))' }],
  },
  {
    name: 'the model of the parent, for its child',
    check: comparing('module', 'left'),
    seenIn: /^lead model: /u,
    edits: [
      {
        probe: 'session-ports',
        put: 'const ports: SessionPorts = $(argument);\n    return { ...ports, models: ((world as any).planted ??= ports.models) };',
      },
    ],
  },
  {
    name: 'the reason, which is meant for the log, in a JSON goal',
    check: comparing('module', 'lead', { leftInput: 'json', viaGather: false }),
    seenIn: /^left model: /u,
    edits: [
      { probe: 'child-json-goal', put: '{ ...$(whole), reason }' },
      { probe: 'child-json-goal-check', put: 'return [];' },
    ],
  },
  {
    name: 'which of its guesses is another agent’s password, because weak values are redacted everywhere',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'secrets-for-everyone', put: '$(expression.callee)(collected.flatMap((one) => [...one.own]));' }],
  },
  {
    name: 'which of its guesses is its parent’s password, because all cells of a run share a redactor',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'redact-for-cell', put: 'return ((this as any).planted ??= $(argument));' }],
  },
  {
    name: 'which of its guesses is the password of an agent that ran before it',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [
      {
        probe: 'redact-for-agent',
        put: 'if ($(test)) known.set(key, (redact = this.#forSecrets(((this as any).planted ??= []).concat(own()))));\n    (this as any).planted.push(...own());',
      },
    ],
  },
  {
    name: 'which of its guesses is another agent’s password, because words count as random',
    check: comparing('module', 'lead'),
    seenIn: /^(?:left|right).* model: /u,
    edits: [{ probe: 'secret-guessed', put: 'const $(declarations.0.id) = new Set<number>();' }],
  },
  // invariant: env-of-one-run
  {
    name: 'the values that another run was given, in the requests of a run',
    check: env,
    seenIn: /^model of /u,
    edits: [
      {
        probe: 'run-resources',
        put: 'const $(declarations.0.id) = ((this as any).planted ??= $(declarations.0.init));',
      },
    ],
  },
  {
    name: 'the values that another run was given, because runs share what was filled in',
    check: env,
    seenIn: /^model of /u,
    edits: [
      {
        probe: 'run-recipe',
        put: 'const $(declarations.0.id) = Object.keys(this.#env).length === 0 ? $(declarations.0.init) : ((lookedUp as any).planted ??= $(declarations.0.init));',
      },
    ],
  },
  // invariant: redactor-by-own-run
  {
    name: 'which of its guesses is the password of another run, because runs share a redactor',
    check: env,
    seenIn: /^(?:model|written)/u,
    edits: [
      {
        probe: 'run-redactors',
        put: '$(whole)\n    if (base !== undefined) $(expression.left) = base.#redactors;',
      },
    ],
  },
  {
    name: 'secrets, because nothing is redacted',
    check: redaction,
    seenIn: /^closed: cloister\.db$/u,
    edits: [{ probe: 'redact-nothing', put: '$(consequent)' }],
  },
  {
    name: 'secrets in live pieces',
    check: redaction,
    seenIn: /^lead: live pieces of child text-delta$/u,
    edits: [{ probe: 'step-emit', put: '$(alternate)' }],
  },
  {
    name: 'secrets that are split across live pieces',
    check: redaction,
    seenIn: /^lead: live pieces of lead text-delta$/u,
    edits: [{ probe: 'live-piece', put: 'this.#redact.text($(arguments.0))' }],
  },
  {
    name: 'secrets in what a step returns',
    check: redaction,
    seenIn: /^explain lead$/u,
    edits: [{ probe: 'step-json', put: '$(alternate)' }],
  },
  {
    name: 'secrets in the text of a failure',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/history\/step_014\.json$/u,
    edits: [{ probe: 'step-failure', put: 'const $(declarations.0.id) = $(declarations.0.init.consequent);' }],
  },
  {
    name: 'secrets in long outputs',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/outputs\/kit__long_001\.txt$/u,
    edits: [
      { probe: 'tool-text', put: 'text' },
      { probe: 'step-keep', put: 'return $(argument.callee)($(argument.arguments.0.right));' },
    ],
  },
  {
    name: 'secrets in the goal of a run',
    check: redaction,
    seenIn: /^runs$/u,
    edits: [{ probe: 'run-goal', put: '$(right)' }],
  },
  {
    name: 'secrets in the middle of encoded text',
    check: redaction,
    seenIn: /^closed: runs\/…\/lead-…\/history\/step_005\.json$/u,
    edits: [{ probe: 'base64-offsets', put: '[0].flatMap($(arguments.0))' }],
  },
];
