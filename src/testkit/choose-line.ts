// Which line of a script answers a request, and why none does.
import { shortenForMessage } from './check-fields.ts';
import { asPattern } from './check-script.ts';
import type { ScriptLine, RequestView, When } from './script.ts';

/** A line in use: its conditions made ready, and how often it has answered. */
export type Cue = {
  readonly index: number;
  readonly line: ScriptLine;
  readonly conditions: readonly Condition[];
  used: number;
};

type Condition = {
  holds(view: RequestView): boolean;
  /** Said when it does not hold. */
  but(view: RequestView): string;
};

export const cueOf = (line: ScriptLine, index: number): Cue => ({
  index,
  line,
  conditions:
    typeof line.when === 'function'
      ? [{ holds: line.when, but: () => 'its predicate says no' }]
      : conditionsOf(line.when ?? {}),
  used: 0,
});

/** The first line that fits and is not used up, counted as used. */
export const takeCue = (cues: readonly Cue[], view: RequestView): Cue | undefined => {
  const cue = cues.find((one) => !usedUp(one) && one.conditions.every((condition) => condition.holds(view)));
  if (cue !== undefined) cue.used++;
  return cue;
};

/** What was asked, and how near the script came to it. */
export const explainMiss = (cues: readonly Cue[], view: RequestView): string => {
  const seen = [
    view.agent === null ? 'no agent name in the system message' : `agent "${view.agent}"`,
    `turn ${view.turn}`,
    `last text ${quote(view.lastText)}`,
    `goal ${quote(view.goal)}`,
    view.tools.length === 0 ? 'no tools' : `tools ${view.tools.join(', ')}`,
  ];
  const [nearest] = cues
    .map((cue) => ({ cue, reasons: reasonsAgainst(cue, view) }))
    .sort((one, other) => one.reasons.length - other.reasons.length);
  const considered = `${cues.length} ${cues.length === 1 ? 'line was' : 'lines were'} considered`;
  const near = nearest === undefined ? '' : `; the nearest, lines[${nearest.cue.index}]: ${nearest.reasons.join('; ')}`;
  return `Asked: ${seen.join(', ')}. ${considered}${near}.`;
};

const usedUp = ({ line, used }: Cue): boolean => line.times !== undefined && used >= line.times;

const reasonsAgainst = (cue: Cue, view: RequestView): string[] => [
  ...cue.conditions.filter((condition) => !condition.holds(view)).map((condition) => condition.but(view)),
  ...(usedUp(cue) ? [`it is used up (times: ${cue.line.times})`] : []),
];

const conditionsOf = ({ agent, turn, text, pattern }: When): Condition[] => {
  const conditions: Condition[] = [];
  if (agent !== undefined)
    conditions.push({
      holds: (view) => view.agent === agent,
      but: (view) => `it expects agent "${agent}", not ${view.agent === null ? 'an unnamed one' : `"${view.agent}"`}`,
    });
  if (turn !== undefined)
    conditions.push({
      holds: (view) => view.turn === turn,
      but: (view) => `it expects turn ${turn}, not ${view.turn}`,
    });
  if (text !== undefined)
    conditions.push({
      holds: (view) => view.lastText.includes(text) || view.goal.includes(text),
      but: () => `neither the last text nor the goal contains ${quote(text)}`,
    });
  const expression = pattern === undefined ? null : asPattern(pattern);
  if (expression !== null)
    conditions.push({
      holds: (view) => expression.test(view.lastText) || expression.test(view.goal),
      but: () => `neither the last text nor the goal matches ${String(expression)}`,
    });
  return conditions;
};

const quote = (text: string): string => JSON.stringify(shortenForMessage(text, 120));
