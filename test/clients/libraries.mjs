// What client libraries do, each in its own words. It runs in the folder where the libraries are installed, as
//   node libraries.mjs <url> <token> <library>
// and prints one JSON value: for each feature null if it works, else what the client got instead.
import { z } from 'zod';

const [, , url, token, library] = process.argv;
const base = `${url}/v1`;
const model = 'guide';
const city = 'Ask: city. What is the capital of Portugal?';
const rules = 'Always be kind.';
const weather = { name: 'weather', description: 'Tells the weather.', schema: z.object({ city: z.string() }) };
const weatherJson = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const place = z.object({ city: z.string() });
const placeJson = { ...weatherJson, additionalProperties: false };
const sunny = 'It is sunny.';
const dialog = [
  { role: 'user', content: 'My name is Ann.' },
  { role: 'assistant', content: 'Hello Ann.' },
  { role: 'user', content: 'Ask: before. Who am I?' },
];

/** The text of a stream. One that comes in a single piece was not streamed. */
const join = async (pieces, textOf) => {
  const texts = [];
  for await (const piece of pieces) texts.push(textOf(piece) ?? '');
  const text = texts.join('');
  return texts.filter((one) => one !== '').length > 1 ? text : `In one piece: ${text}`;
};

const openaiClient = async () => new (await import('openai')).default({ baseURL: base, apiKey: token, maxRetries: 0 });
const anthropicClient = async () =>
  new (await import('@anthropic-ai/sdk')).default({ baseURL: url, apiKey: token, maxRetries: 0 });

const chatTool = { type: 'function', function: { name: weather.name, parameters: weatherJson } };
const user = (content) => [{ role: 'user', content }];
const system = (content) => ({ role: 'system', content });

const openaiChat = async () => {
  const client = await openaiClient();
  const create = (more) => client.chat.completions.create({ model, ...more });
  const textOf = ({ choices }) => choices[0].message.content;
  const weatherFunction = {
    name: weather.name,
    parameters: weatherJson,
    parse: JSON.parse,
    function: async () => sunny,
  };
  const toolRun = { model, messages: user('Ask: tool'), tools: [{ type: 'function', function: weatherFunction }] };
  return {
    models: async () => JSON.stringify((await client.models.list()).data),
    text: async () => textOf(await create({ messages: user(city) })),
    stream: async () =>
      join(await create({ messages: user(city), stream: true }), ({ choices }) => choices[0]?.delta.content),
    system: async () => textOf(await create({ messages: [system(rules), ...user(city)] })),
    history: async () => textOf(await create({ messages: dialog })),
    json: async () =>
      textOf(
        await create({
          messages: user('Ask: json'),
          response_format: { type: 'json_schema', json_schema: { name: 'place', schema: placeJson, strict: true } },
        }),
      ),
    tools: () => client.chat.completions.runTools(toolRun).finalContent(),
    'tool stream': () =>
      join(client.chat.completions.runTools({ ...toolRun, stream: true }), ({ choices }) => choices[0]?.delta.content),
    extras: async () =>
      textOf(
        await create({
          messages: user(city),
          stop: ['END'],
          logit_bias: { 1: 1 },
          store: true,
          n: 1,
          tools: [chatTool],
        }),
      ),
  };
};

const openaiResponses = async () => {
  const client = await openaiClient();
  const create = (more) => client.responses.create({ model, ...more });
  const tools = [{ type: 'function', name: weather.name, parameters: weatherJson, strict: false }];
  const deltaOf = ({ type, delta }) => (type === 'response.output_text.delta' ? delta : '');
  const withResult = ({ output }) => {
    const call = output.find(({ type }) => type === 'function_call');
    return [...user('Ask: tool'), call, { type: 'function_call_output', call_id: call.call_id, output: sunny }];
  };
  return {
    models: async () => JSON.stringify((await client.models.list()).data),
    text: async () => (await create({ input: city })).output_text,
    stream: async () => join(await create({ input: city, stream: true }), deltaOf),
    system: async () => (await create({ instructions: rules, input: city })).output_text,
    history: async () => {
      const { id } = await create({ input: 'My name is Ann.' });
      return (await create({ previous_response_id: id, input: 'Ask: before. Who am I?' })).output_text;
    },
    json: async () =>
      (
        await create({
          input: 'Ask: json',
          text: { format: { type: 'json_schema', name: 'place', schema: placeJson } },
        })
      ).output_text,
    tools: async () => {
      const first = await create({ input: 'Ask: tool', tools });
      return (await create({ input: withResult(first), tools })).output_text;
    },
    'tool stream': async () => {
      const first = await client.responses.stream({ model, input: 'Ask: tool', tools }).finalResponse();
      return join(client.responses.stream({ model, input: withResult(first), tools }), deltaOf);
    },
    extras: async () =>
      (await create({ input: city, store: false, tools: [{ type: 'web_search' }, ...tools], include: [] })).output_text,
  };
};

const anthropic = async () => {
  const client = await anthropicClient();
  const { betaZodTool } = await import('@anthropic-ai/sdk/helpers/beta/zod');
  const create = (more) => client.messages.create({ model, max_tokens: 500, ...more });
  const textOf = ({ content }) => content.map(({ text = '' }) => text).join('');
  const deltaOf = ({ delta }) => delta?.text;
  const tool = betaZodTool({ ...weather, inputSchema: weather.schema, run: async () => sunny });
  const toolRun = { model, max_tokens: 500, messages: user('Ask: tool'), tools: [tool] };
  return {
    models: async () => JSON.stringify((await client.models.list()).data),
    text: async () => textOf(await create({ messages: user(city) })),
    stream: () => join(client.messages.stream({ model, max_tokens: 500, messages: user(city) }), deltaOf),
    system: async () => textOf(await create({ system: rules, messages: user(city) })),
    history: async () => textOf(await create({ messages: dialog })),
    json: async () =>
      textOf(
        await create({
          messages: user('Ask: json'),
          output_config: { format: { type: 'json_schema', schema: placeJson } },
        }),
      ),
    tools: async () => textOf(await client.beta.messages.toolRunner(toolRun)),
    'tool stream': async () => {
      let last;
      for await (const message of client.beta.messages.toolRunner({ ...toolRun, stream: true }))
        last = await join(message, deltaOf);
      return last;
    },
    extras: async () =>
      textOf(
        await create({
          messages: user(city),
          stop_sequences: ['END'],
          tools: [{ type: 'web_search_20250305', name: 'web_search' }],
        }),
      ),
  };
};

const aiSdkModels = {
  openai: async () => (await import('@ai-sdk/openai')).createOpenAI({ baseURL: base, apiKey: token })(model),
  'openai chat': async () =>
    (await import('@ai-sdk/openai')).createOpenAI({ baseURL: base, apiKey: token }).chat(model),
  compatible: async () =>
    (await import('@ai-sdk/openai-compatible')).createOpenAICompatible({
      name: 'cloister',
      baseURL: base,
      apiKey: token,
      supportsStructuredOutputs: true,
    })(model),
  anthropic: async () => (await import('@ai-sdk/anthropic')).createAnthropic({ baseURL: base, apiKey: token })(model),
};

const aiSdk = (vendor) => async () => {
  const { generateText, streamText, tool, Output, isStepCount } = await import('ai');
  const common = { model: await aiSdkModels[vendor](), maxRetries: 0 };
  const tools = { weather: tool({ description: 'Tells.', inputSchema: weather.schema, execute: async () => sunny }) };
  const toolRun = { ...common, prompt: 'Ask: tool', tools, stopWhen: isStepCount(3) };
  return {
    text: async () => (await generateText({ ...common, prompt: city })).text,
    stream: async () => join(streamText({ ...common, prompt: city }).textStream, (piece) => piece),
    system: async () => (await generateText({ ...common, instructions: rules, system: rules, prompt: city })).text,
    history: async () => (await generateText({ ...common, messages: dialog })).text,
    json: async () =>
      JSON.stringify(
        (await generateText({ ...common, prompt: 'Ask: json', output: Output.object({ schema: place }) })).output,
      ),
    tools: async () => (await generateText(toolRun)).text,
    'tool stream': () => join(streamText(toolRun).textStream, (piece) => piece),
    extras: async () =>
      (await generateText({ ...common, prompt: city, stopSequences: ['END'], temperature: 0.1, seed: 1, topP: 0.5 }))
        .text,
  };
};

const langchain = (vendor) => async () => {
  const { ChatOpenAI } = await import('@langchain/openai');
  const { ChatAnthropic } = await import('@langchain/anthropic');
  const { tool } = await import('@langchain/core/tools');
  const { HumanMessage, ToolMessage } = await import('@langchain/core/messages');
  const make = (more = {}) =>
    vendor === 'anthropic'
      ? new ChatAnthropic({ model, apiKey: token, anthropicApiUrl: url, maxRetries: 0, ...more })
      : new ChatOpenAI({
          model,
          apiKey: token,
          configuration: { baseURL: base },
          maxRetries: 0,
          useResponsesApi: vendor === 'responses',
          ...more,
        });
  const chat = make();
  const textOf = ({ text }) => text;
  const bound = chat.bindTools([tool(async () => sunny, weather)]);
  const asked = new HumanMessage('Ask: tool');
  const withResults = (called) => [
    asked,
    called,
    ...called.tool_calls.map(({ id }) => new ToolMessage({ tool_call_id: id, content: sunny })),
  ];
  return {
    text: async () => textOf(await chat.invoke(city)),
    stream: async () => join(await chat.stream(city), textOf),
    system: async () => textOf(await chat.invoke([system(rules), ...user(city)])),
    history: async () => textOf(await chat.invoke(dialog)),
    json: async () => JSON.stringify(await chat.withStructuredOutput(place).invoke('Ask: json')),
    tools: async () => textOf(await bound.invoke(withResults(await bound.invoke([asked])))),
    'tool stream': async () => {
      let called;
      for await (const piece of await bound.stream([asked])) called = called?.concat(piece) ?? piece;
      return join(await bound.stream(withResults(called)), textOf);
    },
    extras: async () => textOf(await chat.invoke(city, { stop: ['END'] })),
  };
};

const openaiAgents = (api) => async () => {
  const { Agent, Runner, OpenAIProvider, tool, setTracingDisabled } = await import('@openai/agents');
  setTracingDisabled(true);
  const modelProvider = new OpenAIProvider({ apiKey: token, baseURL: base, useResponses: api === 'responses' });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = (more = {}) => new Agent({ name: 'caller', model, ...more });
  const textOf = ({ finalOutput }) => finalOutput;
  const tools = [tool({ ...weather, parameters: weather.schema, execute: async () => sunny })];
  return {
    text: async () => textOf(await runner.run(agent(), city)),
    stream: async () => {
      const result = await runner.run(agent(), city, { stream: true });
      return join(result.toTextStream(), (piece) => piece);
    },
    system: async () => textOf(await runner.run(agent({ instructions: rules }), city)),
    history: async () => {
      const first = await runner.run(agent(), 'My name is Ann.');
      return textOf(await runner.run(agent(), [...first.history, { role: 'user', content: 'Ask: before. Who am I?' }]));
    },
    json: async () => JSON.stringify(textOf(await runner.run(agent({ outputType: place }), 'Ask: json'))),
    tools: async () => textOf(await runner.run(agent({ tools }), 'Ask: tool')),
    'tool stream': async () =>
      join((await runner.run(agent({ tools }), 'Ask: tool', { stream: true })).toTextStream(), (piece) => piece),
    extras: async () =>
      textOf(await runner.run(agent({ modelSettings: { temperature: 0.1, store: true, truncation: 'auto' } }), city)),
  };
};

const llamaindex = (vendor) => async () => {
  const { OpenAI } = await import('@llamaindex/openai');
  const { Anthropic } = await import('@llamaindex/anthropic');
  const { tool } = await import('llamaindex');
  const { agent, agentStreamEvent } = await import('@llamaindex/workflow');
  // Its session reads the address only from here.
  process.env['ANTHROPIC_BASE_URL'] = url;
  const make = (more = {}) =>
    vendor === 'anthropic'
      ? new Anthropic({ model, apiKey: token, baseURL: url, maxRetries: 0, ...more })
      : new OpenAI({ model, apiKey: token, baseURL: base, maxRetries: 0, supportToolCall: true, ...more });
  const llm = make();
  const tools = [tool({ ...weather, parameters: weather.schema, execute: () => sunny })];
  const textOf = ({ message: { content } }) =>
    typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
  return {
    text: async () => textOf(await llm.chat({ messages: user(city) })),
    stream: async () => join(await llm.chat({ messages: user(city), stream: true }), ({ delta }) => delta),
    system: async () => textOf(await llm.chat({ messages: [system(rules), ...user(city)] })),
    history: async () => textOf(await llm.chat({ messages: dialog })),
    json: async () => textOf(await llm.chat({ messages: user('Ask: json'), responseFormat: place })),
    tools: async () => (await agent({ llm, tools }).run('Ask: tool')).data.result,
    'tool stream': () =>
      join(agent({ llm, tools }).runStream('Ask: tool'), (event) =>
        agentStreamEvent.include(event) ? event.data.delta : '',
      ),
    extras: async () =>
      textOf(
        await make({ temperature: 0.1, topP: 0.5, maxTokens: 500, additionalChatOptions: { stop: ['END'] } }).chat({
          messages: user(city),
        }),
      ),
  };
};

const mastra = async () => {
  const { Agent } = await import('@mastra/core/agent');
  const { createTool } = await import('@mastra/core/tools');
  const tools = {
    weather: createTool({
      id: 'weather',
      description: 'Tells.',
      inputSchema: weather.schema,
      execute: async () => sunny,
    }),
  };
  const make = async (more = {}) =>
    new Agent({ id: 'caller', name: 'caller', instructions: '', model: await aiSdkModels.compatible(), ...more });
  return {
    text: async () => (await (await make()).generate(city)).text,
    stream: async () => join((await (await make()).stream(city)).textStream, (piece) => piece),
    system: async () => (await (await make({ instructions: rules })).generate(city)).text,
    history: async () => (await (await make()).generate(dialog)).text,
    json: async () =>
      JSON.stringify((await (await make()).generate('Ask: json', { structuredOutput: { schema: place } })).object),
    tools: async () => (await (await make({ tools })).generate('Ask: tool')).text,
    'tool stream': async () => join((await (await make({ tools })).stream('Ask: tool')).textStream, (piece) => piece),
    extras: async () => {
      const modelSettings = { temperature: 0.1, topP: 0.5, seed: 1, stopSequences: ['END'] };
      return (await (await make()).generate(city, { modelSettings })).text;
    },
  };
};

const libraries = {
  'openai chat': openaiChat,
  'openai responses': openaiResponses,
  '@anthropic-ai/sdk': anthropic,
  'AI SDK openai': aiSdk('openai'),
  'AI SDK openai chat': aiSdk('openai chat'),
  'AI SDK openai-compatible': aiSdk('compatible'),
  'AI SDK anthropic': aiSdk('anthropic'),
  'LangChain ChatOpenAI': langchain('chat'),
  'LangChain ChatOpenAI responses': langchain('responses'),
  'LangChain ChatAnthropic': langchain('anthropic'),
  '@openai/agents responses': openaiAgents('responses'),
  '@openai/agents chat': openaiAgents('chat'),
  'LlamaIndex OpenAI': llamaindex('openai'),
  'LlamaIndex Anthropic': llamaindex('anthropic'),
  Mastra: mastra,
};

const expected = {
  models: /guide/u,
  text: /^Lisbon is the capital of Portugal\.$/u,
  stream: /^Lisbon is the capital of Portugal\.$/u,
  system: /Portugal\. I follow your rules\.$/u,
  history: /^You are Ann\.$/u,
  json: /^\{"city":"Lisbon"\}$/u,
  tools: /^The tool was called\. It is sunny\.$/u,
  'tool stream': /^The tool was called\. It is sunny\.$/u,
  extras: /^Lisbon is the capital of Portugal\.$/u,
};

const results = {};
const features = await libraries[library]().catch((error) => ({ text: () => Promise.reject(error) }));
for (const [feature, run] of Object.entries(features)) {
  const said = await Promise.try(run).catch((error) => `${error?.name}: ${error?.message ?? error}`);
  results[feature] = expected[feature].test(String(said)) ? null : String(said).slice(0, 300);
}
console.log(`\n${JSON.stringify(results)}`);
process.exit(0);
