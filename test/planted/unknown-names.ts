// Names in planted code that the source does not have: a symbol was renamed, and the plant was not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits } from './apply-edits.ts';
import type { Edit } from './apply-edits.ts';
import { root } from './folders.ts';
import { parseSource, probePoint, sourceFiles, walk } from './probes.ts';
import type { ProbePoint, SyntaxNode } from './probes.ts';

/** A variable must be one of the file, of the plant itself or of the language; a member must be one of some file. */
export const unknownNames = (edits: readonly Edit[]): readonly string[] =>
  [...applyEdits(edits)].flatMap(([file, text]) => {
    const before = variablesIn(edits.map(({ probe }) => probePoint(probe)).find((point) => point.file === file)!);
    const nodes = [...walk(parseSource(file, text))];
    const declared = new Set(nodes.flatMap(declaredBy));
    const members = new Set(nodes.flatMap(memberOf));
    const isUnknown = (node: Identifier): boolean =>
      members.has(node)
        ? !allWords().has(node.name) && !(node.name in Array.prototype)
        : !before.has(node.name) && !declared.has(node.name) && !(node.name in globalThis) && node.name !== 'const';
    return [
      ...new Set(
        nodes
          .filter(isIdentifier)
          .filter(isUnknown)
          .map(({ name }) => name),
      ),
    ];
  });

const known = new Map<string, ReadonlySet<string>>();

/** Words in comments are no variables. */
const variablesIn = ({ file, text }: ProbePoint): ReadonlySet<string> => {
  const found = known.get(file);
  if (found !== undefined) return found;
  const nodes = [...walk(parseSource(file, text))];
  const members = new Set(nodes.flatMap(memberOf));
  const names = nodes.filter(isIdentifier).flatMap((node) => (members.has(node) ? [] : [node.name]));
  known.set(file, new Set(names));
  return known.get(file)!;
};

/** Where plants leave something for each other. */
const own = ['planted'];

type Identifier = SyntaxNode & { readonly name: string };
const isIdentifier = (node: SyntaxNode): node is Identifier => /^(?:Private)?Identifier$/u.test(node.type);

/** What stands behind a dot, or before a colon. */
const memberOf = (node: SyntaxNode): readonly SyntaxNode[] => {
  const { property, key, computed } = node as {
    property?: SyntaxNode;
    key?: SyntaxNode;
    computed?: boolean;
  } & SyntaxNode;
  return computed === true ? [] : [property, key].filter((one) => one !== undefined);
};

/** Variables, parameters and functions. */
const declaredBy = (node: SyntaxNode): readonly string[] => {
  const { id, params = [] } = node as { id?: SyntaxNode | null; params?: readonly SyntaxNode[] } & SyntaxNode;
  return [...(id ? [id] : []), ...params].flatMap((pattern) =>
    [...walk(pattern)].filter(isIdentifier).map(({ name }) => name),
  );
};

const wordsOf = (text: string): ReadonlySet<string> => new Set([...own, ...(text.match(/[A-Za-z_$][\w$]*/gu) ?? [])]);

let words: ReadonlySet<string> | undefined;
const allWords = (): ReadonlySet<string> =>
  (words ??= wordsOf(
    sourceFiles()
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n'),
  ));
