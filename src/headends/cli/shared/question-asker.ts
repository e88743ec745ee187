// The questions of a run that a command follows: asked one after the other at a terminal; otherwise the run is left when nothing in it
// works any more.
//
//   question-left-resumable. A run is left only while it waits for people, so whoever answers, or resumes it, continues it.
//   prompt-alone. While a question is asked, nothing else is written to the terminal.
import { CloisterError } from '#base';
import type { Cloister, QuestionReport, RunEvent, RunSession } from '#contracts';
import { plural } from '#headends/run-view';
import type { Lines } from './cli-world.ts';
import type { CommandContext } from './define-command.ts';
import { errorLines, errorValue } from './errors.ts';
import { answererProblem, askCommand, usedArgumentsLines } from './question-lines.ts';
import { promptForAnswer } from './question-prompt.ts';
import type { PersonAnswer } from './question-prompt.ts';
import { sanitizeLine } from './sanitize-text.ts';

type QuestionAskerOptions = {
  readonly session: RunSession;
  readonly cloister: Pick<Cloister, 'answer'>;
  readonly workspace: string;
  /** Null: nobody can be asked here. */
  readonly openLines: (() => Lines) | null;
  /** Keeps everything else from writing to the terminal until the returned function is called. */
  readonly pause: () => () => void;
  /** Whether the terminal is free for a question now; default: always. Otherwise `announce` says that one waits. */
  readonly canAsk?: () => boolean;
  readonly announce?: (words: string) => void;
  /** Called in place of leaving the run, when it only waits for questions that the person has put aside. */
  readonly onLater?: () => void;
  /** A question that this person has just answered. */
  readonly answered?: string | null;
  /** The name under which they answer what they may answer under it, unless they type another one; null: the usual one. */
  readonly answerer?: string | null;
};

type Decided = NonNullable<PersonAnswer>;

/** What became of a question that is not asked here any more. */
type Aside = 'later' | 'answered';

export class QuestionAsker {
  readonly #options: QuestionAskerOptions;
  readonly #context: CommandContext;
  readonly #aside = new Map<string, Aside>();
  /** The newest answer to each question, for those that others answer. */
  readonly #rulings = new Map<string, string>();
  readonly #stopListening: () => void;
  #lines: Lines | null = null;
  /** The question at the prompt. `ended`: how, if it does not wait any more. */
  #current: { readonly id: string; ended: string | null } | null = null;
  #name: string | null = null;
  readonly #announced = new Set<string>();
  #mode: 'usual' | 'now' | 'leave' = 'usual';
  #asking: Promise<void> | null = null;
  #hasNews = false;
  #closed = false;
  /** Its open questions, if the run was left. */
  left: readonly QuestionReport[] | null = null;

  constructor(options: QuestionAskerOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
    const { session, answered = null } = options;
    if (answered !== null) this.#aside.set(answered, 'later');
    this.#stopListening = session.onWaiting((waits) => waits && this.look());
    if (session.waitsForPeople) this.look();
  }

  note(event: RunEvent): void {
    if (event.type === 'question') this.look();
    else if (event.type === 'ruling') this.#rulings.set(event.question, event.by);
    else if (event.type === 'question-end' && this.#current?.id === event.question) {
      const by = this.#rulings.get(event.question);
      this.#current.ended = `${event.state}${by === undefined ? '' : ` by ${sanitizeLine(by)}`}`;
      this.#lines?.discard();
    } else if (event.type === 'question-end' && this.#aside.has(event.question)) this.look();
  }

  /** Asks nothing more, and gives the terminal back. */
  close(): void {
    this.#closed = true;
    this.#stopListening();
    this.#lines?.discard();
    this.#lines?.close();
  }

  /** Asks what is open, as soon as the terminal is free. */
  look(): void {
    this.#hasNews = true;
    this.#asking ??= this.#askAll();
  }

  /** Asks what is open as soon as the terminal is free, also what was put aside. */
  askAgain(): void {
    for (const [id, aside] of this.#aside) if (aside === 'later') this.#aside.delete(id);
    this.look();
  }

  /** Asks what is open now, and resolves when the person has decided. */
  async askNow(): Promise<void> {
    this.#mode = 'now';
    this.askAgain();
    await this.#asking;
    this.#mode = 'usual';
  }

  /** Asks nothing more, and leaves the run as soon as it only waits for people. */
  leaveOpen(): void {
    this.#mode = 'leave';
    this.look();
  }

  /** Never rejects: the outcome says what is wrong with the run. */
  async #askAll(): Promise<void> {
    try {
      while (this.#hasNews && !this.#closed) {
        this.#hasNews = false;
        const open = await this.#options.session.questions();
        const next = open.find((one) => this.#isAsked(one));
        if (next === undefined) this.#leaveIfDone(open);
        else if (!this.#canAsk) this.#announce(next);
        else {
          await this.#ask(next);
          this.#hasNews = true;
        }
      }
    } catch {
      // Its records could not be read.
    } finally {
      this.#asking = null;
    }
  }

  get #canAsk(): boolean {
    return this.#mode !== 'usual' || (this.#options.canAsk?.() ?? true);
  }

  #announce({ id, agent }: QuestionReport): void {
    if (this.#announced.has(id)) return;
    this.#announced.add(id);
    this.#options.announce?.(`${sanitizeLine(agent)} asks (${id}); press Enter on an empty line to answer`);
  }

  /** A client answers for its own tools. */
  #isAsked({ id, why }: QuestionReport): boolean {
    return this.#options.openLines !== null && this.#mode !== 'leave' && why !== 'client' && !this.#aside.has(id);
  }

  /** Somebody who has answered, and waits for others, goes on waiting. */
  #leaveIfDone(open: readonly QuestionReport[]): void {
    const { session, openLines, onLater } = this.#options;
    const isOthers = openLines !== null && open.every(({ id }) => this.#aside.get(id) === 'answered');
    const stays = this.#mode === 'leave' ? false : isOthers || this.#mode === 'now' || !this.#canAsk;
    if (open.length === 0 || stays || this.#closed || !session.waitsForPeople) return;
    if (onLater !== undefined && openLines !== null && this.#mode !== 'leave') onLater();
    else if (session.leave()) this.left = open;
  }

  async #ask(question: QuestionReport): Promise<void> {
    const { openLines, pause } = this.#options;
    const { err } = this.#context.output;
    const resume = pause();
    const current = { id: question.id, ended: null as string | null };
    this.#current = current;
    this.#lines = openLines!();
    const restored = this.#context.interrupts.onLeave(() => this.#lines?.close());
    try {
      const prompt = { lines: this.#lines, context: this.#context, name: this.#name ?? this.#options.answerer ?? null };
      const decided = await promptForAnswer(question, prompt);
      this.#current = null;
      if (this.#closed) return;
      if (current.ended !== null) err.print(`Question ${question.id} no longer waits: ${current.ended}.`);
      else if (decided === null) this.#putAside(question);
      else await this.#answer(question, decided);
    } finally {
      this.#current = null;
      this.#lines.close();
      restored();
      resume();
    }
  }

  #putAside({ id }: QuestionReport): void {
    this.#aside.set(id, 'later');
    this.#context.output.err.print(`Question ${id} stays open.`);
  }

  /** An answer that is refused is asked for again. */
  async #answer(question: QuestionReport, { answer, by: typed }: Decided): Promise<void> {
    const { cloister, workspace, session, answerer } = this.#options;
    const isTheirs = (name: string): boolean => answererProblem(question, name) === null;
    const by = typed ?? (answerer != null && isTheirs(answerer) ? answerer : undefined);
    const { err } = this.#context.output;
    const { id, sha256, need, answers } = question;
    this.#name = by ?? this.#name;
    try {
      const { state } = await cloister.answer(id, { ...answer, sha256 }, by === undefined ? {} : { by });
      err.print(...usedArgumentsLines(answer.args, err));
      if (state !== 'waiting') return;
      this.#aside.set(id, 'answered');
      const now = (await session.questions()).find((one) => one.id === id) ?? question;
      err.print(
        `Your answer is recorded. ${plural(need - answers.length - 1, 'more person', 'more people')} must allow it; the run waits:`,
        `  ${askCommand(now, workspace)}`,
      );
    } catch (error) {
      err.print(...errorLines(errorValue(error)));
      if (!(error instanceof CloisterError) || error.code !== 'answer_invalid') this.#aside.set(id, 'later');
    }
  }
}

/** Whether somebody can be asked: they see what is printed, and can type. */
export const isInteractive = (
  { json, jsonl = false }: { readonly json: boolean; readonly jsonl?: boolean },
  { terminal }: Pick<CommandContext, 'terminal'>,
): boolean =>
  !json &&
  !jsonl &&
  terminal.stdout.isTTY === true &&
  terminal.stderr.isTTY === true &&
  hasTypedInput(terminal.lines());

const hasTypedInput = (lines: Lines): boolean => {
  lines.close();
  return lines.isTerminal;
};
