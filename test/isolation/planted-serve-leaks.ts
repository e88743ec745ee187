// Leaks between the callers of one server: each an edit that lets something of one of them show to another.
import type { Edit } from '../planted/plant.ts';

export type ServeLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, file: string, find: string, put: string): ServeLeak => ({
  name,
  edits: [{ file, find, put }],
});

export const serveLeaks: readonly ServeLeak[] = [
  leak(
    'conversations of two callers with one name are one',
    'src/app/serve/conversation-of.ts',
    'return `${caller}/${name}`;',
    'return caller === "" ? caller : name;',
  ),
  leak(
    'a list of runs has those of everybody',
    'src/app/serve/find-run.ts',
    'await cloister.runs({ caller, most });',
    'await cloister.runs({ most });',
  ),
  leak(
    'the ids of requests count those of everybody',
    'src/headends/http/build-app.ts',
    'const requestId = ({ ids }: AppOptions): string => `req_${ids.random()}${ids.random()}`;',
    'let served = 0;\nconst requestId = ({ ids }: AppOptions): string => `req_${ids.random()}-${(served += 1)}`;',
  ),
  leak(
    'what was said before is what was said last, by whomever',
    'src/core/rules/given.ts',
    'newest?.content === content ? newest.value : JSON.parse(content)',
    'newest?.content === content ? newest.value : JSON.parse(newest?.content ?? content)',
  ),
  leak(
    'the time that an answer was begun at tells how many runs there were',
    'src/app/serve/local-serving.ts',
    'const startedAt = clock.now();',
    'const startedAt = clock.now() + this.#live.size * 1_000_000;',
  ),
];
