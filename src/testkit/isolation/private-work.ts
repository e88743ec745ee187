// What a session does between two acts that others can observe: it looks around, its model fails, and it has aides: agents that
// it starts for itself, asks, listens to and shuts down. Nobody outside may write to an aide, and an aide to nobody outside.
//
//   aides-wait-between-acts. Between two acts, every aide waits or has ended, and its words have been read: what the session
//       does next does not depend on them.
//   private-work-is-short. Private work takes time, but less than the act that it precedes.
import type { JsonObject } from '#base';
import type { Agent } from '#contracts';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import type { TestReply } from './random-model.ts';
import { aideWorkflow } from './mail-cell.ts';
import type { DrawnCall, MailCell } from './mail-cell.ts';
import { callWithSampleArgs } from './mail-calls.ts';
import type { TestAgent } from './agent-tree.ts';
import type { FakeTime } from './fake-time.ts';

/** The run that the session is part of. */
type PrivateRun = {
  readonly cells: readonly MailCell[];
  readonly time: FakeTime;
  agentOf(state: MailCell): Agent;
  testAgentOf(state: MailCell): TestAgent | undefined;
  answer(state: MailCell, content: MailContent, rng: Rng): Promise<void>;
  fail(state: MailCell, fault: number, message: string): Promise<void>;
};

export type MailContent = { readonly calls: readonly DrawnCall[]; readonly text: string };

const privateTurnCounts = [0, 0, 1, 1, 2];

/** The time that an act takes, with the private work before it. */
export const actMs = 60;

export const workPrivately = async (run: PrivateRun, state: MailCell, rng: Rng): Promise<void> => {
  for (let left = rng.pick(privateTurnCounts); left > 0 && state.pendingRequest !== null; left--) {
    const kind = rng.below(10);
    if (kind < 2) await failOnce(run, state, rng);
    else if (kind < 6 && possibleAides(run, state).length > 0) await useAide(run, state, rng, 1);
    else await look(run, state, rng);
  }
};

/** Aides that something else has woken, such as a broadcast, answer at once; nobody hears it. */
export const settleAides = async (run: PrivateRun, seedOf: (state: MailCell) => Rng): Promise<void> => {
  for (const state of run.cells) if (state.isAide) await answerAll(run, state, seedOf(state));
};

const look = (run: PrivateRun, state: MailCell, rng: Rng): Promise<void> =>
  call(run, state, drawPrivateTurnCall(run, state, rng), rng);

const call = (run: PrivateRun, state: MailCell, one: DrawnCall, rng: Rng): Promise<void> =>
  run.answer(state, { calls: [one], text: '' }, rng);

const hasTool = ({ tools }: MailCell, name: string): boolean => tools.some((tool) => tool.name === name);

/** A call that no other agent can observe. */
const drawPrivateTurnCall = (run: PrivateRun, state: MailCell, rng: Rng): DrawnCall => {
  const testAgent = run.testAgentOf(state);
  const own = state.tools.filter(({ name }) =>
    isMailTool(name) ? name === 'list_spawned_agents' : name !== 'gather' && testAgent?.children.has(name) !== true,
  );
  if (own.length === 0 || rng.percent(5)) return { name: 'ghost', args: { text: rng.words() } };
  return callWithSampleArgs(rng.pick(own), rng);
};

/** The model fails once: the session falls back to the next one, or retries after a moment. */
const failOnce = async (run: PrivateRun, state: MailCell, rng: Rng): Promise<void> => {
  const { pendingRequest } = state;
  const { models } = run.testAgentOf(state) ?? { models: [] };
  if (pendingRequest === null) return;
  if (pendingRequest.model < models.length - 1) await run.fail(state, rng.pick([400, 401, 403, 404]), rng.words());
  else if ((run.agentOf(state).caps.limits.maxRetries ?? 1) > 0 && state.failures++ === 0) {
    await run.fail(state, rng.pick([429, 500, 503]), rng.words());
    await run.time.advance(retryMs);
    await run.time.settle();
  }
};

const retryMs = 10;

/** Aides that write only to their parent and children, of a session with room for many more. */
const possibleAides = (run: PrivateRun, state: MailCell): readonly Agent[] => {
  const agent = run.agentOf(state);
  const {
    children: { spawns, spawnable },
  } = agent;
  if (spawns === null || spawns.children < roomMin || spawns.perMinute < roomMin) return [];
  if (state.birth.depth >= spawns.depth || !hasTool(state, 'spawn_agent') || !hasTool(state, 'receive_message'))
    return [];
  return [...spawnable, ...(spawns.self ? [agent] : [])].filter(
    ({ permissions: { messages }, signature: { input } }) =>
      input.format === 'text' && (messages ?? []).every((name) => name === 'parent' || name === 'children'),
  );
};

const roomMin = 50;

/** Starts an aide, makes it work, and reads what it says. */
const useAide = async (run: PrivateRun, state: MailCell, rng: Rng, levels: number): Promise<void> => {
  const agent = rng.pick(possibleAides(run, state));
  const workflow = `${aideWorkflow}${rng.hex()}`;
  const args: JsonObject = {
    agent_id: agent.name,
    workflow_id: workflow,
    ...(rng.percent(70) ? { initial_message: rng.words() } : {}),
    ...(rng.percent(60) ? { auto_subscribe: [...agent.permissions.topics.hear] } : {}),
  };
  await call(run, state, { name: 'spawn_agent', args }, rng);
  const aide = run.cells.find(({ birth }) => birth.spawned?.workflow === workflow);
  if (aide === undefined) return;
  if (aide.pendingRequest !== null && levels > 0 && rng.percent(30) && possibleAides(run, aide).length > 0)
    await useAide(run, aide, rng, levels - 1);
  else if (aide.pendingRequest !== null && rng.percent(50)) await look(run, aide, rng);
  const { name } = aide.birth.spawned!;
  for (let left = hasTool(state, 'send_message') ? rng.below(3) : 0; left > 0; left--)
    await call(run, state, { name: 'send_message', args: { to: name, message: rng.words() } }, rng);
  const isShutDown = hasTool(state, 'shutdown_agent') && rng.percent(50);
  // Perhaps with unread mail.
  if (rng.percent(50)) await answerAll(run, aide, rng);
  if (isShutDown) await call(run, state, { name: 'shutdown_agent', args: { sub_agent_id: name } }, rng);
  await answerAll(run, aide, rng);
  if (state.pendingRequest === null) return;
  await call(run, state, { name: 'receive_message', args: { from: [name], timeout_ms: 1 } }, rng);
  if (state.pendingRequest === null) await run.time.advance(1);
  await run.time.settle();
};

const answerAll = async (run: PrivateRun, aide: MailCell, rng: Rng): Promise<void> => {
  for (let left = answersMax; left > 0 && aide.pendingRequest !== null; left--)
    await run.answer(aide, { calls: [], text: rng.words() }, rng);
};

const answersMax = 10;

/** The calls or the answer, with private reasoning and usage, but no other text: the latest text may become the result. */
export const buildMailReply = (state: MailCell, { calls, text }: MailContent, rng: Rng): TestReply => {
  const outputMax = Math.min(state.pendingRequest?.options.maxOutputTokens ?? 200, 200);
  return {
    text,
    reasoning: rng.percent(60) ? rng.words() : '',
    calls: calls.map(({ name, args }) => ({ name, input: JSON.stringify(args), children: [] })),
    finish: calls.length === 0 ? 'stop' : 'tool-calls',
    // Stays below what every attempt holds.
    usage: [rng.below(900), rng.below(Math.max(1, outputMax))],
  };
};
