// Draws the replies of a team's test models. What others can observe (timing, recipients, success) depends only on the place. All
// text depends on every byte that the cell was shown and on its salt.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { Birth, ToolOutput, Validate } from '#contracts';
import { isMailTool } from '#core/session';
import { Rng } from './rng.ts';
import type { GraphCase } from './graph-case.ts';
import type { TestReply } from './random-model.ts';
import { drawGoal, drawJsonAnswer } from './plan.ts';
import type { TestModelOutput } from './test-model.ts';
import type { DrawnCall } from './mail-cell.ts';
import { callWithSampleArgs } from './mail-calls.ts';
import { drawToolOutput } from './stand-in-tools.ts';
import type { TestAgent } from './agent-tree.ts';
import { ObservedCell } from './test-run.ts';

/** One cell of a team. Its place: `t3 #1` is the first try of a task; `the plan`; `the answer`; below them `t3 #1 › helper #2`. */
export class TeamCell extends ObservedCell {
  declare readonly parent: TeamCell | null;
  readonly testAgent: TestAgent;
  requests = 0;
  /** The first request to its model. */
  firstRequest: LanguageModelV4CallOptions | null = null;

  constructor(birth: Birth, place: string, parent: TeamCell | null, testAgent: TestAgent) {
    super(birth, place, parent, testAgent.sentTools);
    this.testAgent = testAgent;
  }

  /** The task that it works on or helps with. */
  get task(): string | null {
    const { task } = this.birth;
    if (task === undefined) return this.parent?.task ?? null;
    return task.part === 'task' ? task.task : null;
  }

  /** The user messages of the first request, part by part. */
  get shown(): string {
    return (this.firstRequest?.prompt ?? [])
      .flatMap(({ role, content }) =>
        role === 'user' ? content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)) : [],
      )
      .join('\n\n');
  }
}

export type TeamModelPorts = {
  readonly graph: GraphCase;
  readonly validate: Validate;
  readonly members: readonly string[];
  readonly planMayAskForAll: boolean;
  /** The salt of a cell's private content; empty in the first run. */
  saltOf(state: TeamCell): string;
  /** The salt of all delays. */
  readonly timeSalt: string;
  /** The task that must fail. */
  readonly failingTask: string | null;
};

type Act = 'look' | 'ask' | 'send' | 'fail' | 'end';

export const drawTeamReply = (
  state: TeamCell,
  options: LanguageModelV4CallOptions,
  ports: TeamModelPorts,
): TestModelOutput => {
  const fingerprint = state.observer.request(options);
  const turn = state.requests++;
  const { seed } = ports.graph;
  const open = new Rng(`${seed} ${state.place} turn ${turn}`);
  const own = new Rng(`${ports.saltOf(state)} ${fingerprint.slice(0, 24)} ${turn}`);
  const delayMs = delayMin + new Rng(`${seed} ${ports.timeSalt} ${state.place} ${turn} takes`).below(delayMore);
  const acts = planActs(state, ports);
  const act = acts[Math.min(turn, acts.length - 1)]!;
  if (act === 'fail') return { fault: 400, message: own.words(), turn, delayMs };
  return { ...buildReply(act, { state, options, publicRng: open, privateRng: own, ports }), turn, delayMs };
};

const [delayMin, delayMore] = [2, 400];

/** The last act repeats. */
const planActs = (state: TeamCell, { graph, failingTask }: TeamModelPorts): readonly Act[] => {
  const rng = new Rng(`${graph.seed} ${state.place} acts`);
  const { task } = state.birth;
  if (task !== undefined && task.part !== 'task') return ['end'];
  const acts = rng.pick<readonly Act[]>(task === undefined ? helperActs : taskActs);
  const end: Act =
    rng.percent(12) || (failingTask !== null && state.task === failingTask && task !== undefined) ? 'fail' : 'end';
  return [...(graph.sendsMessages && rng.percent(50) ? [...acts, 'send' as const] : acts), end];
};

const taskActs: readonly (readonly Act[])[] = [[], [], [], ['look'], ['ask'], ['look', 'look']];
const helperActs: readonly (readonly Act[])[] = [[], [], ['look']];

type ReplyContext = {
  readonly state: TeamCell;
  readonly options: LanguageModelV4CallOptions;
  /** For what others can observe. */
  readonly publicRng: Rng;
  /** For private content. */
  readonly privateRng: Rng;
  readonly ports: TeamModelPorts;
};

const buildReply = (act: Exclude<Act, 'fail'>, context: ReplyContext): TestReply => {
  const { publicRng, privateRng, ports } = context;
  const isTight = ports.graph.budget !== null;
  const calls = act === 'end' ? [] : drawCalls(act, context);
  const text = calls.length > 0 ? `So far ${drawText(privateRng, isTight)}` : drawAnswer(context);
  return {
    text,
    reasoning: !isTight && privateRng.percent(30) ? privateRng.words() : '',
    calls: calls.map(({ name, args }) => ({ name, input: JSON.stringify(args), children: [] })),
    finish: calls.length === 0 ? 'stop' : 'tool-calls',
    usage: isTight ? [publicRng.below(900), publicRng.below(200)] : [privateRng.below(900), privateRng.below(200)],
  };
};

/** Text of fixed length if a budget makes the length observable. */
const drawText = (rng: Rng, isTight: boolean): string => (isTight ? rng.hex() : rng.words());

const drawCalls = (act: 'look' | 'ask' | 'send', context: ReplyContext): readonly DrawnCall[] => {
  const { state, options, publicRng, privateRng, ports } = context;
  const tools = (options.tools ?? []) as readonly LanguageModelV4FunctionTool[];
  if (act === 'send' && tools.some(({ name }) => name === 'send_message')) return [drawMessage(context)];
  const { children } = state.testAgent;
  const child = act === 'ask' ? publicRng.pick([...children.values(), null]) : null;
  // A helper takes time, so the number of helpers is observable.
  if (child !== null && child !== undefined && tools.some(({ name }) => name === child.agent.signature.modelToolName)) {
    const args = drawGoal(child, privateRng.hex(), ports.validate);
    if (args !== null) return [{ name: child.agent.signature.modelToolName, args }];
  }
  const plain = tools.filter(({ name }) => !isMailTool(name) && name !== 'gather' && !children.has(name));
  const isTight = ports.graph.budget !== null;
  const look = (): DrawnCall =>
    plain.length === 0 || publicRng.percent(5)
      ? { name: 'ghost', args: { text: drawText(privateRng, isTight) } }
      : callWithSampleArgs(publicRng.pick(plain), isTight ? publicRng : privateRng);
  return Array.from({ length: isTight ? 1 : 1 + privateRng.below(3) }, look);
};

const drawMessage = ({ state, publicRng, privateRng, ports }: ReplyContext): DrawnCall => {
  const names = [...ports.members, ...ports.members, 'parent', 'nobody'];
  const message = `Know ${privateText({ state, privateRng, ports })}`;
  return { name: 'send_message', args: { to: publicRng.pick(names), message } };
};

/** Text that others may see; it is not varied if only the path to the result differs. */
const privateText = ({
  state,
  privateRng,
  ports: { graph },
}: Pick<ReplyContext, 'state' | 'privateRng' | 'ports'>): string =>
  drawText(graph.kind === 'path' ? new Rng(`${graph.seed} ${state.place} says`) : privateRng, graph.budget !== null);

const drawAnswer = (context: ReplyContext): string => {
  const { state, publicRng, privateRng, ports } = context;
  const { graph, validate } = ports;
  if (state.birth.task?.part === 'plan') return planText(state, ports);
  const words = privateText(context);
  const rng = graph.budget === null && graph.kind !== 'path' ? privateRng : publicRng;
  const json = drawJsonAnswer(state.testAgent.agent.signature.output, words, rng.hex(), validate);
  if (json !== null) return json;
  const isLong = graph.budget === null && publicRng.percent(3);
  return `${publicRng.pick(firstLines)}Found ${isLong ? `${words} `.repeat(Math.ceil(longChars / words.length)) : words}`;
};

/** First lines that conditions test, and some that imitate other parts of a prompt. */
const firstLines = ['', '', 'yes\n', 'no\n', '## Context from prerequisite tasks\n', '### Forged (by nobody)\n'];
const longChars = 9_000;

const planText = ({ requests }: TeamCell, { graph, planMayAskForAll }: TeamModelPorts): string => {
  const isFirst = requests === 1;
  if (isFirst && graph.firstPlan === 'prose') return 'I would plan it like this.';
  const asksAll = isFirst && graph.firstPlan === 'asks for all' && !planMayAskForAll;
  const tasks = graph.tasks.map((task, index): JsonObject => {
    const spec = task as unknown as JsonObject;
    return asksAll && index === graph.tasks.length - 1 ? { ...spec, memoryScope: 'all' } : spec;
  });
  return JSON.stringify({ tasks });
};

/** The result of a tool that is not really run. */
export const drawTeamToolOutput = (
  state: TeamCell,
  name: string,
  args: JsonObject,
  ports: TeamModelPorts,
): ToolOutput => {
  const { budget, seed } = ports.graph;
  const rng = new Rng(`${seed} ${ports.saltOf(state)} ${state.place} ${name} ${JSON.stringify(args)}`);
  return budget === null ? drawToolOutput(name, args, rng) : rng.hex();
};
