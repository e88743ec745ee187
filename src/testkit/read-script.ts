// Reads a script from YAML. `yaml` is loaded on first use, because loading takes 40 ms and most scripts are code.
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import type { Node } from 'yaml';
import type { ScriptPath } from './check-fields.ts';
import { ScriptError, checkScript } from './check-script.ts';
import type { ScriptWithSettings } from './script.ts';

let loaded: typeof Yaml | undefined;

const loadYaml = (): typeof Yaml => (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml);

/** Reads a rehearsal script from YAML. Throws `ScriptError` with the lines of all problems. */
export const readScript = (text: string): ScriptWithSettings => {
  const { isSeq, LineCounter, parseDocument } = loadYaml();
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, logLevel: 'error' });
  if (document.errors.length > 0)
    throw new ScriptError(
      document.errors.map((error) => `line ${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`),
    );
  const { contents } = document;
  return checkScript(document.toJS(), (path) => {
    // A script that is just a list is checked as `lines`.
    const node = findNode(contents, isSeq(contents) ? path.slice(1) : path);
    return node?.range == null ? undefined : lineCounter.linePos(node.range[0]).line;
  });
};

/** Finds the key of the last entry on the path, or the deepest node that exists. */
const findNode = (root: Node | null, path: ScriptPath): Node | null => {
  const { isMap, isScalar, isSeq } = loadYaml();
  let found = root;
  let value: unknown = root;
  for (const step of path) {
    if (isMap(value)) {
      const pair = value.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (pair === undefined) return found;
      found = pair.key as Node;
      value = pair.value;
    } else if (isSeq(value) && typeof step === 'number') {
      value = value.items[step];
      found = (value ?? found) as Node;
    } else return found;
  }
  return found;
};
