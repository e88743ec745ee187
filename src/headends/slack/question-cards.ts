// The cards of one run's questions in its thread.
//
//   card-as-it-is. A card shows what the service says about its question now, whoever answered it and wherever.
import type { AgentService, Caller, CallerQuestion, RunEvent } from '#contracts';
import type { ButtonValues } from './button-values.ts';
import { endedCard, questionCard, questionFallback } from './question-card.ts';
import type { SlackMessages } from './slack-messages.ts';
import type { ThreadAddress } from './slack-place.ts';

type QuestionCardPorts = {
  readonly service: Pick<AgentService, 'questions'>;
  readonly messages: Pick<SlackMessages, 'postOnce' | 'update'>;
  readonly values: ButtonValues;
  readonly caller: Caller;
  readonly address: ThreadAddress;
  /** Called before a card is posted, so that it comes after what the agent wrote. */
  readonly before: () => Promise<void>;
  /** Cards may be there from before. */
  readonly isLate: boolean;
};

type Card = { ts: string | undefined; shown: string; work: Promise<void>; isDue: boolean };

export class QuestionCards {
  readonly #ports: QuestionCardPorts;
  /** By question. */
  readonly #cards = new Map<string, Card>();

  constructor(ports: QuestionCardPorts) {
    this.#ports = ports;
  }

  next(event: RunEvent): void {
    if (event.type === 'question' && event.why === 'client') return;
    if (event.type === 'question' || event.type === 'ruling' || event.type === 'question-end')
      this.refresh(event.question);
  }

  /** Brings a card to what became of its question, once the change before it is done. */
  refresh(question: string): void {
    const card = this.#cards.get(question) ?? { ts: undefined, shown: '', work: Promise.resolve(), isDue: false };
    this.#cards.set(question, card);
    if (card.isDue) return;
    card.isDue = true;
    const before = card.work;
    card.work = (async () => {
      await before;
      card.isDue = false;
      await this.#show(question, card);
    })();
    card.work.catch(() => undefined);
  }

  /** Resolves when all cards are as they are to be. Rejects if the service could not be asked. */
  async settle(): Promise<void> {
    await Promise.all([...this.#cards.values()].map(({ work }) => work));
  }

  async #show(id: string, card: Card): Promise<void> {
    const { service, messages, values, caller, address, isLate, before } = this.#ports;
    const question = await service.questions.find(caller, id);
    if (question.why === 'client') return;
    const content = this.#content(question);
    const shown = JSON.stringify(content);
    if (shown === card.shown) return;
    if (card.ts === undefined) {
      await before();
      const posted = { ...content, mayExist: isLate };
      card.ts = await messages.postOnce(address, values.mark('question', id), posted);
      // One that was there already may show what was true before.
      if (card.ts !== undefined && isLate) await messages.update(address.channel, card.ts, content);
    } else await messages.update(address.channel, card.ts, content);
    card.shown = shown;
  }

  #content(question: CallerQuestion): { readonly text: string; readonly blocks: ReturnType<typeof endedCard> } {
    const { values } = this.#ports;
    const buttons = { value: values.ofQuestion(question.id), stop: values.ofRun(question.run) };
    const blocks = question.state === 'open' ? questionCard(question, buttons) : endedCard(question);
    return { text: questionFallback(question), blocks };
  }
}
