// Run by environment.test.ts with a chosen environment: connects every provider, sends each one request, and prints what was
// loaded and what would have been sent.
import { registerHooks } from 'node:module';

const packages = new Set<string>();
registerHooks({
  load(url, context, next) {
    const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});

const { connectModel, modelFacts } = await import('#adapters/models');
type Provider = Parameters<typeof connectModel>[0];

const kinds: readonly Partial<Provider>[] = [
  { type: 'openai', api: 'responses' },
  { type: 'openai', api: 'chat' },
  { type: 'anthropic' },
  { type: 'google' },
  { type: 'openrouter' },
  { type: 'ollama', apiKey: '' },
  { type: 'openai-compatible' },
];
const sent: string[] = [];
const spy: typeof fetch = async (to, init) => {
  sent.push(JSON.stringify({ to, headers: [...new Headers(init?.headers)], body: init?.body }));
  return new Response('{}', { status: 500 });
};
const models = kinds.map((kind) =>
  connectModel(
    {
      name: kind.type!,
      type: kind.type!,
      apiKey: 'given-key',
      baseUrl: 'http://given.invalid/v1',
      headers: {},
      api: 'responses',
      ...kind,
    },
    'gpt-5',
    { fetch: spy },
  ),
);
const before = [...packages];
const failures: string[] = [];
for (const model of models)
  for (const ask of [model.doStream, model.doGenerate])
    await ask({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] }).then(
      () => failures.push('answered'),
      (error: unknown) => failures.push((error as Error).name),
    );
const facts = await modelFacts('openai', 'gpt-5');
process.stdout.write(JSON.stringify({ before, after: [...packages], sent, failures, facts }));
