// The code on the pages docs/API.md and docs/REHEARSAL.md: `test/app/api-docs.test.ts` holds them against this file.
import { tool } from 'ai';
import { z } from 'zod';
import { CloisterError, defineAgent, defineTool, openCloister } from 'cloister';
import { fakeWorld, rehearse } from 'cloister/testkit';

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather of a city.',
  inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
  execute: ({ city, days }) => ({ city, sunny: days }),
});

const population = tool({
  description: 'Tells how many people live in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `${city} has 2.8 million people.`,
});

const script = rehearse({
  price: { input: 1, output: 5 },
  lines: [
    {
      when: { agent: 'guide', turn: 1 },
      reply: {
        text: 'I look it up.',
        calls: [
          { tool: 'weather', args: { city: 'Rome' } },
          { tool: 'population', args: { city: 'Rome' } },
        ],
      },
    },
    { when: { agent: 'guide', turn: 2 }, reply: { calls: [{ tool: 'writer', args: { prompt: '{{results}}' } }] } },
    { when: { agent: 'writer' }, reply: ({ goal }) => (goal.includes('sunny') ? 'Go to Rome.' : 'Stay at home.') },
    { when: { agent: 'guide' }, reply: '{"city":"Rome","advice":"Go."}' },
    { reply: 'I do not know.' },
  ],
});

const writer = defineAgent({ name: 'writer', description: 'Writes one line.', prompt: 'Write one line.' });
const advice = z.object({ city: z.string(), advice: z.string() });
const guide = defineAgent({
  name: 'guide',
  description: 'Says where to go.',
  prompt: 'Advise the traveller.',
  tools: [weather, { population }],
  agents: [writer],
  output: { format: 'json', schema: advice },
  limits: { maxToolTurns: 5, toolTimeout: '30s' },
  budget: { usd: 0.1 },
});

await using cloister = await openCloister({ agents: [guide, writer], models: [script], store: 'memory' });
const { status, data, failure, spent, run } = await cloister.run(guide, 'Where to?', { budget: { tokens: 50_000 } })
  .outcome;
if (data === null) throw new Error(failure?.code);
console.log(status, data.city, data.advice, spent.usd);

const session = cloister.run('guide', 'Where to?');
for await (const event of session) {
  if (event.type === 'text-delta') process.stdout.write(event.text);
  if (event.type === 'tool-end') console.log(event.agent, event.tool, event.ok);
}
console.log((await session.outcome).output);

const leaving = new AbortController();
const observing = (async () => {
  for await (const event of cloister.observe({ signal: leaving.signal }))
    if (event.type === 'session-end') console.log(event.run, event.agent, event.status);
})();
await Promise.all(['Rome', 'Oslo'].map((city) => cloister.run('writer', city).outcome));
leaving.abort();
await observing;

const { cells, events } = await cloister.show(run);
const { ok, unattributedBytes } = await cloister.audit(run);
console.log(cells.length, events.length, ok, unattributedBytes, (await cloister.replay(run)).ok);

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  inputSchema: z.object({ amount: z.number() }),
  approve: true,
  execute: ({ amount }) => `Paid ${amount} back.`,
});
const clerk = defineAgent({ name: 'clerk', description: 'Pays refunds.', prompt: 'Pay.', tools: [refund] });
await using shop = await openCloister({
  agents: [clerk],
  models: [
    rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'refund', args: { amount: 20 } }] } }, { reply: 'Done.' }]),
  ],
  store: 'memory',
  onQuestion: ({ args }) => (Number(args['amount']) < 50 ? { allow: true, by: 'small-sums' } : undefined),
});
const paid = await shop.run('clerk', 'Pay Anna back.').outcome;
const [ruled] = await shop.questions({ run: paid.run, all: true });
console.log(paid.status, ruled?.tool, ruled?.state, ruled?.answers[0]?.by);

const plan = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjd', 'base64');
const seen = cloister.run('writer', 'What is on it?', {
  attachments: [{ mediaType: 'image/png', data: plan, name: 'plan.png' }],
});
console.log((await seen.outcome).output);

try {
  cloister.run('gide', 'Where to?');
} catch (error) {
  if (!(error instanceof CloisterError)) throw error;
  console.log(error.code);
}

const forOneTenant = cloister.run('writer', 'It is sunny.', { env: { OPENAI_API_KEY: 'sk-of-this-tenant' } });
console.log((await forOneTenant.outcome).status);

const writerTool = cloister.agentTool('writer');
console.log(await writerTool.execute({ prompt: 'It is sunny.' }));

const world = fakeWorld(1);
const { clock, ids } = world;
const busy = rehearse(
  [{ times: 1, reply: { fault: 429, retryAfterMs: 5_000 } }, { reply: { text: 'Done after a while.', delayMs: 500 } }],
  { clock },
);
await using patient = await openCloister({ agents: [writer], models: [busy], store: 'memory', clock, ids });
const late = await world.finish(patient.run('writer', 'Take your time.').outcome);
console.log(late.output, busy.requests.length, busy.unused().length);
