// `${include:notes/style.md}` in a prompt: replaced by the text of that file when the agent is loaded.
//
//   include-own-folder. Only files in or below the agent's own folder are included; links that lead outside and hidden files
//       are refused.
//   include-part-of-definition. Included text is part of the definition: it is inserted once and recorded like the prompt.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';

const placeholder = /\$\{include:([^}\n]{1,300})\}/gu;
const bytesMax = 1_000_000;
const depthMax = 8;

type IncludeResult = { readonly text: string; readonly problems: readonly string[] };

export const includeFiles = (prompt: string, agentFile: string): IncludeResult => {
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
    const path = resolveInside(dirname(agentFile), resolve(dirname(from), name));
    if (path === null) return "no such file in the agent's folder.";
    if (chain.includes(path))
      return `the file includes itself: ${[...chain.slice(chain.indexOf(path)), path].map((one) => relative(dirname(agentFile), one)).join(' → ')}.`;
    if (chain.length > depthMax) return `includes are nested deeper than ${depthMax}.`;
    if (bytes + statSync(path).size > bytesMax) return `the included files exceed ${bytesMax} bytes in total.`;
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
const resolveInside = (folder: string, path: string): string | null => {
  try {
    const real = realpathSync(path);
    const inside = relative(realpathSync(folder), real);
    const hidden = inside.split(sep).some((part) => part.startsWith('.'));
    return inside === '' || hidden || !statSync(real).isFile() ? null : real;
  } catch {
    return null;
  }
};
