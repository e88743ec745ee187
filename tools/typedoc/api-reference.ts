// The API reference: every exported name of both entry points, from the types and their comments, as a folder of HTML.
//   npm run docs:api      writes it to site/api
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Application, IntersectionType, Logger, LogLevel, ReflectionKind, ReflectionType } from 'typedoc';
import type { DeclarationReflection } from 'typedoc';

/** Types that people write, or read first. Each of their members needs a comment too, not only the type. */
const mainTypes: ReadonlySet<string> = new Set(
  `AgentOptions AgentTool Budget Checkpoints Cloister CloisterError CloisterOptions Conversations Failure
   ForkOptions Limits Model Outcome ResidentOptions Retention RunArchive RunOptions RunReport RunSession
   RunStarter RunSummary Server ServerOptions SharedMemory Skill SpawnOptions StallClock Task TaskQueue TaskSpec
   TasksOptions TeamOptions TeamRunOptions TeamSession TokenEntry ToolDefinition ToolOptions ToolSource
   TranscriptOptions TurnOptions
   FakeWorld FaultPlan IsolationOptions Rehearsal RehearsalOptions RequestView ResumableOptions ScriptLine
   ScriptedReply VirtualClock VerifyIsolationOptions When Workflow`.split(/\s+/u),
);

export type ApiReference = {
  /** How many names the entry points export. */
  readonly names: number;
  /** Names without a comment: `cloister: Budget`, or `cloister: Budget.tokens`. */
  readonly undocumented: readonly string[];
  /** Links in comments that lead nowhere, and the like. */
  readonly warnings: readonly string[];
};

/** Reads the types and their comments. With a folder, it also writes the pages there; what else is in the folder stays. */
export const buildApiReference = async (folder?: string): Promise<ApiReference> => {
  const app = await Application.bootstrapWithPlugins({
    options: `${import.meta.dirname}/typedoc.json`,
    logLevel: 'Warn',
    ...(folder === undefined ? {} : { out: resolve(folder) }),
  });
  const warnings: string[] = [];
  app.logger = new CollectingLogger(warnings);
  const project = await app.convert();
  if (project === undefined) throw new Error(`The types cannot be read:\n${warnings.join('\n')}`);
  app.validate(project);
  if (folder !== undefined) await app.generateOutputs(project);
  const entries = project.children ?? [];
  const undocumented = entries.flatMap((entry) =>
    exportsOf(entry).flatMap((one) => undocumentedParts(one).map((part) => `${entry.name}: ${part}`)),
  );
  const names = entries.flatMap(exportsOf).map(({ name }) => name);
  const gone = [...mainTypes].filter((name) => !names.includes(name));
  warnings.push(...gone.map((name) => `${name} is in the list of main types, but it is not exported.`));
  return { names: names.length, undocumented, warnings };
};

class CollectingLogger extends Logger {
  readonly #lines: string[];
  constructor(lines: string[]) {
    super();
    this.#lines = lines;
  }
  override log(message: string, level: LogLevel): void {
    if (level >= LogLevel.Warn) this.#lines.push(message);
  }
}

/** Without the module of types that are not exported, but that exported ones refer to. */
const exportsOf = (entry: DeclarationReflection): readonly DeclarationReflection[] =>
  (entry.children ?? []).filter(({ kind }) => kind !== ReflectionKind.Module && kind !== ReflectionKind.Reference);

const undocumentedParts = (one: DeclarationReflection): readonly string[] => [
  ...(isDocumented(one) ? [] : [one.name]),
  ...(mainTypes.has(one.name) ? membersOf(one) : [])
    .filter((member) => !isDocumented(member))
    .map((member) => `${one.name}.${member.name}`),
];

const isDocumented = (one: DeclarationReflection): boolean =>
  one.hasComment() ||
  [...(one.signatures ?? []), ...(one.getSignature === undefined ? [] : [one.getSignature])].some((signature) =>
    signature.hasComment(),
  );

/** Also those of every part of an intersection. */
const membersOf = ({ children = [], type }: DeclarationReflection): readonly DeclarationReflection[] => {
  const parts = type instanceof IntersectionType ? type.types : type === undefined ? [] : [type];
  const literals = parts.flatMap((part) => (part instanceof ReflectionType ? [part.declaration] : []));
  return [...children, ...literals.flatMap((literal) => literal.children ?? [])].filter(
    ({ kind, flags }) => kind !== ReflectionKind.Constructor && !flags.isInherited,
  );
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = resolve(import.meta.dirname, '../../site/api');
  rmSync(folder, { recursive: true, force: true });
  const { names, undocumented, warnings } = await buildApiReference(folder);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  for (const one of undocumented) process.stderr.write(`No comment: ${one}\n`);
  process.stdout.write(`${names} names: site/api/index.html\n`);
  if (warnings.length + undocumented.length > 0) process.exitCode = 1;
}
