// Generates docs/PROMPTS.md from the code that writes prompts: `node --conditions=cloister-source tools/prompts-page.ts`.
// A test compares the page with what this file returns.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { encodeMessage, publicFailure } from '../src/base/index.ts';
import type { ErrorCode, Json } from '../src/base/index.ts';
import type { CrossingKind, Envelope, PromptPart, ReplyPart, Task } from '../src/contracts/index.ts';
import { gatherSchema } from '../src/core/orchestration/agent-tool-schema.ts';
import { answerGoal, planGoal } from '../src/core/orchestration/coordinator-prompts.ts';
import { defineAgent, defineTeam } from '../src/core/orchestration/index.ts';
import { rules } from '../src/core/rules/index.ts';
import type { KnownRule, ResolvedSource } from '../src/core/rules/index.ts';
import { builtinSchemas } from '../src/core/session/index.ts';
import { newestTeamTexts } from '../src/core/tasks/index.ts';

const text = (content: string): ResolvedSource => ({ from: 'crossing', kind: 'goal', content });
const crossing = (kind: CrossingKind, content: unknown): ResolvedSource => ({
  from: 'crossing',
  kind,
  content: typeof content === 'string' ? content : JSON.stringify(content),
});
const settled = (value: unknown): ResolvedSource => ({
  from: 'operation',
  settled: { at: 0, ok: true, value: value as Json },
});
const failed = (code: ErrorCode): ResolvedSource => ({
  from: 'operation',
  settled: { at: 0, ok: false, failure: { code } },
});
const reply = (part: ReplyPart): ResolvedSource => ({ from: 'reply', part });
const call = (name: string, input: unknown = {}): ResolvedSource =>
  reply({ type: 'call', id: 'c1', name, input: JSON.stringify(input) });
const segment = (part: PromptPart): ResolvedSource => ({ from: 'segment', part });
const envelope = (over: Partial<Envelope> = {}): ResolvedSource =>
  crossing('result', { status: 'completed', output: '<answer>', error: null, missing: [], ...over });
const mail = (over: object): ResolvedSource =>
  crossing('message', encodeMessage({ id: '<id>', message_type: 'message', agent_id: '<sender>', ...over }, '<text>'));
const entry = (over: object): ResolvedSource =>
  crossing('history', {
    leftOut: 3,
    entries: [{ agent: null, category: 'DIALOG', text: '<text>', ...over }],
  });
const result = (title: string, assignee: string, content: string): ResolvedSource =>
  crossing('dependency', encodeMessage({ task: title, title, assignee }, content));

const partText = (part: PromptPart): string => {
  if ('tool' in part) return JSON.stringify(part.tool);
  const { content } = part.message;
  if (typeof content === 'string') return content;
  return content
    .map((item) => {
      if (item.type === 'text') return item.text;
      if (item.type === 'tool-call') return `${item.toolName} ${JSON.stringify(item.input)}`;
      return item.type === 'tool-result' && item.output.type !== 'execution-denied'
        ? (item.output.value as string)
        : '';
    })
    .join('\n');
};

const show = (rule: KnownRule, sources: readonly ResolvedSource[], ...numbers: readonly number[]): string =>
  partText(rules[rule](sources, numbers));

const helper = defineAgent({ name: 'helper', description: '<its description>', prompt: '…' });
const guidance = (over: Partial<Parameters<typeof defineAgent>[0]>): string =>
  defineAgent({ name: 'lead', description: '…', prompt: '…', ...over }).definition.guidance;
const withSkill = defineAgent({
  name: 'lead',
  description: '…',
  prompt: '…',
  skills: [{ name: 'invoices', description: '<its description>', instructions: '' }],
});
const team = defineTeam({
  name: 'team',
  agents: [helper],
  coordinator: defineAgent({ name: 'boss', description: '…', prompt: '…' }),
});
const lostTask: Task = {
  id: 't',
  title: '<title>',
  description: '',
  assignee: 'helper',
  dependsOn: [],
  priority: 0,
  status: 'failed',
  attempts: 1,
  result: null,
  reason: { code: 'failed', text: newestTeamTexts.reasons.failed('<code>') },
} as unknown as Task;

type Shown = readonly [when: string, ...texts: readonly string[]];

/** Every rule, and the texts that become goals; the order is that of a run. */
const sections: readonly (readonly [title: string, ...shown: readonly Shown[]])[] = [
  [
    'System text',
    [
      'After your prompt, an agent without tools (`system@1`; if the prompt has a date variable, `system@2`)',
      guidance({}),
    ],
    ['An agent with tools and other agents', guidance({ agents: [helper], tools: ['write_file'] })],
    ['An agent that can start others', guidance({ tools: ['spawn_agent'], spawns: { agents: [helper] } })],
    [
      'The same, with `spawns.on_end: stop`',
      guidance({ tools: ['spawn_agent'], spawns: { agents: [helper], onEnd: 'stop' } }),
    ],
    ['An agent with skills', withSkill.definition.guidance],
    ['An agent that answers in JSON', guidance({ output: { format: 'json', schema: { type: 'object' } } })],
    [
      'After that, the prompt of the caller, where `share: [system]` allows it, or the system prompt of a client, where `serve --allow-system` does (`shared-system@1`)',
      show('shared-system@1', [crossing('share', [{ category: 'SYSTEM', text: '<prompt of the caller>' }])]),
    ],
  ],
  [
    'Task and context',
    ['The goal (`goal@1`)', show('goal@1', [text('<goal>')])],
    [
      'Files that come with the goal, before it: a text, and any other file, which follows as such (`attachment@1`)',
      show('attachment@1', [crossing('attachment', { mediaType: 'text/csv', name: '<name>', text: '<text>' })]),
      show('attachment@1', [
        crossing('attachment', { mediaType: 'image/png', name: '<name>', sha256: '<hash>', bytes: 1, pixels: 1 }),
      ]),
    ],
    [
      'Context that the caller shares (`share@1`)',
      show('share@1', [crossing('share', [{ category: 'CONTEXT', text: '<context>' }])]),
    ],
    [
      'A conversation: the user, the agent itself, another agent, context, and an earlier tool call of the agent (`history@1`)',
      show('history@1', [entry({})], 0),
      show('history@1', [entry({ agent: 'lead' })], 0, 1),
      show('history@1', [entry({ agent: '<agent>' })], 0),
      show('history@1', [entry({ agent: '<agent>', category: 'CONTEXT' })], 0),
      show('history@1', [entry({ category: 'TOOLS', call: { name: '<tool>', input: '<arguments>' } })], 0),
    ],
    ['Older messages that are not shown (`left-out@1`)', show('left-out@1', [entry({})])],
    ['A note from the runtime (`note@1`)', show('note@1', [text('<note>')])],
    [
      'Messages that an operator routes from another agent (`routed@1`)',
      show('routed@1', [crossing('message', { agent_id: '<agent>', parts: [{ category: 'DIALOG', text: '<text>' }] })]),
    ],
  ],
  [
    'Own steps',
    [
      'A tool result (`tool-result@1`): the text as it is, or an error from the [catalogue](ERRORS.md)',
      show('tool-result@1', [call('search'), settled({ text: '<text>' })]),
      show('tool-result@1', [
        call('search'),
        { from: 'operation', settled: { at: 0, ok: false, failure: { code: 'tool_failed', detail: '<detail>' } } },
      ]),
    ],
    [
      'A long text, wherever it stands',
      show('child-result@1', [call('helper'), settled({}), envelope({ output: 'x'.repeat(40) })], 16, 1)
        .replace('xxxxxxxxxxxxxxxx', '<beginning>')
        .replaceAll(/\b(40|16)\b/gu, '<n>'),
    ],
    [
      'A person did not allow a call, or did not answer (`denied@1`)',
      show('denied@1', [call('send'), failed('approval_denied'), crossing('answer', { text: '<words>' })]),
      show('denied@1', [call('send'), failed('approval_expired')]),
      show('denied@1', [call('ask_person'), failed('answer_denied')]),
      show('denied@1', [call('ask_person'), failed('answer_expired')]),
    ],
    [
      'A person changed the arguments of a call, after its result (`edited@1`)',
      show('edited@1', [call('send'), crossing('answer', { args: { to: '<name>' } })]),
    ],
    [
      'A person answered a question of the agent (`answered@1`)',
      show('answered@1', [call('ask_person'), settled({}), crossing('answer', { text: '<answer>' })]),
    ],
    ['The answer was not valid JSON (`repair@1`)', show('repair@1', [settled({ problems: ['<problem>'] })])],
    ['No turns are left (`last-turn@1`)', show('last-turn@1', [])],
    [
      'The window is full: old steps (`compact@1`), old messages of a conversation (`recap@1`), an old tool output (`shorten@1`)',
      show('compact@1', [
        segment(rules['reply@1']([reply({ type: 'text', text: '<text>' })], [])),
        segment(rules['tool-result@1']([call('search'), settled({ text: '<output>' })], [])),
      ]),
      show('recap@1', [segment(rules['history@1']([entry({})], [0]))]),
      show('shorten@1', [
        segment(rules['tool-result@1']([call('search'), settled({ text: '<beginning>' })], [])),
      ]).replace('11', '<n>'),
    ],
    ['The same, if a model summarises (`summary@1`)', show('summary@1', [envelope({ output: '<summary>' })])],
  ],
  [
    'Other agents',
    [
      'The result of an agent that was called (`child-result@1`)',
      show('child-result@1', [call('helper'), settled({}), envelope()], 900, 1),
      show(
        'child-result@1',
        [
          call('helper'),
          settled({}),
          envelope({ status: 'failed', output: '', error: publicFailure({ code: 'model_timeout' }) }),
        ],
        900,
        1,
      ),
    ],
    [
      'The results of several (`gather@1`)',
      show(
        'gather@1',
        [
          call('gather', { tasks: [{ agent: 'one' }, { agent: 'other' }] }),
          settled({}),
          envelope({ output: 'Said by one alone.\nSaid by both of them.' }),
          settled({}),
          envelope({ output: 'Said by both of them.\nOnly the other says this.' }),
        ],
        900,
        1,
        1,
      ),
      show(
        'gather@1',
        [
          call('gather', { tasks: [{ agent: 'one' }, { agent: 'other' }] }),
          settled({}),
          envelope(),
          settled({}),
          envelope({ status: 'failed', output: '', error: publicFailure({ code: 'model_timeout' }) }),
        ],
        900,
        1,
        1,
      ),
    ],
    [
      'A message that wakes a long-lived agent (`mail@1`): from an agent, an answer, on a topic, from the user, and the end of an agent that it started',
      show('mail@1', [mail({})], 900, 1),
      show('mail@1', [mail({ message_type: 'answer' })], 900, 1),
      show('mail@1', [mail({ message_type: 'broadcast', topic: '<topic>' })], 900, 1),
      show('mail@1', [mail({ agent_id: null })], 900, 1),
      show('mail@1', [envelope({ agent_id: '<agent>' })], 900, 1),
    ],
    [
      'What `receive_message` returns (`received@1`)',
      show('received@1', [call('receive_message'), settled({ messages: [1] }), mail({})], 900, 1),
      show(
        'received@1',
        [call('receive_message'), settled({ messages: [], timedOut: true, missing: ['<agent>'] })],
        900,
        1,
      ),
      show('received@1', [call('receive_message'), settled({ messages: [], closing: true })], 900, 1),
      show(
        'received@1',
        [call('receive_message'), settled({ messages: [], unknown: { name: '<name>', known: ['helper'] } })],
        900,
        1,
      ),
    ],
    [
      'Messages of the user that are still to be answered (`deferred@1`)',
      show('deferred@1', [mail({ agent_id: null })]),
    ],
  ],
  [
    'Teams',
    ['The coordinator plans: its goal', planGoal('<goal>', [helper], team.team!.rules)],
    ['A task (`task@1`)', show('task@1', [text(newestTeamTexts.taskGoal('<title>', '<description>'))])],
    [
      'The results it depends on (`dependency@1`), or, with `memoryScope: all`, all results',
      show('dependency@1', [result('<title>', '<agent>', '<result>')], 1, 900, 1),
      show('dependency@1', [result('<title>', '<agent>', '<result>')], 2, 900, 1),
    ],
    ['Messages to the member (`task-messages@1`)', show('task-messages@1', [mail({})])],
    ['The coordinator answers: its goal', answerGoal('<goal>', [lostTask], newestTeamTexts)],
    [
      'All results (`synthesis@1`)',
      show('synthesis@1', [result('<title>', '<agent>', '<result>')], 900),
      show('synthesis@1', []),
    ],
  ],
];

const block = (content: string): string => `\`\`\`text\n${content}\n\`\`\``;

export const promptsPage = (): string =>
  [
    `# What the runtime adds to a prompt

Word for word. \`<…>\` stands for what is filled in; everything else is written by the runtime. A model request contains your
prompt, what the agent said and was told, and these lines; \`cloister show <run> --prompt <cell>\` shows every prompt with the
origin of each part. Names such as \`goal@1\` are rules: pure functions with a version. What a version writes never changes
(decision 21).

Text from another agent, a tool of a stranger or a conversation is framed as data: every line of it starts with \`| \`,
whatever line breaks it uses. Headings, senders and notes outside such lines are the runtime's.

Generated by \`tools/prompts-page.ts\`.`,
    ...sections.flatMap(([title, ...shown]) => [
      `## ${title}`,
      ...shown.flatMap(([when, ...texts]) => [`${when}:`, ...texts.map(block)]),
    ]),
    '## Built-in tools',
    'An agent has those that its file lists; `read_output` comes with every agent that can get a long text, `read_skill` with `skills`, and `gather` with agents that can call others. The descriptions of their arguments are in the same files.',
    ['| tool | description |', '| --- | --- |', ...toolRows()].join('\n'),
  ].join('\n\n') + '\n';

const toolRows = (): readonly string[] =>
  [...Object.values(builtinSchemas), withSkill.definition.tools[0]!, gatherSchema([helper])].map(
    ({ name, description }) => `| \`${name}\` | ${description} |`,
  );

/** Rules that add no words of their own. */
export const wordlessRules: readonly KnownRule[] = ['tool@1', 'listed-tool@1', 'given-tool@1', 'reply@1'];

const page = fileURLToPath(new URL('../docs/PROMPTS.md', import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, promptsPage());
