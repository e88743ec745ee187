// Says which agents of an unfinished run have changed, from the definitions that its log records: a resume would be refused when it
// reaches the first cell of such an agent.
//
//   changed-agent-certain. An agent counts as changed only if no way to start it gives the recorded definition. Agents that a model
//       defined itself, or that nobody finds any more, are left to the resume.
//   changed-agent-reached. Only what a resume compares counts: the agents that an unended cell has started, not those below a cell that
//       has ended.
import { isSameJson } from '#base';
import type { CellId, Hash } from '#base';
import type { Agent, AgentDefinition, Birth, SkillDigest } from '#contracts';
import type { RecordedRun } from '#core/cells';
import { startableAgents, withShare } from './define-agent.ts';
import { withoutRequestTools } from './request-tools.ts';
import { asSpawned, restrictToRecorded, withinDepth } from './started-agent.ts';

/** What has changed, in one sentence; null: nothing that the definitions show. `agent`: that of the root, as it is now. */
export const changedAgent = (recorded: RecordedRun, agent: Agent): string | null => {
  const { digest, agent: name } = recorded.root.birth;
  const definitions = recordedDefinitions(recorded);
  const before = definitions.get(digest);
  if (agent.digest !== digest) return changeText(name, before, agent);
  return new UnendedCells(recorded, definitions).findChange(recorded.root.birth.cell, agent);
};

type Definitions = ReadonlyMap<Hash, AgentDefinition>;

const recordedDefinitions = ({ frames }: RecordedRun): Definitions =>
  new Map(frames.flatMap(({ definitions = [] }) => definitions.map((one) => [one.digest, one.definition] as const)));

class UnendedCells {
  readonly #recorded: RecordedRun;
  readonly #definitions: Definitions;
  /** By parent, name and recorded digest, because the same agent is started again and again. */
  readonly #known = new Map<string, Agent | string | null>();
  #callOptions: boolean | undefined;

  constructor(recorded: RecordedRun, definitions: Definitions) {
    this.#recorded = recorded;
    this.#definitions = definitions;
  }

  /** `agent`: that of the cell, whose definition is the recorded one. */
  findChange(cell: CellId, agent: Agent): string | null {
    const { begins, settles } = this.#recorded.cells.get(cell)!;
    for (const [no, { record }] of begins) {
      const birth = record.type === 'begin' ? record.birth : undefined;
      if (birth === undefined) continue;
      const child = this.#startedNow(birth, agent);
      const change = typeof child !== 'object' || settles.has(no) ? child : child && this.findChange(birth.cell, child);
      if (typeof change === 'string') return change;
    }
    return null;
  }

  /** The agent that is started today; a text if it has changed; null if nobody can tell. */
  #startedNow(birth: Birth, parent: Agent): Agent | string | null {
    const key = `${parent.digest} ${birth.agent} ${birth.digest}`;
    let known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, (known = this.#findStarted(birth, parent)));
    return known;
  }

  #findStarted({ agent: name, digest }: Birth, parent: Agent): Agent | string | null {
    const before = this.#definitions.get(digest);
    if (before === undefined || before.promptBy === 'model') return null;
    const usual = usualStarts(name, parent);
    const [first] = usual;
    if (first === undefined) return null;
    const isRecorded = (one: Agent): boolean => one.digest === digest;
    const found = usual.find(isRecorded);
    if (found !== undefined) return found;
    const chosen = this.#hasCallOptions
      ? usual.flatMap((one) => startsByCall(one, before)).find(isRecorded)
      : undefined;
    return chosen ?? changeText(name, before, first);
  }

  /** Whether a call may have left an agent fewer tools or less time, or given it a part of the window: if no record names these options, none has. */
  get #hasCallOptions(): boolean {
    this.#callOptions ??= this.#recorded.frames.some(
      ({ record }) =>
        (record.type === 'settle' || record.type === 'ruling') && callOptions.test(JSON.stringify(record)),
    );
    return this.#callOptions;
  }
}

const callOptions = /timeout_ms|tools|share/u;

/** The agents of that name, as the parent starts them with a call that asks for nothing special. */
const usualStarts = (name: string, parent: Agent): readonly Agent[] => {
  const { compactor } = parent.children;
  return [...startableAgents(parent), withoutRequestTools(parent), ...(compactor === null ? [] : [compactor])]
    .filter((one) => one.name === name)
    .flatMap((one) => [withinDepth(one, parent), withinDepth(asSpawned(one, parent), parent)]);
};

/** The same agent as a call has started it that asked for less, or for a part of the window. */
const startsByCall = (agent: Agent, recorded: AgentDefinition): readonly Agent[] => {
  const restricted = restrictToRecorded(agent, recorded);
  return [restricted, withShare(restricted, recorded.share ?? [])];
};

/** Names the parts that differ: `: prompt, skills (forms)`. */
const changeText = (name: string, before: AgentDefinition | undefined, { definition: now }: Agent): string =>
  `The definition of "${name}" has changed since the run started${before === undefined ? '' : changedParts(before, now)}.`;

const changedParts = (before: AgentDefinition, now: AgentDefinition): string => {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])] as (keyof typeof now)[];
  const changed = keys.filter((key) => !isSameJson(before[key] ?? null, now[key] ?? null));
  const skills = changedSkills(before.skills ?? [], now.skills ?? []);
  return changed.length === 0
    ? ''
    : `: ${changed.map((key) => (key === 'skills' ? `skills (${skills})` : key)).join(', ')}`;
};

const changedSkills = (before: readonly SkillDigest[], now: readonly SkillDigest[]): string => {
  const missingIn = (list: readonly SkillDigest[]) => (one: SkillDigest) => !list.some((two) => isSameJson(one, two));
  const names = [...before.filter(missingIn(now)), ...now.filter(missingIn(before))].map(({ name }) => name);
  return [...new Set(names)].join(', ') || 'their order';
};
