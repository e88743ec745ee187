// What a caller instructs is system text of the root that it called, in every request, and of no other cell. What `read_skill`
// returns is a skill of the agent that reads it.
import type { SharedMessage, Skill, ToolResultValue } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import { callingCell, runFacts } from './facts.ts';
import type { OperationFacts } from './facts.ts';
import type { Judge } from './judge.ts';

export const instructions: Judge = {
  name: 'instructions and skills reach only their own cell',
  check: (history, report) => {
    let checks = 0;
    const every = new Set(history.runs.flatMap(systemTexts));
    for (const call of history.modelCalls) {
      const cell = callingCell(history, call);
      if (cell === undefined) continue;
      const own = cell.parent === null ? systemTexts(cell.run) : [];
      const messages = JSON.parse(call.prompt) as readonly { readonly role: string; readonly content: unknown }[];
      for (const text of every) {
        checks++;
        const isTold = messages.some(({ role, content }) => role === 'system' && String(content).includes(text));
        const isThere = call.prompt.includes(JSON.stringify(text).slice(1, -1));
        if (isTold !== own.includes(text) || isThere !== own.includes(text))
          report(`"${text}" to be told to the root of its run only`, `${cell.birth.cell} at ${call.at} ms differs`);
      }
    }
    for (const run of history.runs)
      for (const operation of runFacts(run).operations.values()) {
        const expected = skillText(run, operation);
        const { settle } = operation;
        if (expected === undefined || settle?.ok !== true) continue;
        checks++;
        const { text, output } = settle.value as ToolResultValue;
        // A long one is shown by its beginning.
        if (output === undefined ? !text.startsWith(expected) : !text.includes(expected.slice(0, 15)))
          report(`the skill "${expected.slice(0, 80)}"`, text.slice(0, 200));
      }
    return checks;
  },
};

const systemTexts = ({ frames }: RunHistory): readonly string[] =>
  (frames[0]?.contents ?? [])
    .filter(({ kind, from }) => kind === 'share' && from === 'outside')
    .flatMap(({ content }) => (JSON.parse(content) as readonly SharedMessage[]).map(({ text }) => text));

/** What the call must have returned; undefined if it reads no skill, or none of the agent's. */
const skillText = (run: RunHistory, { begin, cell }: OperationFacts): string | undefined => {
  if (begin.name !== 'tool:read_skill') return undefined;
  const { skill: name, file } = readArgs(begin.about?.['args']);
  const plan = withChildren(run.agent).find((one) => one.name === cell.birth.agent);
  const skill: Skill | undefined = plan?.skills.find((one) => one.name === name);
  if (skill === undefined) return undefined;
  const content = file === undefined ? skill.instructions : skill.files?.[file];
  return typeof content === 'string' ? content : undefined;
};

const readArgs = (args: unknown): { readonly skill?: string; readonly file?: string } => {
  try {
    return JSON.parse(String(args)) as { skill?: string };
  } catch {
    return {};
  }
};
