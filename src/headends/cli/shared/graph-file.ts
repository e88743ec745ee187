// Writes the task graph of a team to a file: SVG, or Mermaid, plain or in Markdown.
//
//   graph-file-writable-first. A path that is not writable is reported before anything runs.
//   graph-file-own-only. An existing file is replaced only if an earlier run wrote it.
import type { DrawableTask } from '#contracts';
import type { CliFiles, CliTasks } from './cli-world.ts';
import { UsageError } from './errors.ts';
import { refuseUnwritable } from './given-file.ts';

export type GraphFile = {
  readonly path: string;
  write(tasks: readonly DrawableTask[]): Promise<void>;
};

type Form = { readonly drawn: 'svg' | 'mermaid'; readonly fenced?: true; wasWrittenByUs(text: string): boolean };

const forms: Readonly<Record<string, Form>> = {
  svg: { drawn: 'svg', wasWrittenByUs: (text) => /^<svg [^>]*class="task-graph"/u.test(text.slice(0, 500)) },
  mmd: { drawn: 'mermaid', wasWrittenByUs: (text) => text.startsWith('flowchart ') },
  md: { drawn: 'mermaid', fenced: true, wasWrittenByUs: (text) => text.startsWith('```mermaid\nflowchart ') },
};

/** Null: no graph was requested. */
export const openGraphFile = async (
  path: string | null,
  { files, tasks: drawings }: { readonly files: CliFiles; readonly tasks: Pick<CliTasks, 'draw'> },
): Promise<GraphFile | null> => {
  if (path === null) return null;
  const form = forms[/\.([a-z]+)$/iu.exec(path)?.[1]?.toLowerCase() ?? ''];
  if (form === undefined)
    throw new UsageError(`cannot write a graph to ${path}`, 'use a file name that ends in .svg, .mmd or .md');
  await checkOutputWritable(path, files, {
    option: '--graph',
    wasWrittenByUs: (text) => form.wasWrittenByUs(text),
    what: 'graph',
  });
  return {
    path,
    write: async (tasks) => {
      const drawn = await drawings.draw(form.drawn, tasks);
      await files.writeText(path, form.fenced === true ? `\`\`\`mermaid\n${drawn.trimEnd()}\n\`\`\`\n` : drawn);
    },
  };
};

type OutputCheck = {
  readonly option: string;
  readonly what: string;
  readonly wasWrittenByUs: (text: string) => boolean;
};

export const checkOutputWritable = async (
  path: string,
  files: CliFiles,
  { option, what, wasWrittenByUs }: OutputCheck,
): Promise<void> => {
  await refuseUnwritable(path, files, `check the path of ${option}`);
  const there = await readIfExists(path, files);
  if (there !== null && there !== '' && !wasWrittenByUs(there))
    throw new UsageError(
      `${path} already exists and is not a ${what} written by cloister`,
      `choose another file for ${option}`,
    );
};

/** Null: the file cannot be read. */
export const readIfExists = async (path: string, files: CliFiles): Promise<string | null> => {
  try {
    return await files.readText(path);
  } catch {
    return null;
  }
};
