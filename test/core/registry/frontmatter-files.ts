// Random valid frontmatters, and the many ways in which each can be written.
import fc from 'fast-check';
import type { Json, JsonObject } from '#base';
import type { FileSpawns, Frontmatter } from '#contracts';

const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/u);
const whole = (min = 0) => fc.integer({ min, max: 1_000_000 });
const fraction = (max: number) => fc.integer({ min: 0, max: 1_000 }).map((n) => (n / 1_000) * max);

const json = fc
  .dictionary(word, fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }), { maxKeys: 4 })
  .map((object) => JSON.parse(JSON.stringify(object)) as JsonObject)
  .filter((object) => !JSON.stringify(object).includes('__proto__'));

const form = <F extends string>(formats: readonly F[], type?: 'object') =>
  fc.oneof(
    fc.record({ format: fc.constantFrom(...formats) }),
    fc.record({
      format: fc.constant('json' as const),
      schema: json.map((schema) => ({ ...schema, ...(type === undefined ? {} : { type }) })),
    }),
  );

const agent = fc.oneof(
  word.map((name) => ({ agent: name })),
  word.map((name) => ({ agent: `./my agents/${name}.ai` })),
  fc.record({
    agent: word.map((name) => `../${name}.ai`),
    output: form(['text', 'markdown', 'json']),
  }),
);

const limits = fc
  .record(
    {
      max_steps: whole(),
      max_tokens_per_step: whole(),
      max_output_files: whole(),
      max_output_size_bytes: whole(),
      timeout_ms: whole(),
      maxToolTurns: whole(),
      llmTimeout: whole(),
      toolTimeout: whole(),
      maxRetries: whole(),
      maxToolCallsPerTurn: whole(),
      parallelToolCalls: whole(1),
      maxOutputTokens: whole(1),
      contextTokensMax: whole(1),
      maxHops: whole(),
      answersPerMinute: whole(),
    },
    { requiredKeys: [] },
  )
  .map((all) =>
    all.timeout_ms !== undefined && all.llmTimeout !== undefined && all.llmTimeout > all.timeout_ms
      ? { ...all, llmTimeout: all.timeout_ms }
      : all,
  );

const reasoning = fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max');
const settings = fc.record(
  { temperature: fraction(2), topP: fraction(1), seed: fc.maxSafeInteger(), reasoning },
  { requiredKeys: [] },
);
const budget = fc.record({ tokens: whole(), usd: fraction(5), spawns: whole(), ms: whole() }, { requiredKeys: [] });

const agentName = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/u);
const topic = fc.stringMatching(/^[a-z][a-z0-9._:/-]{0,8}$/u);
const topicList = fc.uniqueArray(topic, { minLength: 1, maxLength: 3 });

const spawns: fc.Arbitrary<FileSpawns> = fc
  .record(
    {
      agents: fc.uniqueArray(agentName, { minLength: 1, maxLength: 3 }),
      children: whole(),
      perMinute: whole(),
      depth: whole(),
      share: fc.subarray(['system', 'context'] as const),
      templates: fc.oneof(fc.boolean(), fc.record({ tools: fc.subarray(['spawn_agent']) })),
      pool: fc.dictionary(agentName, whole(), { maxKeys: 1 }),
      graceMs: whole(),
    },
    { requiredKeys: ['agents'] },
  )
  .map(({ pool, agents, ...rest }) => {
    const [name] = Object.keys(pool ?? {});
    return { ...rest, agents, ...(name === undefined ? {} : { pool: { [agents[0]!]: pool![name]! } }) };
  });

const topics = fc.oneof(
  topicList,
  fc.record({ hear: topicList, say: topicList }, { requiredKeys: ['hear'] }),
  fc.record({ say: topicList }),
);

/** `unit`: the characters that texts are made of. */
export const frontmatters = (unit: 'grapheme' | 'binary' = 'grapheme'): fc.Arbitrary<Frontmatter> => {
  const text = fc.oneof(
    fc.constantFrom(
      'Finds facts',
      'true',
      '12',
      '- a',
      'a: b # c',
      '*x',
      '---',
      'a\n---\nb',
      ' x ',
      "it's, well",
      '2m',
    ),
    fc.string({ unit, maxLength: 150 }).filter((one) => /\S/u.test(one)),
  );
  return fc
    .record(
      {
        description: text,
        usage: text,
        output: form(['text', 'markdown', 'json']),
        toolName: fc.stringMatching(/^[A-Za-z0-9_.-]{1,12}$/u),
        input: form(['text', 'json'], 'object'),
        models: fc.uniqueArray(
          fc.tuple(word, word).map(([provider, model]) => `${provider}/${model}:7b`),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        tools: fc.uniqueArray(
          fc.oneof(
            word,
            fc.tuple(word, word).map((both) => both.join('/')),
          ),
          { maxLength: 4 },
        ),
        skills: fc.uniqueArray(
          word.map((name) => `./my skills/${name}`),
          { maxLength: 2 },
        ),
        agents: fc.uniqueArray(agent, { maxLength: 3, selector: (one) => one.agent }),
        gather: fc.record({ timeoutMs: whole() }),
        limits,
        settings,
        budget,
        caching: fc.constantFrom('full', 'none'),
        grants: fc.subarray(['goal', 'result', 'note'] as const),
        agentsAtOnce: whole(1),
        spawns,
        messages: fc.uniqueArray(fc.oneof(agentName, fc.constantFrom('parent', 'children', 'siblings')), {
          maxLength: 3,
        }),
        topics,
        approve: fc.uniqueArray(
          fc.oneof(
            word,
            fc.tuple(word, word).map((both) => both.join('/')),
          ),
          { maxLength: 3 },
        ),
        asks: fc.boolean(),
      },
      { requiredKeys: ['description'] },
    )
    .map(plain);
};

/** The parser's result: no empty blocks, `gather` only with agents to call, `spawns` with its tool. */
const plain = (drawn: Frontmatter): Frontmatter => {
  const all = drawn.spawns === undefined ? drawn : { ...drawn, tools: [...(drawn.tools ?? []), 'spawn_agent'] };
  const { gather, ...rest } = all;
  const kept = Object.entries(rest).filter(
    ([key, value]) => !['limits', 'settings', 'budget'].includes(key) || Object.keys(value).length > 0,
  );
  const asks = gather !== undefined && (all.agents ?? []).length > 0;
  return Object.fromEntries([...kept, ...(asks ? [['gather', gather]] : [])]) as Frontmatter;
};

/** One way to write the frontmatter, chosen by the numbers drawn. */
export const written = (frontmatter: Frontmatter, choose: (ways: number) => number): JsonObject => {
  const {
    limits: caps = {},
    settings: set = {},
    budget: spend,
    gather,
    agents,
    models,
    tools,
    ...others
  } = frontmatter;
  const { spawns: spawning, messages, topics: on, approve, ...rest } = others;
  const block: Record<string, Json> = {};
  const top: Record<string, Json> = { ...(rest as JsonObject as Record<string, Json>), ...set };
  for (const [key, value] of Object.entries(caps))
    for (const [place, spelled] of placesOf(key, value, choose))
      (place === 'block' ? block : top)[spelled.key] = spelled.value;
  if (Object.keys(block).length > 0 || choose(8) === 0) top['limits'] = block;
  if (spend !== undefined) {
    const { ms, ...amounts } = spend;
    top['budget'] = {
      ...amounts,
      ...(ms === undefined ? {} : { [choose(2) === 0 ? 'ms' : 'time']: duration(ms, choose) }),
    };
  }
  const list = (items: readonly Json[]): Json => {
    if (items.length === 1 && choose(2) === 0) return items[0]!;
    return items.length > 1 && items.every((item) => typeof item === 'string') && choose(3) === 0
      ? items.join(choose(2) === 0 ? ', ' : ' ,')
      : items;
  };
  const listOrNothing = (items: readonly Json[]): Json => (items.length === 0 && choose(2) === 0 ? null : list(items));
  if (models !== undefined) top['models'] = list(models);
  if (tools !== undefined) top['tools'] = listOrNothing(tools);
  if (agents !== undefined)
    top['agents'] = listOrNothing(
      agents.map((one) => (one.output === undefined && choose(2) === 0 ? one.agent : (one as Json))),
    );
  if (messages !== undefined) top['messages'] = list(messages);
  if (approve !== undefined) top['approve'] = listOrNothing(approve);
  if (on !== undefined)
    top['topics'] =
      'length' in on ? list(on) : Object.fromEntries(Object.entries(on).map(([key, names]) => [key, list(names)]));
  if (spawning !== undefined) {
    const { graceMs, agents: those, ...keys } = spawning;
    const inBlock: Record<string, Json> = { ...(keys as JsonObject), agents: list(those!) };
    if (graceMs !== undefined) inBlock['grace'] = duration(graceMs, choose);
    top['spawns'] = Object.keys(inBlock).length === 1 && choose(2) === 0 ? inBlock['agents']! : inBlock;
  }
  if (gather !== undefined) {
    const timeout = duration(gather.timeoutMs, choose);
    top['gather'] = choose(2) === 0 ? timeout : { timeout };
  }
  const keys = Object.keys(top).sort(() => choose(3) - 1);
  return Object.fromEntries(keys.map((key) => [key, top[key]]));
};

type Spelled = readonly ['block' | 'top', { readonly key: string; readonly value: Json }];

const placesOf = (key: string, value: number, choose: (ways: number) => number): readonly Spelled[] => {
  const spelled = (): Spelled[1] => {
    if (key === 'maxToolTurns' && choose(2) === 0) return { key: 'maxTurns', value };
    if (key === 'max_tokens_per_step' && choose(2) === 0)
      return { key: 'toolResponseMaxBytes', value: Math.max(0, value * 4 - choose(4)) };
    if (key === 'parallelToolCalls' && value === 1) return { key, value: choose(2) === 0 ? false : 1 };
    if (key === 'parallelToolCalls' && value === 4) return { key, value: choose(2) === 0 ? true : 4 };
    return { key, value: /timeout/iu.test(key) ? duration(value, choose) : value };
  };
  const ways: readonly (readonly Spelled[])[] = [
    [['block', spelled()]],
    [['top', spelled()]],
    [
      ['block', spelled()],
      ['top', spelled()],
    ],
  ];
  return ways[choose(3)]!;
};

const duration = (ms: number, choose: (ways: number) => number): Json =>
  [ms, `${ms}ms`, `${ms / 1_000}s`, `${ms} ms`][choose(4)]!;
