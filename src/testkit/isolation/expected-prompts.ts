// What every cell of a team should have been shown, worked out from the case and from what crossed; and whom the thing that
// differs between two runs may reach.
import { decodeMessage } from '#base';
import type { CellId } from '#base';
import type { CrossingEnd, Envelope, Frame, Mail, ReceiveResult, Task, TeamMessage } from '#contracts';
import { followTasks } from '#core/audit';
import { limitsOf, shownBytesMax } from '#core/cells';
import { buildSynthesisPrompt, buildTaskPrompt } from '#core/orchestration';
import { windowTokensDefault } from '#core/session';
import { allTasks } from './graph-case.ts';
import type { CaseTask } from './graph-case.ts';
import type { GraphRun } from './graph-run.ts';

/** What a cell is shown of others: where from. */
export type Expected = {
  readonly prompt: string;
  /** Who did what is in it, each by the name of its member. */
  readonly names: readonly string[];
  /** Cells whose results or messages are in it. */
  readonly from: readonly CellId[];
};

type Done = { readonly text: string; readonly cell: CellId; readonly assignee: string };
type Letter = TeamMessage & { readonly sender: CellId | null };

export class ExpectedPrompts {
  /** By cell; the plan's is not known. */
  readonly expected = new Map<CellId, Expected>();
  readonly #run: GraphRun;
  readonly #specs: ReadonlyMap<string, CaseTask>;
  readonly #tasks = followTasks();
  readonly #done = new Map<string, Done>();
  /** Mail in the team's box, by its number in the ledger; then for whom it waits; then what was shown to a task. */
  readonly #box = new Map<number, Letter>();
  readonly #waiting = new Map<string, Letter[]>();
  readonly #shown = new Map<string, readonly Letter[]>();

  constructor(run: GraphRun) {
    this.#run = run;
    this.#specs = new Map(allTasks(run.setting.of).map((task) => [task.id, task]));
    for (const frame of run.frames) {
      this.#read(frame);
      this.#tasks.next(frame);
    }
  }

  #read(frame: Frame): void {
    const { record, cell, contents = [] } = frame;
    const team = this.#run.live.cell;
    for (const { cell: to, kind, seq, from, content } of contents)
      if (to === team && kind === 'message') this.#box.set(seq, letterOf(content, from));
    if (cell !== team) return;
    if (record.type === 'begin' && record.birth?.task !== undefined) this.#born(record.birth.cell);
    if (record.type !== 'settle') return;
    const { messages = [] } = (record.value ?? {}) as Partial<ReceiveResult>;
    for (const seq of messages) this.#wait(this.#box.get(seq));
    const ended = record.ended?.cell;
    const result = contents.find(({ kind, from }) => kind === 'result' && from === ended)?.content;
    if (ended !== undefined && result !== undefined) this.#end(ended, JSON.parse(result) as Envelope);
  }

  #wait(letter: Letter | undefined): void {
    if (letter === undefined || !this.#run.setting.mind.members.includes(letter.to)) return;
    this.#waiting.set(letter.to, [...(this.#waiting.get(letter.to) ?? []), letter]);
  }

  #end(cell: CellId, { status, output }: Envelope): void {
    const seat = this.#run.seatOf(cell);
    if (status !== 'completed' || seat?.birth.task?.part !== 'task') return;
    this.#done.set(seat.birth.task.task, { text: output, cell, assignee: seat.birth.agent });
  }

  #born(cell: CellId): void {
    const seat = this.#run.seatOf(cell);
    const part = seat?.birth.task;
    if (part === undefined || seat === undefined || part.part === 'plan') return;
    if (part.part === 'answer') {
      return this.#expect(cell, this.#answer(), this.#resultsOf(this.#all));
    }
    const spec = this.#specs.get(part.task)!;
    const letters = this.#lettersFor(spec, seat.birth.agent, part.attempt);
    const scope = spec.memoryScope ?? this.#run.setting.cast.agent.team!.memoryScope;
    const all = this.#all;
    const prompt = buildTaskPrompt(
      { ...this.#taskOf(spec.id), memoryScope: scope, assignee: seat.birth.agent },
      { getMessages: () => letters },
      { get: (id) => this.#taskOf(id), tasks: () => all.map((id) => this.#taskOf(id)) },
      { bytesMax: shownBytesMax(limitsOf(seat.part.agent, false)) },
    );
    this.#expect(cell, prompt, this.#resultsOf(scope === 'all' ? all : spec.dependsOn), letters);
  }

  #expect(cell: CellId, prompt: string, results: readonly Done[], letters: readonly Letter[] = []): void {
    const names = results.map(({ assignee }) => assignee);
    const from = [...results.map((done) => done.cell), ...letters.flatMap(({ sender }) => sender ?? [])];
    this.expected.set(cell, { prompt, names, from });
  }

  /** In the order of the queue. */
  get #all(): readonly string[] {
    return [...(this.#queue?.tasks() ?? [])].map(({ id }) => id);
  }

  #resultsOf(ids: readonly string[]): readonly Done[] {
    return ids.flatMap((id) => this.#done.get(id) ?? []);
  }

  get #queue() {
    return this.#tasks.of(this.#run.live.cell)?.queue;
  }

  /** Each once, to the earliest task of its reader that has not started; to that again when it is tried again. */
  #lettersFor({ id }: CaseTask, agent: string, attempt: number): readonly Letter[] {
    if (attempt > 1) return this.#shown.get(id) ?? [];
    const tasks = [...(this.#queue?.tasks() ?? [])];
    const own = tasks.findIndex((task) => task.id === id);
    const isEarlier = ({ assignee, status, attempts }: Task, index: number): boolean =>
      index < own && assignee === agent && attempts === 0 && (status === 'pending' || status === 'ready');
    const letters = tasks.some(isEarlier) ? [] : (this.#waiting.get(agent) ?? []);
    if (letters.length > 0) this.#waiting.delete(agent);
    this.#shown.set(id, letters);
    return letters;
  }

  /** As far as others may be shown it. */
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

const letterOf = (content: string, from: CrossingEnd): Letter => {
  const { id, agent_id, recipient_id, text } = decodeMessage(content) as Mail;
  return { id, from: agent_id, to: recipient_id, content: text, sender: from === 'outside' ? null : from };
};
