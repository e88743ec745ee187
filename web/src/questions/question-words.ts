// What a question says about itself: how long it waits, who may answer, what an edit changed.
import type { JsonObject } from '#base';
import type { CallerQuestion } from '#contracts';
import { plural } from '#headends/run-view';

/** 23 h 58 min, 4 min, 50 s. */
export const timeLeft = (until: number, now: number): string => {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return plural(Math.floor(hours / 24), 'day');
};

/** How many arguments differ: changed, added or removed. */
export const changedArguments = (before: JsonObject, after: JsonObject): number =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => sortedJson(before[name]) !== sortedJson(after[name]),
  ).length;

/** The same text for the same value, whatever the order of its keys. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  ) ?? 'undefined';

type Rule = Pick<CallerQuestion, 'need' | 'by' | 'not' | 'answers'>;

/** Who else has a say; empty: only this person. */
export const answerRule = ({ need, by, not, answers }: Rule): readonly string[] => {
  const allowed = answers.filter(({ allow }) => allow).map((one) => one.by);
  return [
    ...(need > 1
      ? [
          `${need} people must allow it${allowed.length === 0 ? '' : `; so far ${listed(allowed)}`}. One who denies is enough.`,
        ]
      : []),
    ...(by === null ? [] : [`${listed(by, 'or')} may answer.`]),
    ...(not === 'asker' ? ['Not whoever started the run.'] : []),
  ];
};

/** Why there are no buttons; null: there are. */
export const whyNoAnswer = (
  question: Pick<CallerQuestion, 'state' | 'why' | 'mayAnswer' | 'answers' | 'not' | 'by'>,
  me: { readonly name: string; readonly watchOnly: boolean },
): string | null => {
  const { state, why, mayAnswer, answers, not, by } = question;
  if (state === 'stale')
    return 'The agents have changed since it was asked, so no answer can continue the run. Start it again.';
  if (why === 'client') return 'The program that started this run has to answer it.';
  if (state !== 'open' || mayAnswer) return null;
  if (me.watchOnly) return 'This link may look only. Somebody else has to answer.';
  if (answers.some((one) => one.by === me.name)) return 'You have allowed it. Somebody else must, too.';
  if (not === 'asker') return 'You started this run, so somebody else has to answer.';
  return by === null ? 'It is not yours to answer.' : `It waits for ${listed(by, 'or')}.`;
};

const listed = (names: readonly string[], last = 'and'): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)!}`;

const ends: Readonly<Record<string, string>> = {
  allowed: 'Allowed',
  denied: 'Denied',
  expired: 'Denied by itself: nobody answered in time',
  cancelled: 'No longer asked: the run was stopped',
};

/** How it ended, and who said so. */
export const questionEnd = (
  state: string,
  answers: readonly { readonly by: string; readonly allow: boolean }[],
): string => {
  const said = answers.filter(({ allow }) => allow === (state === 'allowed')).map(({ by }) => by);
  const isAnswer = state === 'allowed' || state === 'denied';
  if (isAnswer && said.length === 0 && state === 'allowed') return 'Allowed by an earlier answer';
  return `${ends[state] ?? state}${isAnswer && said.length > 0 ? ` by ${listed(said)}` : ''}`;
};
