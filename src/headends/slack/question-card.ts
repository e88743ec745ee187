// A question to people as a message in a thread, and the dialogs in which it is answered.
//
//   card-shows-all. Nobody allows what they were not shown: arguments that do not fit are not allowed here.
import type { JsonObject } from '#base';
import { parseSlackCaller } from '#contracts';
import type { CallerQuestion } from '#contracts';
import { dateTime } from '#headends/run-view';
import {
  actions,
  button,
  context,
  header,
  inPieces,
  inputMax,
  modal,
  peopleLine,
  preformatted,
  section,
  textInput,
} from './blocks.ts';
import { cutText } from './slack-text.ts';

/** The names of the buttons of a card. An option of the agent has its number behind the name. */
export const questionActions = {
  allow: 'cloister_allow',
  allowRun: 'cloister_allow_run',
  edit: 'cloister_edit',
  deny: 'cloister_deny',
  reply: 'cloister_reply',
  option: 'cloister_option_',
} as const;

export const questionForms = {
  edit: 'cloister_edit_form',
  deny: 'cloister_deny_form',
  reply: 'cloister_reply_form',
} as const;

/** `escapableMax`: a section holds so many characters even if each of them is escaped. */
const [piecesMax, escapableMax] = [10, 600];

/** `value`: of its buttons; `stop`: of the button that stops the run. */
export const questionCard = (
  question: CallerQuestion,
  { value, stop }: { readonly value: string; readonly stop: string },
): readonly JsonObject[] => [
  ...askedBlocks(question),
  ...answererBlocks(question),
  actions(
    ...(question.why === 'agent' ? replyButtons(question, value) : allowButtons(question, value)),
    button({ action: 'cloister_stop', text: 'Stop the run', value: stop }),
  ),
];

/** The text of a message without blocks, such as a notification. */
export const questionFallback = ({ why, agent }: CallerQuestion): string =>
  why === 'agent' ? `The agent ${agent} asks you something.` : `The agent ${agent} asks for permission.`;

/** What became of it. */
export const endedCard = (question: CallerQuestion): readonly JsonObject[] => [
  ...askedBlocks(question),
  context(endedText(question)),
];

const askedBlocks = (question: CallerQuestion): readonly JsonObject[] => {
  const { agent, tool, path, why } = question;
  if (why === 'agent') {
    const { question: asked, options } = readAskedText(question);
    const listed = options.map((option, at) => `${at + 1}. ${option}`).join('\n');
    return [
      header(`${agent} asks`),
      ...inPieces(asked, escapableMax).map(section),
      ...(listed === '' ? [] : inPieces(listed, escapableMax).map(section)),
    ];
  }
  const pieces = inPieces(argumentsText(question));
  return [
    header(`${agent} wants to call ${tool}`),
    ...(path === undefined || path.length < 2 ? [] : [context(`Asked by: ${path.join(' › ')}`)]),
    ...pieces.slice(0, piecesMax).map(preformatted),
    ...(pieces.length > piecesMax ? [context('The rest does not fit here.')] : []),
  ];
};

const answererBlocks = (question: CallerQuestion): readonly JsonObject[] => {
  const { by, need, until, not, why, answers } = question;
  const people = (by ?? []).flatMap((name) => parseSlackCaller(name)?.user ?? []);
  const others = (by ?? []).filter((name) => parseSlackCaller(name) === null);
  const given = answers.filter(({ allow }) => allow).length;
  const facts = [
    ...(by === null && not === null
      ? ['May be answered by whoever asked me, and by those who answer for this agent.']
      : []),
    ...(not === 'asker' ? ['Whoever asked me may not answer.'] : []),
    ...(others.length === 0 ? [] : [`May be answered by: ${others.join(', ')}.`]),
    ...(need > 1 ? [`${need} people must allow it; ${given} so far.`] : []),
    ...(why === 'agent'
      ? []
      : ['“Allow” covers this call. “Allow for this run” covers the same call with the same arguments again.']),
    `Counts as denied at ${dateTime(until)}.`,
  ];
  return [context(facts.join(' ')), ...(people.length === 0 ? [] : [peopleLine('May be answered by', people)])];
};

const allowButtons = (question: CallerQuestion, value: string): readonly JsonObject[] => {
  const text = argumentsText(question);
  const isWhole = inPieces(text).length <= piecesMax;
  const deny = button({ action: questionActions.deny, text: 'Deny', value, style: 'danger' });
  if (!isWhole) return [deny];
  return [
    button({ action: questionActions.allow, text: 'Allow', value, style: 'primary' }),
    button({ action: questionActions.allowRun, text: 'Allow for this run', value }),
    ...(text.length <= inputMax ? [button({ action: questionActions.edit, text: 'Edit', value })] : []),
    deny,
  ];
};

/** Twenty at most: an agent cannot ask for more, and Slack takes 25 buttons. */
const replyButtons = (question: CallerQuestion, value: string): readonly JsonObject[] => {
  const { options } = readAskedText(question);
  const choices = options.map((option, at) =>
    button({ action: `${questionActions.option}${at}`, text: `${at + 1}. ${option}`, value }),
  );
  return [
    ...(choices.length > 0 ? choices : [button({ action: questionActions.reply, text: 'Answer', value })]),
    button({ action: questionActions.deny, text: 'Decline', value, style: 'danger' }),
  ];
};

const argumentsText = ({ args }: CallerQuestion): string => JSON.stringify(args, null, 2);

/** What an agent asks with `ask_person`. */
export const readAskedText = ({
  args,
}: Pick<CallerQuestion, 'args'>): { readonly question: string; readonly options: readonly string[] } => {
  const { question, options } = args;
  return {
    question: typeof question === 'string' ? question : '',
    options: Array.isArray(options) ? (options as readonly unknown[]).filter((one) => typeof one === 'string') : [],
  };
};

const endedText = ({ state, answers, why }: CallerQuestion): string => {
  const names = (isAllowed: boolean): string =>
    answers
      .filter(({ allow }) => allow === isAllowed)
      .map(({ by }) => by)
      .join(', ');
  const byWhom = (isAllowed: boolean): string => (names(isAllowed) === '' ? '' : ` by ${names(isAllowed)}`);
  switch (state) {
    case 'open':
      return 'Waits for an answer.';
    case 'allowed': {
      const isChanged = answers.some(({ args }) => args !== undefined);
      return why === 'agent'
        ? `Answered${byWhom(true)}.`
        : `Allowed${byWhom(true)}${isChanged ? ', with other arguments' : ''}.`;
    }
    case 'denied':
      return `${why === 'agent' ? 'Declined' : 'Denied'}${byWhom(false)}.`;
    case 'expired':
      return 'Nobody answered in time: it counts as denied.';
    case 'cancelled':
      return 'The run was stopped before anybody answered.';
    case 'stale':
      return 'The agents have changed since this was asked, so no answer can continue the run.';
  }
};

export const editForm = (question: CallerQuestion, value: string): JsonObject =>
  modal({
    title: 'Edit the call',
    blocks: [
      section(`${question.agent} wants to call ${question.tool}. It is called with these arguments instead.`),
      textInput({ name: 'args', label: 'Arguments, as JSON', initial: cutText(argumentsText(question), inputMax) }),
      textInput({ name: 'reason', label: 'What the agent is told about it', isOptional: true, most: 1_000 }),
    ],
    form: { name: questionForms.edit, value, submit: 'Allow' },
  });

export const denyForm = (value: string): JsonObject =>
  modal({
    title: 'Deny',
    blocks: [textInput({ name: 'reason', label: 'Why? The agent is told.', isOptional: true, most: 1_000 })],
    form: { name: questionForms.deny, value, submit: 'Deny' },
  });

export const replyForm = (question: CallerQuestion, value: string): JsonObject =>
  modal({
    title: 'Your answer',
    blocks: [...askedBlocks(question).slice(1), textInput({ name: 'reason', label: 'Your answer' })],
    form: { name: questionForms.reply, value, submit: 'Answer' },
  });
