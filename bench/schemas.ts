// How long one check of a hostile value against a hostile schema keeps the process busy.
import { schemaProblem, validate } from '#adapters/schemas';
import { hostileCase } from '../test/adapters/schemas/hostile-cases.ts';
import type { Benchmark, Line } from './benchmark.ts';
import { collectGarbage, threadMs } from './measure.ts';

const cases = 10_000;
/** The garbage that a case leaves must not be collected in the time of the next one. */
const casesPerCollection = 50;

export const schemasBenchmark: Benchmark = {
  name: 'schemas',
  about: `${cases} checks of hostile values against hostile schemas`,
  async run() {
    const longest = { preparing: 0, checking: 0, way: '', sum: 0 };
    for (let seed = 0; seed < cases; seed++) {
      const { way, schema, value } = hostileCase(seed);
      if (seed % casesPerCollection === 0) collectGarbage();
      longest.preparing = Math.max(
        longest.preparing,
        await least(async () => void schemaProblem(structuredClone(schema))),
      );
      const ms = await least(async () => void validate(schema, value));
      longest.sum += ms;
      if (ms > longest.checking) Object.assign(longest, { checking: ms, way });
    }
    return [
      line('the longest check', longest.checking, { atMost: 20 }, longest.way),
      line('checks on average', longest.sum / cases, null),
      line('preparing a schema, the longest', longest.preparing, null),
    ];
  },
};

/** Of two times: a pause for garbage or for the compiler counts only if it happens in both. */
const least = async (work: () => Promise<void>): Promise<number> => {
  const first = await threadMs(work);
  return first < 2 ? first : Math.min(first, await threadMs(work));
};

const line = (what: string, ms: number, target: Line['target'], note?: string): Line => ({
  what,
  unit: 'ms',
  raw: null,
  cloister: ms,
  figure: ms,
  figureUnit: 'ms',
  target,
  ...(note === undefined ? {} : { note }),
});
