// The values of questions to people, for requests and for the OpenAPI document.
import { about, boolean, jsonObject, listOf, named, object, oneOf, openObject, orNull } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { QuestionAnswer } from '#contracts';
import { countShape as count, textShape as text, timeShape as time } from './value-shapes.ts';

export const questionShape = named(
  'Question',
  openObject(
    {
      id: text,
      run: text,
      agent: about(text, 'The agent that asks.'),
      tool: about(text, 'The tool that is to be called; `ask_person` if the agent itself asks something.'),
      args: about(jsonObject(), 'Exactly what it is to be called with.'),
      sha256: about(text, 'The hash of the arguments. An answer names it.'),
      why: about(oneOf('tool', 'agent', 'client'), '`tool`: the tool is marked. `agent`: the agent asks a person.'),
      askedAt: time,
      until: about(count, 'When it counts as denied, in epoch milliseconds.'),
      need: about(count, 'How many people must allow it.'),
      by: about(orNull(listOf(text)), 'Who may answer; null: the caller of the run, or whoever answers for the agent.'),
      not: about(oneOf('asker', null), '`asker`: whoever requested the run may not answer.'),
      answers: about(
        listOf(openObject({ by: text, allow: boolean(), at: time }, { args: jsonObject() })),
        'The answers so far.',
      ),
      state: about(
        oneOf('open', 'stale', 'allowed', 'denied', 'expired', 'cancelled'),
        '`stale`: the agents have changed since, so that no answer can continue the run.',
      ),
      mayAnswer: about(boolean(), 'Whether you can answer it now.'),
    },
    {
      indeterminate: about(
        boolean(),
        'The call was in flight when the server crashed, and may have taken effect. Allowing it makes it again.',
      ),
      cell: about(text, 'Only if you see the run.'),
      path: about(listOf(text), 'The agents from the root down to the one that asks. Only if you see the run.'),
      caller: about(orNull(text), 'Whose run asks, if it is not yours.'),
    },
  ),
);

export const questionListShape = openObject({
  questions: listOf(questionShape),
  more: about(boolean(), 'Whether there are newer ones.'),
});

export const questionAnswerShape: Shape<QuestionAnswer> = named(
  'QuestionAnswer',
  object(
    {
      allow: about(
        boolean(),
        'Whether the tool may be called; of a question of the agent itself, whether you answer it.',
      ),
      sha256: about(text, 'The `sha256` of the question, as you were shown it.'),
    },
    {
      args: about(jsonObject(), 'Calls the tool with these arguments instead. They must fit its schema.'),
      reason: about(
        text,
        'Why, or the answer itself if the agent asked. The agent is told the answer, and why it was denied.',
      ),
      remember: about(
        oneOf('run'),
        '`run`: also allows later calls of the tool with the same arguments, by agents of the same definition, in this run.',
      ),
    },
  ),
);

export const answerReceiptShape = named(
  'AnswerReceipt',
  openObject({
    question: text,
    run: text,
    state: about(
      oneOf('allowed', 'denied', 'waiting', 'stored'),
      '`waiting`: more people must allow it. `stored`: it is on disk, and whoever owns or resumes the run takes it.',
    ),
  }),
);
