// A question that waits for a person: exactly what will run, and Allow, Edit, Deny.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '#base';
import type { CallerQuestion } from '#contracts';
import { plural } from '#headends/run-view';
import { address } from '../address.ts';
import { jsonObjectProblem, toolLabel } from '../chat/words.ts';
import { me } from '../state.ts';
import { useClock } from '../ui/clock.ts';
import { useKeys } from '../ui/keys.ts';
import { Problem, Status } from '../ui/parts.tsx';
import { Buttons, ReasonForm } from './answer-form.tsx';
import { useAnswering } from './answering.ts';
import type { Answering } from './answering.ts';
import { PersonQuestion } from './person-question.tsx';
import { answerRule, changedArguments, questionEnd, timeLeft, whyNoAnswer } from './question-words.ts';

type CardProps = {
  readonly question: CallerQuestion;
  /** When it was asked, in words; of the run that is shown. */
  readonly about?: string;
};

export const QuestionCard = ({ question, about }: CardProps) => {
  const { id, agent, tool, why, until, state } = question;
  const answering = useAnswering(question);
  const [hasFocus, setFocus] = useState(false);
  const card = useRef<HTMLElement>(null);
  const now = useClock();
  const isWanted = address.value.question === id;
  useEffect(() => {
    if (isWanted) card.current?.focus();
  }, [isWanted]);
  const refusal = whyNoAnswer(question, me.value!);
  const isMine = refusal === null;
  const title =
    why === 'agent' ? `${agent} asks ${isMine ? 'you' : 'a person'}` : `${agent} wants to use ${toolLabel(tool)}`;
  return (
    <article
      ref={card}
      id={id}
      class="question"
      tabIndex={-1}
      aria-label={title}
      onFocusCapture={() => setFocus(true)}
      onBlurCapture={({ relatedTarget }) => setFocus(card.current?.contains(relatedTarget as Node | null) === true)}
    >
      <header class="question-head">
        <Status
          status="waiting"
          words={state === 'stale' ? 'Cannot go on' : isMine ? 'Waiting for you' : 'Waiting for a person'}
        />
        <span class="muted">
          {why === 'agent' ? 'expires' : 'denied by itself'} in {timeLeft(until, now)}
        </span>
        <h2>{title}</h2>
        {about === undefined ? null : <p class="muted">{about}</p>}
      </header>
      <CardBody question={question} answering={answering} hasFocus={hasFocus} refusal={refusal} />
    </article>
  );
};

type BodyProps = { readonly question: CallerQuestion; readonly answering: Answering; readonly hasFocus: boolean };

const CardBody = ({ question, answering, hasFocus, refusal }: BodyProps & { readonly refusal: string | null }) => {
  const rule = answerRule(question);
  if (answering.state === 'ended') return <EndedQuestion {...answering} />;
  if (answering.state === 'taken') return <p class="question-note">Answer taken.</p>;
  const isAnswerable = refusal === null && answering.state !== 'waiting';
  return (
    <>
      {question.why === 'agent' ? (
        <PersonQuestion question={question} answering={answering} isAnswerable={isAnswerable} />
      ) : (
        <ToolQuestion question={question} answering={answering} isAnswerable={isAnswerable} hasFocus={hasFocus} />
      )}
      {rule.length === 0 && refusal === null ? null : (
        <p class="question-note">
          {[
            ...rule,
            ...(answering.state === 'waiting' ? ['You have allowed it.'] : refusal === null ? [] : [refusal]),
          ].join(' ')}
        </p>
      )}
      {answering.problem === null ? null : <Problem error={answering.problem} />}
    </>
  );
};

const EndedQuestion = ({ now, problem }: Answering) => {
  if (now === null) return <Problem error={problem!} />;
  const words =
    now.state === 'stale'
      ? whyNoAnswer(now, me.value!)
      : `${questionEnd(now.state, now.answers)}. Your answer was not needed.`;
  return <p class="question-note">{words}</p>;
};

type ToolQuestionProps = BodyProps & { readonly isAnswerable: boolean };
type Step = 'ask' | 'edit' | 'deny';

const ToolQuestion = ({ question, answering, isAnswerable, hasFocus }: ToolQuestionProps) => {
  const { agent, tool, args, sha256 } = question;
  const [step, setStep] = useState<Step>('ask');
  const [remembers, setRemembers] = useState(false);
  const [edited, setEdited] = useState('');
  const shown = JSON.stringify(args, null, 2);
  const allow = (): void => answering.send({ allow: true, ...(remembers ? { remember: 'run' } : {}) });
  const edit = (): void => {
    setEdited(shown);
    setStep('edit');
  };
  useKeys(
    {
      a: { about: 'allow', hint: true, run: allow },
      e: { about: 'edit', hint: true, run: edit },
      d: { about: 'deny', hint: true, run: () => setStep('deny') },
    },
    hasFocus && isAnswerable && step === 'ask' && answering.state === 'idle',
  );
  return (
    <>
      <div class="question-body">
        <div class="question-args-head">
          <span class="muted">Arguments, exactly what will run</span>{' '}
          <code title={sha256}>sha256 {sha256.slice(0, 8)}</code>
        </div>
        {step === 'edit' ? <ArgumentEditor text={edited} onText={setEdited} /> : <pre tabIndex={0}>{shown}</pre>}
        {isAnswerable && step === 'ask' ? (
          <Coverage
            id={question.id}
            label={`${toolLabel(tool)} by ${agent} with these arguments`}
            remembers={remembers}
            onChange={setRemembers}
          />
        ) : null}
      </div>
      {isAnswerable ? <ToolButtons {...{ question, answering, step, edited, allow, edit }} onStep={setStep} /> : null}
    </>
  );
};

type CoverageProps = {
  readonly id: string;
  readonly label: string;
  readonly remembers: boolean;
  readonly onChange: (remembers: boolean) => void;
};

const Coverage = ({ id, label, remembers, onChange }: CoverageProps) => (
  <fieldset class="question-covers">
    <legend class="muted">Allowing covers</legend>
    <label>
      <input type="radio" name={`covers ${id}`} checked={!remembers} onChange={() => onChange(false)} />{' '}
      <b>This call only</b>
    </label>
    <label>
      <input type="radio" name={`covers ${id}`} checked={remembers} onChange={() => onChange(true)} />{' '}
      <span>
        {label}, <b>until this run ends</b>
      </span>
    </label>
  </fieldset>
);

const ArgumentEditor = ({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }) => {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <textarea
      ref={field}
      class="question-edit"
      aria-label="Arguments as JSON"
      spellcheck={false}
      rows={Math.min(16, text.split('\n').length + 1)}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  );
};

type ToolButtonsProps = {
  readonly question: CallerQuestion;
  readonly answering: Answering;
  readonly step: Step;
  readonly edited: string;
  readonly allow: () => void;
  readonly edit: () => void;
  readonly onStep: (step: Step) => void;
};

const ToolButtons = ({ question: { agent, args }, answering, step, edited, allow, edit, onStep }: ToolButtonsProps) => {
  const isSending = answering.state === 'sending';
  if (step === 'deny')
    return (
      <ReasonForm
        label={`Why? ${agent} is told. May stay empty.`}
        onCancel={() => onStep('ask')}
        onReason={(reason) => answering.send({ allow: false, ...(reason === '' ? {} : { reason }) })}
      />
    );
  if (step === 'edit') {
    const problem = jsonObjectProblem(edited);
    const changed = problem === null ? changedArguments(args, JSON.parse(edited) as JsonObject) : 0;
    return (
      <>
        <p class={`question-note ${problem === null ? '' : 'is-stop'}`} role="status">
          {problem ??
            (changed === 0 ? 'Nothing changed yet.' : `You changed ${plural(changed, 'argument')}. ${agent} is told.`)}
        </p>
        <Buttons>
          <button
            type="button"
            class="button primary"
            disabled={problem !== null || changed === 0 || isSending}
            onClick={() => answering.send({ allow: true, args: JSON.parse(edited) as JsonObject })}
          >
            Allow as edited
          </button>
          <button type="button" class="button" onClick={() => onStep('ask')}>
            Cancel
          </button>
        </Buttons>
      </>
    );
  }
  return (
    <Buttons>
      <button type="button" class="button primary" disabled={isSending} onClick={allow}>
        Allow <kbd>A</kbd>
      </button>
      <button type="button" class="button" disabled={isSending} onClick={edit}>
        Edit… <kbd>E</kbd>
      </button>
      <button type="button" class="button danger" disabled={isSending} onClick={() => onStep('deny')}>
        Deny <kbd>D</kbd>
      </button>
    </Buttons>
  );
};
