// The graph of a team's tasks as a file: SVG, or the language of Mermaid, plain or in Markdown.
//
//   F1. What cannot be written is told before anything runs.
//   F2. Nothing is replaced but what was written by an earlier run.
import type { CliWorld, DrawnGraph } from './cli-world.ts';
import { UsageError } from './usage-error.ts';

export type GraphFile = {
  readonly path: string;
  write(tasks: readonly DrawnGraph[]): Promise<void>;
};

type Form = { readonly drawn: 'svg' | 'mermaid'; readonly fenced?: true; isOurs(text: string): boolean };

const forms: Readonly<Record<string, Form>> = {
  svg: { drawn: 'svg', isOurs: (text) => /^<svg [^>]*class="task-graph"/u.test(text.slice(0, 500)) },
  mmd: { drawn: 'mermaid', isOurs: (text) => text.startsWith('flowchart ') },
  md: { drawn: 'mermaid', fenced: true, isOurs: (text) => text.startsWith('```mermaid\nflowchart ') },
};

/** Null: none was asked for. */
export const openGraphFile = async (path: string | null, world: CliWorld): Promise<GraphFile | null> => {
  if (path === null) return null;
  const form = forms[/\.([a-z]+)$/iu.exec(path)?.[1]?.toLowerCase() ?? ''];
  if (form === undefined)
    throw new UsageError(`a graph cannot be written to ${path}`, 'name a file that ends with .svg, .mmd or .md');
  await checkOutputWritable(path, world, { option: '--graph', isOurs: (text) => form.isOurs(text), what: 'graph' });
  return {
    path,
    write: async (tasks) => {
      const drawn = await world.drawGraph(form.drawn, tasks);
      await world.writeText(path, form.fenced === true ? `\`\`\`mermaid\n${drawn.trimEnd()}\n\`\`\`\n` : drawn);
    },
  };
};

type Writing = {
  readonly option: string;
  readonly what: string;
  readonly isOurs: (text: string) => boolean;
};

export const checkOutputWritable = async (
  path: string,
  world: CliWorld,
  { option, what, isOurs }: Writing,
): Promise<void> => {
  const why = await world.notWritable(path);
  if (why !== null) throw new UsageError(`${path} cannot be written: ${why}`, `check the path of ${option}`);
  const there = await textAt(path, world);
  if (there !== null && there !== '' && !isOurs(there))
    throw new UsageError(`${path} is there already, and is no ${what} of ours`, `name another file for ${option}`);
};

/** Null: it is not there. */
export const textAt = async (path: string, world: CliWorld): Promise<string | null> => {
  try {
    return await world.readText(path);
  } catch {
    return null;
  }
};
