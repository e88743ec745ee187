// `${include:notes/style.md}` in a prompt: the text of a file beside the agent's, put in when it is loaded.
//
//   I1. Only files in the agent's own folder or below it; links that lead out, and hidden files, are refused.
//   I2. What is included is text of the definition: it is filled in once and recorded like the prompt.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';

const placeholder = /\$\{include:([^}\n]{1,300})\}/gu;
const bytesMax = 1_000_000;
const depthMax = 8;

export type Included = { readonly text: string; readonly problems: readonly string[] };

export const includeFiles = (prompt: string, agentFile: string): Included => {
  const problems: string[] = [];
  let bytes = 0;

  const fill = (text: string, from: string, chain: readonly string[]): string =>
    text.replace(placeholder, (written, name: string) => {
      const opened = open(name.trim(), from, chain);
      if (typeof opened === 'string') {
        problems.push(`${written}: ${opened}`);
        return written;
      }
      bytes += opened.text.length;
      return fill(opened.text, opened.path, [...chain, opened.path]);
    });

  const open = (name: string, from: string, chain: readonly string[]): { path: string; text: string } | string => {
    const path = fileIn(dirname(agentFile), resolve(dirname(from), name));
    if (path === null) return 'there is no such file in the folder of the agent.';
    if (chain.includes(path))
      return `it includes itself: ${[...chain.slice(chain.indexOf(path)), path].map((one) => relative(dirname(agentFile), one)).join(' → ')}.`;
    if (chain.length > depthMax) return `includes are nested deeper than ${depthMax}.`;
    if (bytes + statSync(path).size > bytesMax) return `all that is included together has more than ${bytesMax} bytes.`;
    return {
      path,
      text: readFileSync(path, 'utf8')
        .replace(/^\uFEFF/u, '')
        .replace(/\r?\n$/u, ''),
    };
  };

  const text = prompt.includes('${include:') ? fill(prompt, agentFile, [agentFile]) : prompt;
  return { text, problems };
};

/** The real path of a plain, visible file inside the folder; null for anything else. */
const fileIn = (folder: string, path: string): string | null => {
  try {
    const real = realpathSync(path);
    const inside = relative(realpathSync(folder), real);
    const hidden = inside.split(sep).some((part) => part.startsWith('.'));
    return inside === '' || hidden || !statSync(real).isFile() ? null : real;
  } catch {
    return null;
  }
};
