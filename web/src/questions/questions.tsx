// All questions that wait for a person, of the runs of this person and of those that it answers for.
import { questions } from '../state.ts';
import { Empty } from '../ui/parts.tsx';
import { useNextQuestion } from './next-question.ts';
import { QuestionCard } from './question-card.tsx';

export const Questions = () => {
  useNextQuestion();
  const waiting = questions.value;
  if (waiting.length === 0)
    return (
      <Empty title="Nothing waits for you.">
        <p>
          Agents ask here before they use a tool that is marked for approval, or when they cannot go on without a
          person.
        </p>
      </Empty>
    );
  return (
    <div class="questions">
      <h1>{waiting.length === 1 ? '1 question waits' : `${waiting.length} questions wait`}</h1>
      {waiting.map((question) => (
        <section key={question.id}>
          <p class="question-where">
            {question.cell === undefined ? (
              <span>In a run of {question.caller ?? 'somebody else'}</span>
            ) : (
              <a href={`#/chat?run=${encodeURIComponent(question.run)}&question=${encodeURIComponent(question.id)}`}>
                {question.path?.join(' → ') ?? question.run}
              </a>
            )}
            {question.caller == null || question.cell === undefined ? null : <span>, for {question.caller}</span>}
          </p>
          <QuestionCard question={question} />
        </section>
      ))}
    </div>
  );
};
