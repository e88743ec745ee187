// Leaks between the callers of one server: each an edit that lets something of one of them show to another.
import type { Edit } from '../planted/plant.ts';

export type ServeLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, ...edits: readonly (readonly [probe: string, put: string])[]): ServeLeak => ({
  name,
  edits: edits.map(([probe, put]) => ({ probe, put })),
});

export const serveLeaks: readonly ServeLeak[] = [
  leak('two callers share conversations of the same name', ['conversation-key', 'return $(argument.expressions.1);']),
  leak('a list of runs includes the runs of all callers', ['run-list-by-caller', 'const $(declarations.0.id) = {};']),
  leak('request ids count the requests of all callers', [
    'request-id',
    `let served = 0;
const $(declarations.0.id) = (options: any) => \`\${($(declarations.0.init))(options)}-\${(served += 1)}\`;`,
  ]),
  leak('the history is the latest one of any caller', [
    'given-value',
    '$(key): $(value.test) ? $(value.consequent) : JSON.parse(lastParsed?.content ?? $(value.alternate.arguments.0))',
  ]),
  leak('a request without a system prompt gets the latest one of any caller', [
    'served-system',
    'system: ((globalThis as any).planted = system ?? (globalThis as any).planted)',
  ]),
  leak('the start time of a response reveals the number of runs', [
    'serve-started-at',
    '$(key): $(value) + this.#live.size * 1_000_000',
  ]),
  leak('calls of client tools are visible to all callers', [
    'client-call-of-caller',
    'const { summary } = await find({ ...caller, watches: { caller: null } } as any, run);',
  ]),
  leak('runs that wait for tool results are counted across callers', ['client-run-waits', '$(right)']),
  leak(
    'the history of runs with client tools has one key for all callers',
    ['told-begin-key', "''"],
    ['told-end-key', "''"],
    ['told-get-caller', "{ ...$(whole), name: '' }"],
  ),
  leak('residents are counted across callers', ['resident-caller', "{ ...$(whole), name: 'all' }"]),
  leak('a message reaches the latest resident of any caller', [
    'letter-send',
    `const newest = [...this.#live.values()].findLast((one) => one.resident !== undefined);
    const to = command.do === 'send' ? newest?.session : undefined;
    const $(declarations.0.id) = ((session) => $(declarations.0.init))(to ?? session);`,
  ]),
  leak('one rate bucket for all callers', ['rate-bucket', "name = '';\n    $(whole)"]),
  leak('allowances are summed over callers', ['allowance-of-caller', "''"]),
  leak('slots on all servers are counted across callers', ['shared-slots-of-caller', "''"]),
  leak('running runs are counted across callers', ['slots-of-caller', 'this.#running < callerMax']),
  leak('every caller can use the agents of all', ['agents-of-caller', 'const agents = this.#names;']),
  leak('a run is found by the first digits of its id, whoever it belongs to', [
    'run-by-id',
    `const $(declarations.0.id) = $(declarations.0.init) ?? [...live.values()].find(({ session }) => session.run.startsWith(run));
  run = $(declarations.0.id)?.session.run ?? run;`,
  ]),
  leak('what residents say unasked to one caller is listed to all', [
    'dialog-messages',
    `const $(declarations.0.id) = new Map<string, RunMessage>((globalThis as any).planted ?? []);
  (globalThis as any).planted = events.flatMap((event) =>
    event.type === 'mail' && event.unasked && event.text !== null
      ? [[event.message, { by: 'agent', text: event.text, message: event.message } as const] as const]
      : [],
  );`,
  ]),
  leak('a transcript is that of the newest run, whoever it belongs to', [
    'transcript-of-run',
    `const [newest] = await archive.runs();
      return archive.transcript(newest?.run ?? run, options);`,
  ]),
  leak('an explanation is that of the newest run, whoever it belongs to', [
    'explained-run',
    `const [newest] = await archive.runs();
      return archive.explain(newest?.run ?? run, cell, options);`,
  ]),
  leak('a run can be compared with the run of any caller', [
    'compared-run',
    'const $(declarations.0.id) = await archive.diff(run, other);',
  ]),
  leak('a fork belongs to the caller that forked first', [
    'fork-belongs-to',
    '((globalThis as any).planted = (globalThis as any).planted ?? $(whole))',
  ]),
  leak('a list of checkpoints includes those of all callers', [
    'checkpoint-list-by-caller',
    'const $(declarations.0.id) = await $(declarations.0.init.argument.callee)();',
  ]),
  leak('the questions of all callers are listed', [
    'question-list',
    'return all.map((question) => this.#view(caller, question));',
  ]),
  leak('a question of another caller can be told from an unknown one', [
    'question-found-by-caller',
    'if ($(test.left)) $(consequent)',
  ]),
  leak('every caller may answer every question', ['answer-right', "return 'answers';"]),
  leak('a token that may only watch can cancel', ['may-act', '']),
  leak('whoever watches a run takes the messages for its caller', [
    'watcher-confirms',
    'const $(declarations.0.id) = (message: string) => session?.confirm(message);',
  ]),
  leak('every caller can find a run', ['run-found-by-caller', 'if ($(test.left)) $(consequent)']),
  leak('a response continues the latest recalled history of any caller', [
    'recalled-said',
    `const own = $(declarations.0.init);
    const $(declarations.0.id) = (globalThis as any).planted ?? own;
    (globalThis as any).planted = own;`,
  ]),
  leak('an MCP session accepts messages of all callers', ['mcp-session-of-caller', 'if ($(test.left)) $(consequent)']),
  leak('the tokens of the server are shown to every caller', ['accounts-operator', '']),
  leak('every caller can export the runs of all', ['storage-of-operators', '']),
  leak(
    'a list of conversations includes those of all callers',
    ['conversations-of-caller', 'const $(declarations.0.id) = all;'],
    [
      'conversation-runs-of-caller',
      'const $(declarations.0.id) = new Set((await cloister.runs()).map(({ run }) => run));',
    ],
  ),
  leak('dead letters are searched in the runs of all callers', [
    'dead-letters-by-caller',
    'const $(declarations.0.id) = await archive.runs();',
  ]),
  leak(
    'a chat of another caller can be stopped',
    [
      'chat-of-caller',
      `return [...this.#runs.values()].map((own) => own.get(keyOf(agent, chat))).find((found) => found !== undefined);`,
    ],
    [
      'chat-run-found',
      `const $(declarations.0.id) =
    run === undefined
      ? null
      : await service.find({ ...call.caller, watches: { caller: null } }, run).catch(nullIfNotHere);`,
    ],
  ),
  leak(
    'a front end can tell a question of another caller from an unknown one',
    [
      'answered-by-front-end',
      'return Promise.all(ids.map((id) => questions.find({ ...caller, watches: { caller: null } }, id)));',
    ],
    ['answered-run-own', ''],
  ),
  leak('mail is that of the newest run, whoever it belongs to', [
    'mail-of-run',
    '$(key): async () => archive.mail((await archive.runs())[0]?.run ?? run)',
  ]),
  leak('who reads a run late is told what is being written in all runs', [
    'late-text',
    `const all: Map<CellId, { agent: string; text: string }> = ((globalThis as any).planted ??= new Map());
    for (const [cell, one] of this.#written) all.set(cell, one);
    for (const [cell, { agent, text }] of all) $(body)`,
  ]),
  leak('lists count the crossings of the run that was read last, whoever it belongs to', [
    'facts-of-run',
    'const $(declarations.0.id) = $(declarations.0.init) ?? [...this.#known.values()].at(-1);',
  ]),
  leak('the health of the server shows its stalls to every caller', ['health-operator', '']),
  leak('MCP streams are counted across callers', [
    'mcp-streams-of-caller',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object);',
  ]),
  leak('errors show which guess is the password of an agent', [
    'redact-without-cell',
    'return this.#agents.all.reduce((safe, one) => this.#redactFor(one, safe), text);',
  ]),
  leak('every agent and every error redacts all passwords', [
    'secrets-for-everyone',
    '$(expression.callee)(collected.flatMap((one) => [...one.own]));',
  ]),
  leak('live text shows how far a word agrees with the key of an agent', [
    'stream-held-back',
    'return this.#handOut(this.#held.length - begun);',
  ]),
  leak('events show the causes of failures to a caller who sees only answers', [
    'event-cause',
    "const { detail = '' } = failure;",
  ]),
  leak('an error shows its causes to a caller who sees only answers', [
    'served-causes',
    '$(key): () => session.causes()',
  ]),
  leak('the cells of a run show the causes of failures to a caller who sees only answers', [
    'cell-cause',
    "$(key): reportOutcome(cell, 'contents')",
  ]),
  leak('failures are told whole to a caller who sees only answers', ['failure-by-sees', 'return failure;']),
];
