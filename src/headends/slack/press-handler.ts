// Buttons and dialogs.
//
//   press-by-presser. Whoever presses is the caller, and the service decides. What is not theirs and what does not exist get the same words.
//   press-acknowledged-first. Nothing but the storing of a request happens before the acknowledgement, except the checks of a dialog, which
//       is told in time what is wrong with it.
import { CloisterError, isObject, sha256 } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentService, Caller, CallerQuestion, Clock, Inbox, QuestionAnswer } from '#contracts';
import type { ButtonValues } from './button-values.ts';
import type { CallQueue } from './call-queue.ts';
import type { ButtonPress, FormSubmission } from './parse-delivery.ts';
import { denyForm, editForm, questionActions, questionForms, readAskedText, replyForm } from './question-card.ts';
import { notYoursText, refusalText } from './refusal-text.ts';
import { detailsLoading, detailsModal } from './run-details.ts';
import type { SlackAck } from './slack-api.ts';
import type { SlackMessages } from './slack-messages.ts';
import { queueOfThread } from './slack-place.ts';

type PressPorts = {
  readonly service: AgentService;
  readonly inbox: Pick<Inbox, 'put'>;
  readonly values: ButtonValues;
  readonly messages: SlackMessages;
  readonly queue: Pick<CallQueue, 'upload'>;
  readonly clock: Clock;
  /** Counts a request. Throws `rate_exceeded`. */
  readonly admit: (caller: Caller) => void;
  readonly callerOf: (team: string, user: string) => Caller;
  readonly redact: (text: string) => string;
  readonly wake: (queue: string) => void;
  readonly later: (work: () => Promise<void>) => void;
};

/** Slack waits three seconds for the answer to a dialog. */
const formWaitMs = 2_000;

export class PressHandler {
  readonly #ports: PressPorts;
  /** Files that are being made. */
  readonly #uploading = new Set<string>();

  constructor(ports: PressPorts) {
    this.#ports = ports;
  }

  async press(press: ButtonPress): Promise<SlackAck> {
    const { later } = this.#ports;
    if (press.action === 'cloister_retry') {
      await this.#telling(press, () => this.#retry(press));
      return undefined;
    }
    later(() => this.#telling(press, () => this.#act(press)));
    return undefined;
  }

  /** What is wrong with a dialog is shown in it. */
  async submit(form: FormSubmission): Promise<SlackAck> {
    const { clock } = this.#ports;
    const answered = this.#submit(form);
    const late = Promise.withResolvers<undefined>();
    const cancel = clock.timer(formWaitMs, () => late.resolve(undefined));
    try {
      return await Promise.race([answered, late.promise]);
    } catch (error) {
      return formErrors(form, refusalText(error));
    } finally {
      cancel();
      answered.catch(() => undefined);
    }
  }

  async #telling(press: ButtonPress, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      await this.#tell(press, refusalText(error));
    }
  }

  async #tell({ place, user }: ButtonPress, text: string): Promise<void> {
    if (place !== null) await this.#ports.messages.tellPrivately(place, user, text);
  }

  async #act(press: ButtonPress): Promise<void> {
    const { action } = press;
    if (action === 'cloister_stop') return this.#withRun(press, (caller, run) => this.#stop(caller, run));
    if (action === 'cloister_details') return this.#withRun(press, (caller, run) => this.#details(press, caller, run));
    if (action.startsWith('cloister_page_'))
      return this.#withRun(press, (caller, run) => this.#page(press, caller, run));
    if (action === 'cloister_json') return this.#withRun(press, (caller, run) => this.#json(press, caller, run));
    return this.#answer(press);
  }

  async #withRun(press: ButtonPress, act: (caller: Caller, run: string) => Promise<void>): Promise<void> {
    const caller = this.#ports.callerOf(press.team, press.user);
    const run = await this.#ports.values.findRun(caller, press.value);
    await (run === undefined ? this.#tell(press, notYoursText) : act(caller, run));
  }

  async #stop(caller: Caller, run: string): Promise<void> {
    await this.#ports.service.do(caller, run, { do: 'cancel' });
  }

  async #retry(press: ButtonPress): Promise<void> {
    const { service, inbox, clock, admit, wake } = this.#ports;
    return this.#withRun(press, async (caller, run) => {
      if (press.place === null) return;
      const { summary } = await service.find(caller, run);
      admit(caller);
      const queue = queueOfThread(press.place);
      const body = { type: 'retry', ...press.place, user: press.user, run, agent: summary.agent };
      await inbox.put(queue, { id: `retry-${sha256(run).slice(0, 24)}`, by: caller.name, at: clock.now(), body });
      wake(queue);
    });
  }

  async #details({ trigger, value }: ButtonPress, caller: Caller, run: string): Promise<void> {
    const { messages, service } = this.#ports;
    const [view, report] = await Promise.all([
      messages.openView(trigger, detailsLoading),
      service.find(caller, run).then((found) => found.report()),
    ]);
    if (view !== undefined) await messages.updateView(view, detailsModal(report, value, 0));
  }

  async #page({ action, view, value }: ButtonPress, caller: Caller, run: string): Promise<void> {
    const page = Number(/^cloister_page_(\d{1,6})$/u.exec(action)?.[1] ?? 0);
    if (view === null) return;
    const { messages, service } = this.#ports;
    const report = await (await service.find(caller, run)).report();
    await messages.updateView(view, detailsModal(report, value, page));
  }

  async #json({ place, user }: ButtonPress, caller: Caller, run: string): Promise<void> {
    if (place === null || this.#uploading.has(run)) return;
    const { service, queue, messages, redact } = this.#ports;
    this.#uploading.add(run);
    try {
      const report = await (await service.find(caller, run)).report();
      const text = redact(JSON.stringify(report, null, 2));
      const { channel, thread } = place;
      const reply = await queue.upload({ channel, thread, name: `${report.agent}.json`, text });
      if (reply.kind !== 'ok')
        await messages.tellPrivately(place, user, 'Slack did not take the file. Try again in a minute.');
    } finally {
      this.#uploading.delete(run);
    }
  }

  async #answer(press: ButtonPress): Promise<void> {
    const { messages, values, callerOf } = this.#ports;
    const { action, value, trigger, team, user } = press;
    const caller = callerOf(team, user);
    const question = await values.findQuestion(caller, value);
    if (question === undefined) return this.#tell(press, notYoursText);
    if (!question.mayAnswer) return this.#tell(press, 'You may not answer this, or you have answered it already.');
    switch (action) {
      case questionActions.allow:
        return this.#give(caller, question, { allow: true });
      case questionActions.allowRun:
        return this.#give(caller, question, { allow: true, remember: 'run' });
      case questionActions.edit:
        return void (await messages.openView(trigger, editForm(question, value)));
      case questionActions.deny:
        return void (await messages.openView(trigger, denyForm(value)));
      case questionActions.reply:
        return void (await messages.openView(trigger, replyForm(question, value)));
      default: {
        const nth = action.startsWith(questionActions.option)
          ? Number(action.slice(questionActions.option.length))
          : -1;
        const chosen = readAskedText(question).options[nth];
        return chosen === undefined
          ? this.#tell(press, notYoursText)
          : this.#give(caller, question, { allow: true, reason: chosen });
      }
    }
  }

  async #give(
    caller: Caller,
    { id, sha256: shown }: CallerQuestion,
    answer: Omit<QuestionAnswer, 'sha256'>,
  ): Promise<void> {
    // A second press of the same button is the same answer.
    const key = `slack-${sha256(JSON.stringify([id, answer])).slice(0, 32)}`;
    await this.#ports.service.questions.answer(caller, id, { ...answer, sha256: shown }, { key });
  }

  async #submit(form: FormSubmission): Promise<SlackAck> {
    const { values, callerOf } = this.#ports;
    const caller = callerOf(form.team, form.user);
    const question = await values.findQuestion(caller, form.value);
    if (question === undefined) return formErrors(form, notYoursText);
    const reason = (form.fields['reason'] ?? '').trim();
    const told = reason === '' ? {} : { reason };
    switch (form.form) {
      case questionForms.deny:
        await this.#give(caller, question, { allow: false, ...told });
        return undefined;
      case questionForms.reply:
        await this.#give(caller, question, { allow: true, ...told });
        return undefined;
      case questionForms.edit: {
        const args = readArguments(form.fields['args'] ?? '');
        if (typeof args === 'string') return fieldErrors('args', args);
        try {
          await this.#give(caller, question, { allow: true, args, ...told });
        } catch (error) {
          if (error instanceof CloisterError && error.code === 'answer_invalid')
            return fieldErrors('args', error.failure.detail ?? refusalText(error));
          throw error;
        }
        return undefined;
      }
      default:
        return undefined;
    }
  }
}

/** What is wrong with the text instead, if it is no object. */
const readArguments = (text: string): JsonObject | string => {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : 'Expected a JSON object.';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
};

const fieldErrors = (field: string, text: string): JsonObject => ({
  response_action: 'errors',
  errors: { [field]: text.slice(0, 1_000) },
});

const formErrors = ({ form }: FormSubmission, text: string): JsonObject =>
  fieldErrors(form === questionForms.edit ? 'args' : 'reason', text);
