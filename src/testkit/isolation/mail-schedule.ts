// Draws what happens next in a run of agents that talk: somebody says something, time passes, the process dies, or whoever
// runs them writes, or asks one to end.
import type { Json } from '#base';
import type { Agent } from '#contracts';
import type { Rng } from './rng.ts';
import { fittingSample } from './sample-schema.ts';
import type { Act, SaidCall } from './mail-act.ts';
import { drawCalls } from './mail-calls.ts';
import type { Speaker } from './mail-calls.ts';
import type { TalkRun } from './mail-run.ts';
import type { MailCellState } from './mail-cell-state.ts';

const longMs = 31_000;

/** One act, or one and the time that it takes. */
export const drawActs = (run: TalkRun, family: readonly Agent[], chance: Rng): readonly Act[] => {
  const { asked, setting } = run;
  const kind = chance.below(100);
  if (kind < 6) return [{ do: 'crash' }];
  if (kind < 12) return [{ do: 'pass', ms: chance.pick([longMs, 1_000]) }];
  if (kind < 16) return drawEnd(run, chance);
  if (kind < 24 && setting.resident !== null) return [drawTelling(run, chance)];
  if (asked.length > 0) return drawSaying(run, chance.pick(asked), family, chance);
  return setting.resident === null || chance.percent(50) ? [{ do: 'pass', ms: longMs }] : [drawTelling(run, chance)];
};

/** The last acts: the root says its answer, or is asked to end; whom it began has time to. */
export const lastActs = (run: TalkRun, chance: Rng): readonly Act[] => {
  const [root] = run.seats;
  if (root === undefined) return [];
  const { place } = root;
  const end: Act =
    run.setting.resident === null
      ? { do: 'say', place, calls: [], text: answerOf(run.agentOf(root), run, chance) }
      : { do: 'end', place };
  return [end, { do: 'pass', ms: graceMsOf(run) }];
};

/** Longer than any of them may take to come to an end. */
const graceMsOf = ({ setting: { root } }: TalkRun): number => 1_000 + Math.max(5_000, root.agent.spawns?.graceMs ?? 0);

const drawEnd = (run: TalkRun, chance: Rng): readonly Act[] => {
  const living = run.live.members().flatMap(({ cell, parent }) => (parent === null ? [] : [run.seatOf(cell)!]));
  if (living.length === 0) return [{ do: 'pass', ms: 1_000 }];
  return [{ do: 'end', place: chance.pick(living).place }, ...grace(run, chance)];
};

/** Mostly at once; else whoever was asked to end may still say something. */
const grace = (run: TalkRun, chance: Rng): readonly Act[] =>
  chance.percent(60) ? [{ do: 'pass', ms: graceMsOf(run) }] : [];

const drawTelling = ({ setting }: TalkRun, chance: Rng): Act => {
  const { hear } = setting.root.agent.topics;
  const topic = hear.length > 0 && chance.percent(30) ? { topic: chance.pick(hear) } : {};
  return { do: 'tell', text: chance.words(), ...topic };
};

const drawSaying = (run: TalkRun, seat: MailCellState, family: readonly Agent[], chance: Rng): readonly Act[] => {
  const speaker = speakerAt(run, seat, family);
  // A root that is there for its goal alone would end all.
  const mayAnswer = seat.parent !== null || run.setting.resident !== null;
  const calls: SaidCall[] = [];
  if (!mayAnswer || chance.percent(80))
    for (let count = chance.percent(30) ? 2 : 1; count > 0; count--) calls.push(...drawCalls(speaker, chance));
  const { place } = seat;
  if (calls.length === 0 && !mayAnswer) return [{ do: 'pass', ms: 1_000 }];
  const text = calls.length === 0 ? answerOf(speaker.agent, run, chance) : '';
  const ends = calls.some(({ name }) => name === 'shutdown_agent');
  return [{ do: 'say', place, calls, text }, ...(ends ? grace(run, chance) : [])];
};

const speakerAt = (run: TalkRun, seat: MailCellState, family: readonly Agent[]): Speaker => {
  const members = run.live.members();
  const { birth } = seat;
  const own = birth.cell;
  return {
    agent: run.agentOf(seat),
    part: run.partOf(seat),
    tools: seat.tools,
    names: [...new Set([...members.map((one) => one.sub_agent_id), ...family.map(({ name }) => name)])],
    strangers: members.flatMap(({ cell, parent, sub_agent_id: name }) =>
      [cell, parent].includes(own) || cell === birth.parent ? [] : [name],
    ),
    children: members.flatMap((one) => (one.parent === own ? [one.sub_agent_id] : [])),
    hearOf: (name) => family.find((agent) => agent.name === name)?.topics.hear ?? [],
    validate: run.setting.validate,
  };
};

const answerOf = ({ output }: Agent, { setting }: TalkRun, chance: Rng): string => {
  if (output.format !== 'json') return `Found ${chance.words()}`;
  const value: Json | undefined =
    output.schema === undefined
      ? { found: chance.words() }
      : fittingSample(output.schema, chance.hex(), setting.validate);
  return JSON.stringify(value ?? null);
};
