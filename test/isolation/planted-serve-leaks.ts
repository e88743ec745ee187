// Leaks between the callers of one server: each an edit that lets something of one of them show to another.
import type { Edit } from '../planted/plant.ts';

export type ServeLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, file: string, find: string, put: string, ...more: readonly Edit[]): ServeLeak => ({
  name,
  edits: [{ file, find, put }, ...more],
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
  leak(
    'calls of the tools of clients are known to everybody',
    'src/app/serve/client-tools.ts',
    'if (waiting?.run.caller !== name) throw unknownCall(id);',
    'if (waiting === undefined || name === "") throw unknownCall(id);',
  ),
  leak(
    'runs that wait for results of tools are counted over all callers',
    'src/app/serve/client-tools.ts',
    'run.caller === name && run.waits',
    'name !== "" && run.waits',
  ),
  leak(
    'what runs with tools were told is kept under one key for all callers',
    'src/app/serve/client-tools.ts',
    'this.#told.end(caller.name, id)',
    'this.#told.end("", id)',
    {
      file: 'src/app/serve/client-tools.ts',
      find: 'this.#told.begin(caller.name, id, parts)',
      put: 'this.#told.begin("", id, parts)',
    },
    {
      file: 'src/app/serve/client-tools.ts',
      find: 'this.#told.get(caller, run, nth)',
      put: 'this.#told.get({ ...caller, name: "" }, run, nth)',
    },
  ),
  leak(
    'residents are counted over all callers',
    'src/app/serve/residents.ts',
    'open({ name }: Caller): Resident {',
    'open({ name: { length } }: Caller): Resident {\n    const name = length === 0 ? "" : "all";',
  ),
  leak(
    'a message reaches the resident that was begun last, whosesoever it is',
    'src/app/serve/local-serving.ts',
    'const send = (): string => session.send(text, sending);',
    'const newest = [...this.#live.values()].findLast((one) => one.resident !== undefined);\n    const send = (): string => (newest?.session ?? session).send(text, sending);',
  ),
  leak(
    'a run is found by everybody',
    'src/app/serve/find-run.ts',
    'summary === undefined || summary.caller !== caller.name',
    'summary === undefined || caller.name === ""',
  ),
  leak(
    'a response goes on with what was recalled last, by whomever',
    'src/headends/openai/recall.ts',
    'const said = found.get(run) ?? (await (await serving.find(caller, run)).said());',
    'const own = found.get(run) ?? (await (await serving.find(caller, run)).said());\n    const said = recalled ?? own;\n    recalled = own;',
    {
      file: 'src/headends/openai/recall.ts',
      find: '/** Rejects with `run_unknown`, or',
      put: 'let recalled: readonly Said[] | undefined;\n\n/** Rejects with `run_unknown`, or',
    },
  ),
  leak(
    'a session of MCP takes messages of everybody',
    'src/headends/mcp/sse-routes.ts',
    'session === undefined || session.caller.name !== caller.name',
    'session === undefined || caller.name === ""',
  ),
  leak(
    'streams of MCP are counted over all callers',
    'src/headends/mcp/sse-routes.ts',
    'session.caller.name === caller.name);',
    'caller.name !== "" || session.caller.name === "");',
  ),
];
