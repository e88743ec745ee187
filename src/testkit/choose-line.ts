// Chooses the line of a script that answers a request, or explains why none does.
import { shortenForMessage } from './check-fields.ts';
import { parsePattern } from './check-script.ts';
import type { ScriptLine, RequestView, When } from './script.ts';

/** A line with its prepared conditions and the number of requests it has answered. */
export type LineState = {
  readonly index: number;
  readonly line: ScriptLine;
  readonly conditions: readonly Condition[];
  used: number;
};

type Condition = {
  holds(view: RequestView): boolean;
  /** Explains why it does not hold. */
  mismatch(view: RequestView): string;
};

export const createLineState = (line: ScriptLine, index: number): LineState => ({
  index,
  line,
  conditions:
    typeof line.when === 'function'
      ? [{ holds: line.when, mismatch: () => 'its function returned false' }]
      : buildConditions(line.when ?? {}),
  used: 0,
});

/** Returns the first line that fits and is not used up, and counts it as used. */
export const takeLine = (states: readonly LineState[], view: RequestView): LineState | undefined => {
  const state = states.find((one) => !isUsedUp(one) && one.conditions.every((condition) => condition.holds(view)));
  if (state !== undefined) state.used++;
  return state;
};

/** Describes the request and the line that came closest. */
export const explainNoMatch = (states: readonly LineState[], view: RequestView): string => {
  const request = [
    view.agent === null ? 'no agent name in the system message' : `agent "${view.agent}"`,
    `turn ${view.turn}`,
    `last text ${quote(view.lastText)}`,
    `goal ${quote(view.goal)}`,
    view.tools.length === 0 ? 'no tools' : `tools ${view.tools.join(', ')}`,
  ];
  const [nearest] = states
    .map((cue) => ({ cue, reasons: mismatchesOf(cue, view) }))
    .sort((one, other) => one.reasons.length - other.reasons.length);
  const tried = `${states.length} ${states.length === 1 ? 'line was' : 'lines were'} tried`;
  const closest =
    nearest === undefined ? '' : `; the closest, lines[${nearest.cue.index}]: ${nearest.reasons.join('; ')}`;
  return `Request: ${request.join(', ')}. ${tried}${closest}.`;
};

const isUsedUp = ({ line, used }: LineState): boolean => line.times !== undefined && used >= line.times;

const mismatchesOf = (state: LineState, view: RequestView): string[] => [
  ...state.conditions.filter((condition) => !condition.holds(view)).map((condition) => condition.mismatch(view)),
  ...(isUsedUp(state) ? [`it is used up (times: ${state.line.times})`] : []),
];

const buildConditions = ({ agent, turn, text, pattern }: When): Condition[] => {
  const conditions: Condition[] = [];
  if (agent !== undefined)
    conditions.push({
      holds: (view) => view.agent === agent,
      mismatch: (view) =>
        `it expects agent "${agent}", not ${view.agent === null ? 'an unnamed agent' : `"${view.agent}"`}`,
    });
  if (turn !== undefined)
    conditions.push({
      holds: (view) => view.turn === turn,
      mismatch: (view) => `it expects turn ${turn}, not ${view.turn}`,
    });
  if (text !== undefined)
    conditions.push({
      holds: (view) => view.lastText.includes(text) || view.goal.includes(text),
      mismatch: () => `neither the last text nor the goal contains ${quote(text)}`,
    });
  const expression = pattern === undefined ? null : parsePattern(pattern);
  if (expression !== null)
    conditions.push({
      holds: (view) => expression.test(view.lastText) || expression.test(view.goal),
      mismatch: () => `neither the last text nor the goal matches ${String(expression)}`,
    });
  return conditions;
};

const quote = (text: string): string => JSON.stringify(shortenForMessage(text, 120));
