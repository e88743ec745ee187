// A plain server object with everything the conformance suite needs, for our transports to carry.
import { Server } from '@modelcontextprotocol/server';
import type { CallToolResult, ContentBlock, ServerContext, Tool } from '@modelcontextprotocol/server';

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const text = (words: string) => ({ type: 'text' as const, text: words });
const image = { type: 'image', data: pixel, mimeType: 'image/png' } as const;
const resource = (uri: string, mimeType: string, words: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
});

type ToolBody = (context: ServerContext) => Promise<CallToolResult>;

const returning =
  (...content: ContentBlock[]): ToolBody =>
  async () => ({ content });

const tools: Readonly<Record<string, ToolBody>> = {
  test_simple_text: returning(text('This is a simple text response for testing.')),
  test_image_content: returning(image),
  test_audio_content: returning({ type: 'audio', data: 'UklGRiQAAABXQVZF', mimeType: 'audio/wav' }),
  test_embedded_resource: returning(resource('test://embedded-resource', 'text/plain', 'An embedded resource.')),
  test_multiple_content_types: returning(
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data"}'),
  ),
  test_error_handling: async () => ({ content: [text('This tool always fails.')], isError: true }),
  test_tool_with_logging: async ({ mcpReq }) => {
    for (const data of ['started', 'going on', 'done'])
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
    return { content: [text('Logged.')] };
  },
  test_tool_with_progress: async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined)
      for (const progress of [0, 50, 100])
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    // The suite's client handles notifications a moment after answers, and drops those of an answered request.
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { content: [text('Done.')] };
  },
  json_schema_2020_12_tool: returning(text('Yes.')),
};

const newestSchema: Tool['inputSchema'] = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
};

const prompt = (name: string, ...args: string[]) => ({
  name,
  description: 'A prompt for testing.',
  arguments: args.map((each) => ({ name: each, description: 'An argument.', required: true })),
});

const prompts = [
  prompt('test_simple_prompt'),
  prompt('test_prompt_with_arguments', 'arg1', 'arg2'),
  prompt('test_prompt_with_embedded_resource', 'resourceUri'),
  prompt('test_prompt_with_image'),
];

const contentOf = (name: string, args: Readonly<Record<string, string>>): ContentBlock => {
  if (name === 'test_prompt_with_image') return image;
  if (name === 'test_prompt_with_embedded_resource') return resource(args['resourceUri']!, 'text/plain', 'Embedded.');
  return text(`A prompt with ${JSON.stringify(args)}.`);
};

const resources = ['test://static-text', 'test://static-binary'].map((uri) => ({
  uri,
  name: uri,
  description: 'A resource for testing.',
}));

const capabilities = { tools: {}, logging: {}, completions: {}, prompts: {}, resources: { subscribe: true } };

export const conformanceServer = (): Server => {
  const server = new Server({ name: 'fixture', version: '1' }, { capabilities });
  server.setRequestHandler('tools/list', () => ({
    tools: Object.keys(tools).map((name): Tool => {
      const inputSchema = name === 'json_schema_2020_12_tool' ? newestSchema : { type: 'object' as const };
      return { name, description: 'A tool for testing.', inputSchema };
    }),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => tools[params.name]!(context));
  server.setRequestHandler('logging/setLevel', () => ({}));
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [] } }));
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params }) => ({
    messages: [{ role: 'user' as const, content: contentOf(params.name, params.arguments ?? {}) }],
  }));
  server.setRequestHandler('resources/list', () => ({ resources }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => ({
    contents: [
      uri.endsWith('binary')
        ? { uri, mimeType: 'image/png', blob: pixel }
        : { uri, mimeType: 'text/plain', text: `The content of ${uri}.` },
    ],
  }));
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  return server;
};
