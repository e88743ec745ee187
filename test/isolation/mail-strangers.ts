// Two agents that may not message each other, and share an agent that both may message. However much the one writes, however many
// agents of its own come and go, and whatever somebody outside starts under it, the other must be shown the same.
import { buildAgent } from '#core/orchestration';
import type { Agent, AgentOptions } from '#contracts';
import { Stage } from '../core/mail/stage.ts';

const agent = (name: string, options: Partial<AgentOptions>): Agent =>
  buildAgent({ name, description: `Is ${name}.`, prompt: `You are ${name}.`, limits: generous, ...options }, null);

const generous = { maxToolTurns: 10_000, max_steps: 100_000, timeout_ms: 1e9 };
const tools = ['spawn_agent', 'list_spawned_agents', 'shutdown_agent', 'send_message'];

const helper = agent('helper', { messages: ['parent'] });
const worker = (name: string): Agent =>
  agent(name, {
    tools,
    messages: ['parent', 'children', 'desk'],
    spawns: { agents: [helper], perMinute: 10_000, children: 100, graceMs: 1 },
  });
const quiet = worker('quiet');
const noisy = worker('noisy');
const desk = agent('desk', { messages: ['parent', 'quiet', 'noisy'] });
const lead = agent('lead', { tools, spawns: { agents: [quiet, noisy, desk] } });

/** How many agents `noisy` starts and shuts down, how many messages it sends to `desk`, and how many agents somebody outside starts under it. */
export type Noise = { readonly ended?: number; readonly messages?: number; readonly outside?: number };

/** Everything that `quiet` is shown, whatever `noisy` does meanwhile; also after a crash. */
export const shownToQuiet = async (
  { ended = 0, messages = 0, outside = 0 }: Noise,
  crash = false,
): Promise<readonly string[]> => {
  const stage = new Stage([lead, quiet, noisy, desk, helper], false);
  await stage.settle();
  const call = (who: string, name: string, all: readonly object[]): Promise<void> =>
    stage.say(who, { calls: all.map((args) => ({ tool: name, args: args as never })) });
  for (const name of ['quiet', 'noisy', 'desk'])
    await call('lead', 'spawn_agent', [{ agent_id: name, initial_message: 'Begin.' }]);
  await call('quiet', 'spawn_agent', [{ agent_id: 'helper' }]);
  await call('quiet', 'shutdown_agent', [{ sub_agent_id: 'helper' }]);
  await stage.clock.advance(2);

  for (let left = ended; left > 0; left -= perTurn) {
    const names = Array.from({ length: Math.min(left, perTurn) }, (_, no) => `w${left - no}`);
    await call(
      'noisy',
      'spawn_agent',
      names.map((name) => ({ agent_id: 'helper', workflow_id: name })),
    );
    await call(
      'noisy',
      'shutdown_agent',
      names.map((name) => ({ sub_agent_id: `${name}:helper` })),
    );
    await stage.clock.advance(0);
    await stage.until(() => stage.pending.includes('noisy'));
  }
  for (let left = messages; left > 0; left -= perTurn)
    await call(
      'noisy',
      'send_message',
      Array.from({ length: Math.min(left, perTurn) }, () => ({ to: 'desk', message: 'Hi' })),
    );
  for (let left = outside; left > 0; left--) {
    const { sub_agent_id: name } = await stage.live.do({
      do: 'spawn',
      agent: 'helper',
      goal: `Help ${left}.`,
      parent: 'noisy',
      workflow: 'late',
    });
    await stage.until(() => stage.pending.includes('helper'));
    await stage.say('helper', { text: `${name} has helped.` });
  }
  if (crash) await stage.crash();

  const shown = [stage.shown('quiet')];
  for (const to of ['helper', 'desk', 'noisy']) {
    await call('quiet', 'send_message', [{ to, message: 'Are you there?' }]);
    shown.push(...stage.results('quiet'), stage.shown('quiet'));
  }
  await call('quiet', 'spawn_agent', [{ agent_id: 'helper', workflow_id: 'late' }]);
  await call('quiet', 'list_spawned_agents', [{}]);
  return [...shown, ...stage.results('quiet'), stage.shown('quiet')].map(withoutIds);
};

/** Session ids are random, but counted in these tests. */
const withoutIds = (text: string): string => text.replaceAll(/\bs-[\da-f]{12}\b/gu, 's');

const perTurn = 20;
