// Leaks between the callers of one server: each an edit that lets something of one of them show to another.
import type { Edit } from '../planted/plant.ts';

export type ServeLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, ...edits: readonly (readonly [probe: string, put: string])[]): ServeLeak => ({
  name,
  edits: edits.map(([probe, put]) => ({ probe, put })),
});

export const serveLeaks: readonly ServeLeak[] = [
  leak('conversations of two callers with one name are one', ['conversation-key', 'return $(argument.expressions.1);']),
  leak('a list of runs has those of everybody', [
    'run-list-by-caller',
    'const $(declarations.0.id) = await $(declarations.0.init.argument.callee)({ most });',
  ]),
  leak('the ids of requests count those of everybody', [
    'request-id',
    `let served = 0;
const $(declarations.0.id) = (options: any) => \`\${($(declarations.0.init))(options)}-\${(served += 1)}\`;`,
  ]),
  leak('what was said before is what was said last, by whomever', [
    'given-value',
    '$(key): $(value.test) ? $(value.consequent) : JSON.parse(newest?.content ?? $(value.alternate.arguments.0))',
  ]),
  leak('the time that an answer was begun at tells how many runs there were', [
    'serve-started-at',
    'const $(declarations.0.id) = $(declarations.0.init) + this.#live.size * 1_000_000;',
  ]),
  leak('calls of the tools of clients are known to everybody', [
    'client-call-of-caller',
    'if ($(test.left) === undefined) $(consequent)',
  ]),
  leak('runs that wait for results of tools are counted over all callers', ['client-run-waits', '$(right)']),
  leak(
    'what runs with tools were told is kept under one key for all callers',
    ['told-begin-key', "''"],
    ['told-end-key', "''"],
    ['told-get-caller', "{ ...$(whole), name: '' }"],
  ),
  leak('residents are counted over all callers', ['resident-caller', "{ ...$(whole), name: 'all' }"]),
  leak('a message reaches the resident that was begun last, whosesoever it is', [
    'letter-send',
    `const newest = [...this.#live.values()].findLast((one) => one.resident !== undefined);
    const $(declarations.0.id) = ((session) => $(declarations.0.init))(newest?.session ?? session);`,
  ]),
  leak('a run is found by everybody', ['run-found-by-caller', 'if ($(test.left)) $(consequent)']),
  leak('a response goes on with what was recalled last, by whomever', [
    'recalled-said',
    `const own = $(declarations.0.init);
    const $(declarations.0.id) = (globalThis as any).planted ?? own;
    (globalThis as any).planted = own;`,
  ]),
  leak('a session of MCP takes messages of everybody', ['mcp-session-of-caller', 'if ($(test.left)) $(consequent)']),
  leak('streams of MCP are counted over all callers', [
    'mcp-streams-of-caller',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object);',
  ]),
];
