// Computes what every cell of a team should have been shown, from the case and from the recorded crossings, and where each part
// comes from.
import type { CellId } from '#base';
import { decodeEnvelope, decodeMail } from '#contracts';
import type { CrossingEnd, Envelope, Frame, ReceiveResult, Task, TeamMessage } from '#contracts';
import { followTasks } from '#core/tasks';
import { shownBytesMax } from '#core/memory';
import { resolveLimits } from '#core/registry';
import { buildSynthesisPrompt, buildTaskPrompt } from '#core/orchestration';
import { windowTokensDefault } from '#core/session';
import { createObservation, firstDifference } from './observer.ts';
import type { Difference, Observations } from './observer.ts';
import { allTasks } from './graph-case.ts';
import type { CaseTask } from './graph-case.ts';
import type { GraphRun } from './graph-run.ts';

/** The expected prompt of a cell, and the sources of its parts. */
type ExpectedPrompt = {
  readonly prompt: string;
  /** Names of the members whose results it contains. */
  readonly names: readonly string[];
  /** Cells whose results or messages it contains. */
  readonly from: readonly CellId[];
};

type TaskResult = { readonly text: string; readonly cell: CellId; readonly assignee: string };
type SentMessage = TeamMessage & { readonly sender: CellId | null };

export class ExpectedPrompts {
  /** By cell; the prompt of the planning cell is not predicted. */
  readonly expected = new Map<CellId, ExpectedPrompt>();
  readonly #run: GraphRun;
  readonly #specs: ReadonlyMap<string, CaseTask>;
  readonly #tasks = followTasks();
  readonly #done = new Map<string, TaskResult>();
  /** Messages in the team's mailbox, by ledger number; then messages waiting for each member; then those shown to each task. */
  readonly #mailbox = new Map<number, SentMessage>();
  readonly #waiting = new Map<string, SentMessage[]>();
  readonly #shown = new Map<string, readonly SentMessage[]>();

  constructor(run: GraphRun) {
    this.#run = run;
    this.#specs = new Map(allTasks(run.setting.graph).map((task) => [task.id, task]));
    for (const frame of run.frames) {
      this.#read(frame);
      this.#tasks.next(frame);
    }
  }

  #read(frame: Frame): void {
    const { record, cell, contents = [] } = frame;
    const team = this.#run.live.root.cellId;
    for (const { cell: to, kind, seq, from, content } of contents)
      if (to === team && kind === 'message') this.#mailbox.set(seq, readMessage(content, from));
    if (cell !== team) return;
    if (record.type === 'begin' && record.birth?.task !== undefined) this.#cellStarted(record.birth.cell);
    if (record.type !== 'settle') return;
    const { messages = [] } = (record.value ?? {}) as Partial<ReceiveResult>;
    for (const seq of messages) this.#queueMessage(this.#mailbox.get(seq));
    const ended = record.ended?.cell;
    const result = contents.find(({ kind, from }) => kind === 'result' && from === ended)?.content;
    if (ended !== undefined && result !== undefined) this.#cellEnded(ended, decodeEnvelope(result));
  }

  #queueMessage(message: SentMessage | undefined): void {
    if (message === undefined || !this.#run.setting.modelPorts.members.includes(message.to)) return;
    this.#waiting.set(message.to, [...(this.#waiting.get(message.to) ?? []), message]);
  }

  #cellEnded(cell: CellId, { status, output }: Envelope): void {
    const state = this.#run.cellState(cell);
    if (status !== 'completed' || state?.birth.task?.part !== 'task') return;
    this.#done.set(state.birth.task.task, { text: output, cell, assignee: state.birth.agent });
  }

  #cellStarted(cell: CellId): void {
    const state = this.#run.cellState(cell);
    const part = state?.birth.task;
    if (part === undefined || state === undefined || part.part === 'plan') return;
    if (part.part === 'answer') {
      return this.#expect(cell, this.#answer(), this.#resultsOf(this.#all));
    }
    const spec = this.#specs.get(part.task)!;
    const messages = this.#messagesFor(spec, state.birth.agent, part.attempt);
    const scope = spec.memoryScope ?? this.#run.setting.team.agent.team!.rules.memoryScope;
    const all = this.#all;
    const prompt = buildTaskPrompt(
      { ...this.#taskOf(spec.id), memoryScope: scope, assignee: state.birth.agent },
      { getMessages: () => messages },
      { get: (id) => this.#taskOf(id), tasks: () => all.map((id) => this.#taskOf(id)) },
      { bytesMax: shownBytesMax(resolveLimits(state.testAgent.agent.caps.limits, false)) },
    );
    this.#expect(cell, prompt, this.#resultsOf(scope === 'all' ? all : spec.dependsOn), messages);
  }

  #expect(cell: CellId, prompt: string, results: readonly TaskResult[], messages: readonly SentMessage[] = []): void {
    const names = results.map(({ assignee }) => assignee);
    const from = [...results.map((done) => done.cell), ...messages.flatMap(({ sender }) => sender ?? [])];
    this.expected.set(cell, { prompt, names, from });
  }

  /** All task ids, in queue order. */
  get #all(): readonly string[] {
    return [...(this.#queue?.tasks() ?? [])].map(({ id }) => id);
  }

  #resultsOf(ids: readonly string[]): readonly TaskResult[] {
    return ids.flatMap((id) => this.#done.get(id) ?? []);
  }

  get #queue() {
    return this.#tasks.get(this.#run.live.root.cellId)?.queue;
  }

  /** Each message goes once, to the earliest unstarted task of its recipient; a retry of that task gets it again. */
  #messagesFor({ id }: CaseTask, agent: string, attempt: number): readonly SentMessage[] {
    if (attempt > 1) return this.#shown.get(id) ?? [];
    const tasks = [...(this.#queue?.tasks() ?? [])];
    const own = tasks.findIndex((task) => task.id === id);
    const isEarlier = ({ assignee, status, attempts }: Task, index: number): boolean =>
      index < own && assignee === agent && attempts === 0 && (status === 'pending' || status === 'ready');
    const messages = tasks.some(isEarlier) ? [] : (this.#waiting.get(agent) ?? []);
    if (messages.length > 0) this.#waiting.delete(agent);
    this.#shown.set(id, messages);
    return messages;
  }

  /** The task, with as much of its state as other tasks may be shown. */
  #taskOf(id: string): Task {
    const { title, description, dependsOn } = this.#specs.get(id)!;
    const done = this.#done.get(id);
    return {
      id,
      order: 0,
      title,
      description,
      assignee: done?.assignee ?? null,
      dependsOn,
      memoryScope: 'dependencies',
      retries: 0,
      priority: 0,
      when: null,
      status: done === undefined ? 'pending' : 'completed',
      result: done?.text ?? null,
      reason: null,
      attempts: 0,
    };
  }

  #answer(): string {
    const { live, setting } = this.#run;
    const bytesMax = Math.max(
      400,
      Math.min(32_000, Math.floor((windowTokensDefault * 2) / Math.max(1, this.#done.size))),
    );
    return buildSynthesisPrompt(setting.goal, live.team!.queue, { bytesMax });
  }
}

const readMessage = (content: string, from: CrossingEnd): SentMessage => {
  const { id, agent_id, recipient_id, text } = decodeMail(content);
  return { id, from: agent_id, to: recipient_id, content: text, sender: from === 'outside' ? null : from };
};

/** The first prompt that is not the expected one. */
export const wrongPrompt = ({ cells }: GraphRun, { expected }: ExpectedPrompts): Difference | null => {
  for (const { birth, place, firstRequest, shown } of cells) {
    const { prompt, names } = expected.get(birth.cell) ?? {};
    if (firstRequest === null || prompt === undefined || names === undefined) continue;
    const found =
      firstDifference(promptAt(place, prompt), promptAt(place, shown)) ??
      firstDifference(promptAt(place, names.join('\n')), promptAt(place, namesInHeadings(shown).join('\n')));
    if (found !== null) return found;
  }
  return null;
};

const promptAt = (place: string, text: string): Observations =>
  new Map([[place, [createObservation('prompt, expected | actual', text)]]]);

/** All names given as authors in the headings of results. */
const namesInHeadings = (shown: string): readonly string[] =>
  [...shown.matchAll(/^### .*$/gmu)].flatMap(([line]) =>
    [...line.matchAll(/\(\s*by\s+([^)]*)\)/giu)].map(([, name]) => name!),
  );
