// Draws the next acts of a run with messages: a model replies, time passes, the process crashes, or the user sends a message or
// asks an agent to finish.
import type { Agent } from '#contracts';
import { drawCalls } from './mail-calls.ts';
import type { CallingSession } from './mail-calls.ts';
import type { Act, DrawnCall, MailCell } from './mail-cell.ts';
import type { MailRun } from './mail-run.ts';
import { drawJsonAnswer } from './plan.ts';
import { allGuesses } from './rng.ts';
import type { Rng } from './rng.ts';

const longMs = 31_000;

/** One act, sometimes followed by the time it takes. */
export const drawActs = (run: MailRun, agents: readonly Agent[], rng: Rng): readonly Act[] => {
  const { waitingForReply, setting } = run;
  const kind = rng.below(100);
  if (kind < 6) return [{ do: 'crash' }];
  if (kind < 12) return [{ do: 'pass', ms: rng.pick([longMs, 1_000]) }];
  if (kind < 16) return drawEnd(run, rng);
  if (kind < 24 && setting.resident !== null) return [drawOutsideMessage(run, rng)];
  if (waitingForReply.length > 0) return drawReplyAct(run, rng.pick(waitingForReply), agents, rng);
  return setting.resident === null || rng.percent(50) ? [{ do: 'pass', ms: longMs }] : [drawOutsideMessage(run, rng)];
};

/** The last acts: the root answers or is asked to finish, and its children get time to end. */
export const closingActs = (run: MailRun, rng: Rng): readonly Act[] => {
  const [root] = run.cells;
  if (root === undefined) return [];
  const { place } = root;
  const end: Act =
    run.setting.resident === null
      ? { do: 'say', place, calls: [], text: drawAnswer(run.agentOf(root), run, rng) }
      : { do: 'end', place };
  return [end, { do: 'pass', ms: waitMs(run) }, { do: 'pass', ms: graceMs(run) }];
};

/** A root that has answered waits at most this long for the agents that it spawned. */
const waitMs = ({ setting: { root } }: MailRun): number => root.agent.children.spawns?.waitMs ?? 0;

/** Longer than any agent may take to finish. */
const graceMs = ({ setting: { root } }: MailRun): number =>
  1_000 + Math.max(5_000, root.agent.children.spawns?.graceMs ?? 0);

const publicMembers = (run: MailRun) => run.live.agents().filter(({ cell }) => run.cellState(cell)?.isAide !== true);

const drawEnd = (run: MailRun, rng: Rng): readonly Act[] => {
  const liveChildren = publicMembers(run).flatMap(({ cell, parent }) =>
    parent === null ? [] : [run.cellState(cell)!],
  );
  if (liveChildren.length === 0) return [{ do: 'pass', ms: 1_000 }];
  return [{ do: 'end', place: rng.pick(liveChildren).place }, ...drawGrace(run, rng)];
};

/** Usually the grace period passes immediately; otherwise the agent may still reply. */
const drawGrace = (run: MailRun, rng: Rng): readonly Act[] =>
  rng.percent(60) ? [{ do: 'pass', ms: graceMs(run) }] : [];

const drawOutsideMessage = ({ setting }: MailRun, rng: Rng): Act => {
  const { hear } = setting.root.agent.permissions.topics;
  const topic = hear.length > 0 && rng.percent(30) ? { topic: rng.pick(hear) } : {};
  return { do: 'tell', text: `${rng.words()} ${allGuesses}`, ...topic };
};

const drawReplyAct = (run: MailRun, state: MailCell, agents: readonly Agent[], rng: Rng): readonly Act[] => {
  const speaker = callingSession(run, state, agents);
  // The answer of a root that is no resident would end the run.
  const mayAnswer = state.parent !== null || run.setting.resident !== null;
  const calls: DrawnCall[] = [];
  if (!mayAnswer || rng.percent(80))
    for (let count = rng.percent(30) ? 2 : 1; count > 0; count--) calls.push(...drawCalls(speaker, rng));
  const { place } = state;
  if (calls.length === 0 && !mayAnswer) return [{ do: 'pass', ms: 1_000 }];
  const text = calls.length === 0 ? drawAnswer(speaker.agent, run, rng) : '';
  const ends = calls.some(({ name }) => name === 'shutdown_agent');
  return [{ do: 'say', place, calls, text }, ...(ends ? drawGrace(run, rng) : [])];
};

const callingSession = (run: MailRun, state: MailCell, agents: readonly Agent[]): CallingSession => {
  const members = publicMembers(run);
  const { birth } = state;
  const own = birth.cell;
  return {
    agent: run.agentOf(state),
    testAgent: run.testAgentOf(state),
    tools: state.tools,
    names: [...new Set([...members.map((one) => one.sub_agent_id), ...agents.map(({ name }) => name)])],
    others: members.flatMap(({ cell, parent, sub_agent_id: name }) =>
      [cell, parent].includes(own) || cell === birth.parent ? [] : [name],
    ),
    children: members.flatMap((one) => (one.parent === own ? [one.sub_agent_id] : [])),
    topicsOf: (name) => agents.find((agent) => agent.name === name)?.permissions.topics.hear ?? [],
    validate: run.setting.validate,
  };
};

const drawAnswer = ({ signature: { output } }: Agent, { setting }: MailRun, rng: Rng): string =>
  drawJsonAnswer(output, rng.words(), rng.hex(), setting.validate) ?? `Found ${rng.words()}`;
