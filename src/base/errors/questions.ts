// Questions to people, and their answers.
import { errorEntry } from './error-entry.ts';

export const questionErrors = {
  approval_denied: errorEntry(
    'policy',
    false,
    'A person did not allow this call.',
    'Do not call it again like this. Go on without it, or say in your answer what it was needed for.',
  ),
  approval_expired: errorEntry(
    'policy',
    false,
    'Nobody allowed this call in time, so it was not made.',
    'Go on without it, or say in your answer what it was needed for.',
  ),
  answer_denied: errorEntry(
    'policy',
    false,
    'The person did not want to answer this question.',
    'Do not ask it again. Go on without the answer, or say what is missing.',
  ),
  answer_expired: errorEntry(
    'policy',
    false,
    'Nobody answered the question in time.',
    'Go on without the answer, or say what is missing.',
  ),
  approval_needed: errorEntry(
    'policy',
    false,
    'A person must answer a question before the run can go on.',
    'Answer it with `cloister answer`, or over REST: POST /v1/questions/<id>.',
  ),
  question_unknown: errorEntry(
    'config',
    false,
    'There is no such question, or it is not yours to answer.',
    'List the open ones with `cloister questions`, or over REST: GET /v1/questions.',
  ),
  question_answered: errorEntry(
    'config',
    false,
    'The question has been answered, or no longer waits for an answer.',
    'See who answered, and what, with `cloister questions <id>`, or over REST: GET /v1/questions/<id>.',
  ),
  question_changed: errorEntry(
    'config',
    false,
    'The answer names other arguments than the question has.',
    'Read the question again, and send the `sha256` that it shows.',
  ),
  question_stale: errorEntry(
    'config',
    false,
    'The agents have changed since the question was asked, so the run cannot go on.',
    'Start the run again, or restore the agents as they were.',
  ),
  answer_invalid: errorEntry(
    'config',
    false,
    'The answer does not fit the question.',
    'Read what is said about it, and send it again.',
  ),
} as const;
