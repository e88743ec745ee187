// With `npm test` some of the plants are tried. Here each of them is applied: its probe points are there, what it makes is code,
// and the names that it uses are names of the source, so that a rename that forgot a plant is noticed at once.
import { expect, test } from 'vitest';
import { allPlants as all } from './all-plants.ts';
import { applyEdits, replacement } from './apply-edits.ts';
import { parseSource, pointsIn, probePoint, probePoints, walk } from './probes.ts';
import { unknownNames } from './unknown-names.ts';

test('every plant finds its probe points, and what it makes of the source is code', () => {
  expect(all.length).toBeGreaterThan(150);
  for (const { name, edits } of all) {
    for (const [file, text] of applyEdits(edits)) {
      expect(() => parseSource(file, text), name).not.toThrow();
      expect(text, name).not.toBe(probePoint(edits[0]!.probe).text);
    }
  }
});

test('every probe point is used by a plant', () => {
  const used = new Set(['utf8-bytes', ...all.flatMap(({ edits }) => edits.map(({ probe }) => probe))]);
  expect([...probePoints().keys()].filter((name) => !used.has(name))).toEqual([]);
});

test('every name that a plant uses is a name of the source', () => {
  const unknown = all.flatMap(({ name, edits }) => unknownNames(edits).map((word) => `${name}: ${word}`));
  expect(unknown).toEqual([]);
});

test('a name that the source no longer has is found', () => {
  const [point] = probePoints().values();
  expect(unknownNames([{ probe: point!.name, put: 'renamedMeanwhile(); this.renamedMember;' }])).toEqual([
    'renamedMeanwhile',
    'renamedMember',
  ]);
});

test('a variable that only a comment names is found', () => {
  expect(unknownNames([{ probe: 'page-written', put: 'page;' }])).toEqual(['page']);
});

const file = 'some.ts';
const kindAfter = (text: string): string => pointsIn(file, text)[0]!.node.type;

test.each([
  ['// probe: one\nif (a) b();', 'IfStatement'],
  ['// probe: one\n// Why it is so.\na = b;', 'ExpressionStatement'],
  ['const a = { // probe: one\n b: c };', 'Property'],
  ['class A {\n  // probe: one\n  b(): void {}\n}', 'MethodDefinition'],
  ['const a = /* probe: one */ b && c;', 'LogicalExpression'],
  ['const a = `é${/* probe: one */ b}`;', 'Identifier'],
])('a probe point names the largest node that starts after it: %s', (text, kind) => {
  expect(kindAfter(text)).toBe(kind);
});

test('a probe point that nothing starts after is an error', () => {
  expect(() => pointsIn(file, 'f(a\n  // probe: one\n);')).toThrow(
    'Nothing that could be changed starts after the probe point "one"',
  );
});

test('an edit names parts of what was there by their fields', () => {
  const [point] = pointsIn(file, "const a = 'é';\n// probe: one\nif (a.b && c(d)) e();");
  expect(replacement(point!, 'if ($(test.right.arguments.0)) $(consequent)')).toBe('if (d) e();');
  expect(replacement(point!, '$(whole) `${f}`')).toBe('if (a.b && c(d)) e(); `${f}`');
  expect(() => replacement(point!, '$(test.alternate)')).toThrow(
    '"one" in some.ts: A IfStatement has no part "test.alternate".',
  );
});

test('all nodes are walked, parents first', () => {
  expect([...walk(parseSource(file, 'a = b;'))].map(({ type }) => type)).toEqual([
    'Program',
    'ExpressionStatement',
    'AssignmentExpression',
    'Identifier',
    'Identifier',
  ]);
});
