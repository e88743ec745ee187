// Finds the line of a key. Nothing is computed until it is needed.
import type { Node, YAMLMap } from 'yaml';
import type { YamlDocument } from '#contracts';
import { loadYaml } from './load-yaml.ts';

/** Counted from 1. */
export const lineAtOffset = (text: string, offset: number): number => {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
};

/** A key as written; null when it is not plain text. */
export const keyText = (key: unknown): string | null => {
  if (!loadYaml().isScalar(key)) return null;
  if (typeof key.value === 'string') return key.value;
  return key.source === undefined || key.source === '' ? null : key.source;
};

export const lineFinder = (text: string, contents: YAMLMap | null): YamlDocument['line'] => {
  const { isMap, isSeq } = loadYaml();
  let starts: readonly number[] | null = null;
  const indexes = new Map<YAMLMap, ReadonlyMap<string, readonly [Node, unknown]>>();
  const entryOf = (map: YAMLMap, key: string): readonly [Node, unknown] | undefined => {
    let index = indexes.get(map);
    if (index === undefined) {
      index = new Map(map.items.map(({ key: node, value }) => [keyText(node) ?? '', [node as Node, value]]));
      indexes.set(map, index);
    }
    return index.get(key);
  };
  return (path) => {
    let offset = contents?.range?.[0] ?? 0;
    let node: unknown = contents;
    for (const part of path) {
      const [place, below] = isMap(node)
        ? (entryOf(node, String(part)) ?? [])
        : isSeq(node)
          ? [node.items[Number(part)] as Node | undefined, node.items[Number(part)]]
          : [];
      if (place?.range === undefined || place.range === null) break;
      offset = place.range[0];
      node = below;
    }
    starts ??= lineStarts(text);
    return lineForOffset(starts, offset);
  };
};

const lineStarts = (text: string): readonly number[] => {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
};

/** The number of the last line that starts at or before the offset. */
const lineForOffset = (starts: readonly number[], offset: number): number => {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
};
