// The deep tests plant stores that do not sync by changing one statement. `npm test` says at once if it is no longer there once.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the statement that the power cuts change stands once in the sources of the stores', () => {
  const [, statement = ''] = /^const pragma = '([^']+)';$/mu.exec(readFileSync('deep/power-cuts.ts', 'utf8')) ?? [];
  expect(statement).toContain('synchronous');
  const places = globSync('src/adapters/stores/*.ts').filter((file) => readFileSync(file, 'utf8').includes(statement));
  const times = places.map((file) => readFileSync(file, 'utf8').split(statement).length - 1);
  expect({ places, times }).toEqual({ places: ['src/adapters/stores/database.ts'], times: [1] });
});
