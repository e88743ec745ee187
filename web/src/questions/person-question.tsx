// A question of an agent to a person: one of its options, or free words.
import { useState } from 'preact/hooks';
import type { CallerQuestion } from '#contracts';
import { Buttons, ReasonForm } from './answer-form.tsx';
import type { Answering } from './answering.ts';

type PersonQuestionProps = {
  readonly question: CallerQuestion;
  readonly answering: Answering;
  readonly isAnswerable: boolean;
};

export const PersonQuestion = ({ question: { args, agent }, answering, isAnswerable }: PersonQuestionProps) => {
  const [isDenying, setDenying] = useState(false);
  const [text, setText] = useState('');
  const { question, options } = args as { question?: unknown; options?: unknown };
  const choices = Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [];
  const isSending = answering.state === 'sending';
  const answer = (reason: string): void => answering.send({ allow: true, reason });
  return (
    <>
      <div class="question-body">
        <p class="plain-text">{typeof question === 'string' ? question : JSON.stringify(args, null, 2)}</p>
        {isAnswerable && choices.length > 0 ? (
          <div class="question-options">
            {choices.map((choice) => (
              <button key={choice} type="button" class="button" disabled={isSending} onClick={() => answer(choice)}>
                {choice}
              </button>
            ))}
          </div>
        ) : null}
        {isAnswerable && choices.length === 0 ? (
          <textarea
            class="question-answer"
            aria-label="Your answer"
            rows={3}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        ) : null}
      </div>
      {!isAnswerable ? null : isDenying ? (
        <ReasonForm
          label={`Why not? ${agent} is told. May stay empty.`}
          onCancel={() => setDenying(false)}
          onReason={(reason) => answering.send({ allow: false, ...(reason === '' ? {} : { reason }) })}
        />
      ) : (
        <Buttons>
          {choices.length > 0 ? null : (
            <button
              type="button"
              class="button primary"
              disabled={isSending || text.trim() === ''}
              onClick={() => answer(text.trim())}
            >
              Answer
            </button>
          )}
          <button type="button" class="button danger" disabled={isSending} onClick={() => setDenying(true)}>
            Do not answer
          </button>
        </Buttons>
      )}
    </>
  );
};
