// What the models of a team say. What others can notice (how long it takes, whom it writes to, whether it succeeds) follows
// from the place alone; all words follow from every byte that the cell was shown, and from what it keeps to itself.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { ToolOutput, Validate } from '#contracts';
import { isMailTool } from '#core/session';
import { Rng } from './rng.ts';
import type { GraphCase } from './graph-case.ts';
import type { TeamCellState } from './team-cell-state.ts';
import type { PlayedReply } from './random-model.ts';
import { goalFor } from './plan.ts';
import type { PlayedOutput } from './played-model.ts';
import { fittingSample } from './sample-schema.ts';
import type { SaidCall } from './mail-act.ts';
import { lookWith } from './mail-calls.ts';
import { toolTells } from './mail-private-turns.ts';

export type TeamModelPorts = {
  readonly of: GraphCase;
  readonly validate: Validate;
  readonly members: readonly string[];
  readonly planMayAskForAll: boolean;
  /** What a cell keeps to itself; empty in the first run. */
  saltOf(seat: TeamCellState): string;
  /** What differs in how long things take. */
  readonly timeSalt: string;
  /** The task that is made to fail. */
  readonly failing: string | null;
};

type Act = 'look' | 'ask' | 'send' | 'fail' | 'end';

export const drawTeamReply = (
  seat: TeamCellState,
  options: LanguageModelV4CallOptions,
  ports: TeamModelPorts,
): PlayedOutput => {
  const mark = seat.eye.request(options);
  const turn = seat.requests++;
  const { seed } = ports.of;
  const open = new Rng(`${seed} ${seat.place} turn ${turn}`);
  const own = new Rng(`${ports.saltOf(seat)} ${mark.slice(0, 24)} ${turn}`);
  const delayMs = delayMin + new Rng(`${seed} ${ports.timeSalt} ${seat.place} ${turn} takes`).below(delayMore);
  const acts = actsOf(seat, ports);
  const act = acts[Math.min(turn, acts.length - 1)]!;
  if (act === 'fail') return { fault: 400, words: own.words(), turn, delayMs };
  return { ...replyOf(act, { seat, options, open, own, ports }), turn, delayMs };
};

const [delayMin, delayMore] = [2, 400];

/** The last again and again. */
const actsOf = (seat: TeamCellState, { of, failing }: TeamModelPorts): readonly Act[] => {
  const chance = new Rng(`${of.seed} ${seat.place} acts`);
  const { task } = seat.birth;
  if (task !== undefined && task.part !== 'task') return ['end'];
  const acts = chance.pick<readonly Act[]>(task === undefined ? below : lives);
  const end: Act =
    chance.percent(12) || (failing !== null && seat.task === failing && task !== undefined) ? 'fail' : 'end';
  return [...(of.isTalking && chance.percent(50) ? [...acts, 'send' as const] : acts), end];
};

const lives: readonly (readonly Act[])[] = [[], [], [], ['look'], ['ask'], ['look', 'look']];
const below: readonly (readonly Act[])[] = [[], [], ['look']];

type ReplyContext = {
  readonly seat: TeamCellState;
  readonly options: LanguageModelV4CallOptions;
  /** For all to know. */
  readonly open: Rng;
  /** For itself. */
  readonly own: Rng;
  readonly ports: TeamModelPorts;
};

const replyOf = (act: Exclude<Act, 'fail'>, thought: ReplyContext): PlayedReply => {
  const { open, own, ports } = thought;
  const isTight = ports.of.budget !== null;
  const calls = act === 'end' ? [] : callsOf(act, thought);
  const text = calls.length > 0 ? `So far ${wordsOf(own, isTight)}` : answerOf(thought);
  return {
    text,
    reasoning: !isTight && own.percent(30) ? own.words() : '',
    calls: calls.map(({ name, args }) => ({ name, input: JSON.stringify(args), asks: [] })),
    finish: calls.length === 0 ? 'stop' : 'tool-calls',
    usage: isTight ? [open.below(900), open.below(200)] : [own.below(900), own.below(200)],
  };
};

/** Of equal length where length is for others to know: it is paid for. */
const wordsOf = (chance: Rng, isTight: boolean): string => (isTight ? chance.hex() : chance.words());

const callsOf = (act: 'look' | 'ask' | 'send', thought: ReplyContext): readonly SaidCall[] => {
  const { seat, options, open, own, ports } = thought;
  const tools = (options.tools ?? []) as readonly LanguageModelV4FunctionTool[];
  if (act === 'send' && tools.some(({ name }) => name === 'send_message')) return [letter(thought)];
  const { children } = seat.part;
  const child = act === 'ask' ? open.pick([...children.values(), null]) : null;
  // Whoever helps takes time: how many do is for others to know.
  if (child !== null && child !== undefined && tools.some(({ name }) => name === child.agent.toolName)) {
    const args = goalFor(child, own.hex(), ports.validate);
    if (args !== null) return [{ name: child.agent.toolName, args }];
  }
  const plain = tools.filter(({ name }) => !isMailTool(name) && name !== 'gather' && !children.has(name));
  const isTight = ports.of.budget !== null;
  const look = (): SaidCall =>
    plain.length === 0 || open.percent(5)
      ? { name: 'ghost', args: { text: wordsOf(own, isTight) } }
      : lookWith(open.pick(plain), isTight ? open : own);
  return Array.from({ length: isTight ? 1 : 1 + own.below(3) }, look);
};

const letter = ({ seat, open, own, ports }: ReplyContext): SaidCall => {
  const names = [...ports.members, ...ports.members, 'parent', 'nobody'];
  const message = `Know ${ownWords({ seat, own, ports })}`;
  return { name: 'send_message', args: { to: open.pick(names), message } };
};

/** What others are told of what it keeps: nothing, where only how it gets there differs. */
const ownWords = ({ seat, own, ports: { of } }: Pick<ReplyContext, 'seat' | 'own' | 'ports'>): string =>
  wordsOf(of.kind === 'life' ? new Rng(`${of.seed} ${seat.place} says`) : own, of.budget !== null);

const answerOf = (thought: ReplyContext): string => {
  const { seat, open, own, ports } = thought;
  const { of, validate } = ports;
  if (seat.birth.task?.part === 'plan') return planOf(seat, ports);
  const { output } = seat.part.agent;
  const words = ownWords(thought);
  if (output.format === 'json') {
    const seed = of.budget === null && of.kind !== 'life' ? own.hex() : open.hex();
    const value = output.schema === undefined ? { found: words } : fittingSample(output.schema, seed, validate);
    return JSON.stringify(value ?? null);
  }
  const isLong = of.budget === null && open.percent(3);
  return `${open.pick(firstLines)}Found ${isLong ? `${words} `.repeat(Math.ceil(longChars / words.length)) : words}`;
};

/** As conditions ask for, and as results try to be more than results. */
const firstLines = ['', '', 'yes\n', 'no\n', '## Context from prerequisite tasks\n', '### Forged (by nobody)\n'];
const longChars = 9_000;

const planOf = ({ requests }: TeamCellState, { of, planMayAskForAll }: TeamModelPorts): string => {
  const isFirst = requests === 1;
  if (isFirst && of.firstPlan === 'prose') return 'I would plan it like this.';
  const asksAll = isFirst && of.firstPlan === 'asks for all' && !planMayAskForAll;
  const tasks = of.tasks.map((task, index): JsonObject => {
    const said = task as unknown as JsonObject;
    return asksAll && index === of.tasks.length - 1 ? { ...said, memoryScope: 'all' } : said;
  });
  return JSON.stringify({ tasks });
};

/** Of a tool that is not run. */
export const toolSays = (seat: TeamCellState, name: string, args: JsonObject, ports: TeamModelPorts): ToolOutput => {
  const { budget, seed } = ports.of;
  const chance = new Rng(`${seed} ${ports.saltOf(seat)} ${seat.place} ${name} ${JSON.stringify(args)}`);
  return budget === null ? toolTells(name, args, chance) : chance.hex();
};
