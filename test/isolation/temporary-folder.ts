// A folder that is gone when the test is over, with these files in it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** By path; what is not text is written as JSON. */
export type Files = Readonly<Record<string, string | object>>;

export const temporaryFolder = async (files: Files = {}): Promise<AsyncDisposable & { readonly path: string }> => {
  const path = await mkdtemp(join(tmpdir(), 'cloister-isolation-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return { path, [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true }) };
};

/** An `.ai` file: JSON is YAML. */
export const aiFile = (frontmatter: object, prompt = 'You work.'): string =>
  `---\n${JSON.stringify({ description: 'Works.', usage: 'Ask.', output: { format: 'text' }, ...frontmatter })}\n---\n${prompt}\n`;
