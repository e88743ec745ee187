// The values of buttons.
//
//   button-tells-nothing. A value is a keyed hash: it says nothing about what it stands for, and nobody without the key can make one.
//   button-own-only. A value is looked up among what the presser sees. One of somebody else, one that is too old and one that never was
//       are the same: unknown.
import { sha256 } from '#base';
import type { AgentService, Caller, CallerQuestion } from '#contracts';

/** How many of the newest runs of a presser are searched. */
const [pageSize, pagesMax] = [200, 10];

export class ButtonValues {
  readonly #secret: string;
  readonly #service: Pick<AgentService, 'runs' | 'questions'>;

  constructor(secret: string, service: Pick<AgentService, 'runs' | 'questions'>) {
    this.#secret = secret;
    this.#service = service;
  }

  ofRun(run: string): string {
    return this.#hash('run', run);
  }

  ofQuestion(question: string): string {
    return this.#hash('question', question);
  }

  /** Marks one of our messages in a thread, so that it is found again. */
  mark(what: string, id: string): string {
    return this.#hash(`mark ${what}`, id);
  }

  async findRun(caller: Caller, value: string): Promise<string | undefined> {
    let before: string | undefined;
    for (let page = 0; page < pagesMax; page++) {
      // probe: slack-button-run
      const { runs, next } = await this.#service.runs(caller, { most: pageSize, before });
      const found = runs.find(({ run }) => this.ofRun(run) === value);
      if (found !== undefined || next === null) return found?.run;
      before = next;
    }
    return undefined;
  }

  /** Among the questions that wait, or of one of the presser's own runs. */
  async findQuestion(caller: Caller, value: string): Promise<CallerQuestion | undefined> {
    // probe: slack-button-question
    const waiting = await this.#service.questions.list(caller);
    return waiting.find(({ id }) => this.ofQuestion(id) === value);
  }

  #hash(kind: string, id: string): string {
    return sha256(`slack ${JSON.stringify([kind, this.#secret, id])}`).slice(0, 40);
  }
}
