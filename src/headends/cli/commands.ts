// All commands, in the order of the help. A file is loaded only if its command was given, or for the help of all.
import type { CliCommand } from './shared/define-command.ts';

type LoadCommand = () => Promise<{ readonly default: CliCommand }>;

const commands = {
  run: () => import('./run.ts'),
  team: () => import('./team.ts'),
  chat: () => import('./chat.ts'),
  conversations: () => import('./conversations.ts'),
  checkpoints: () => import('./checkpoints.ts'),
  demo: () => import('./demo.ts'),
  init: () => import('./init.ts'),
  import: () => import('./import.ts'),
  check: () => import('./check.ts'),
  agents: () => import('./agents.ts'),
  runs: () => import('./runs.ts'),
  show: () => import('./show.ts'),
  questions: () => import('./questions.ts'),
  answer: () => import('./answer.ts'),
  'dead-letters': () => import('./dead-letters.ts'),
  explain: () => import('./explain.ts'),
  migrate: () => import('./migrate.ts'),
  store: () => import('./store.ts'),
  rebuild: () => import('./rebuild.ts'),
  audit: () => import('./audit.ts'),
  seal: () => import('./seal.ts'),
  resume: () => import('./resume.ts'),
  replay: () => import('./replay.ts'),
  fork: () => import('./fork.ts'),
  diff: () => import('./diff.ts'),
  verify: () => import('./verify.ts'),
  studio: () => import('./studio.ts'),
  serve: () => import('./serve.ts'),
  worker: () => import('./worker.ts'),
  engine: () => import('./engine.ts'),
  slack: () => import('./slack.ts'),
  token: () => import('./token.ts'),
  key: () => import('./key.ts'),
} as const satisfies Readonly<Record<string, LoadCommand>>;

/** Former names of commands: still accepted, but not in the help. */
const formerNames: Readonly<Record<string, keyof typeof commands>> = { deadletters: 'dead-letters' };

/** Null: the command was not given, so its file was not loaded. */
export type LoadedCommand = { readonly name: string; readonly isFormer: boolean; readonly command: CliCommand | null };

/** `given`: the name of a command. All are loaded if it is none of them: the help or a suggestion then needs every one. */
export const loadCommands = async (given: string | undefined): Promise<readonly LoadedCommand[]> => {
  const all: readonly (readonly [name: string, load: LoadCommand])[] = [
    ...Object.entries(commands),
    ...Object.entries(formerNames).map(([name, now]) => [name, commands[now]] as const),
  ];
  const isKnown = all.some(([name]) => name === given);
  return Promise.all(
    all.map(async ([name, load]) => ({
      name,
      isFormer: Object.hasOwn(formerNames, name),
      command: isKnown && name !== given ? null : (await load()).default,
    })),
  );
};
