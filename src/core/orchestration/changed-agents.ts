// Says which agents of an unfinished run have changed, from the definitions that its log records: a resume would be refused when it
// reaches the first cell of such an agent.
//
//   changed-agent-certain. An agent counts as changed only if no way to start it gives the recorded definition. Agents that a model
//       defined itself, or that nobody finds any more, are left to the resume. Agents with the same definition may differ in the
//       agents below them, so each of them counts as the one that was started.
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
  return new UnendedCells(recorded, definitions).findChange(recorded.root.birth.cell, [agent]);
};

type Definitions = ReadonlyMap<Hash, AgentDefinition>;

const recordedDefinitions = ({ frames }: RecordedRun): Definitions =>
  new Map(frames.flatMap(({ definitions = [] }) => definitions.map((one) => [one.digest, one.definition] as const)));

/** The agents that may have been started, as they are today; a text if none of them can have been; null if nobody can tell. */
type Started = readonly Agent[] | string | null;

class UnendedCells {
  readonly #recorded: RecordedRun;
  readonly #definitions: Definitions;
  /** By parents, name and recorded digest, because the same agent is started again and again. */
  readonly #known = new Map<readonly Agent[], Map<string, Started>>();
  #callOptions: boolean | undefined;

  constructor(recorded: RecordedRun, definitions: Definitions) {
    this.#recorded = recorded;
    this.#definitions = definitions;
  }

  /** `agents`: those that the cell may be of. Their definition is the recorded one. */
  findChange(cell: CellId, agents: readonly Agent[]): string | null {
    const { begins, settles } = this.#recorded.cells.get(cell)!;
    for (const [no, { record }] of begins) {
      const birth = record.type === 'begin' ? record.birth : undefined;
      if (birth === undefined) continue;
      const started = this.#startedNow(birth, agents);
      if (typeof started === 'string') return started;
      const change = started === null || settles.has(no) ? null : this.findChange(birth.cell, started);
      if (change !== null) return change;
    }
    return null;
  }

  #startedNow(birth: Birth, parents: readonly Agent[]): Started {
    const key = `${birth.agent} ${birth.digest}`;
    const ofParents = this.#known.get(parents) ?? new Map<string, Started>();
    this.#known.set(parents, ofParents);
    let known = ofParents.get(key);
    if (known === undefined) ofParents.set(key, (known = this.#findStarted(birth, parents)));
    return known;
  }

  #findStarted({ agent: name, digest }: Birth, parents: readonly Agent[]): Started {
    const before = this.#definitions.get(digest);
    if (before === undefined || before.promptBy === 'model') return null;
    const usual = parents.flatMap((parent) => usualStarts(name, parent));
    const [first] = usual;
    if (first === undefined) return null;
    const withDigest = (all: readonly Agent[]): readonly Agent[] => [
      ...new Set(all.filter((one) => one.digest === digest)),
    ];
    const found = withDigest(usual);
    if (found.length > 0) return found;
    const chosen = this.#hasCallOptions ? withDigest(usual.flatMap((one) => startsByCall(one, before))) : [];
    return chosen.length > 0 ? chosen : changeText(name, before, first);
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

/** A model may have escaped characters of a name. */
const callOptions = /timeout_ms|tools|share|\\u/u;

/** The agents of that name, as the parent starts them with a call that asks for nothing special. */
const usualStarts = (name: string, parent: Agent): readonly Agent[] => {
  const { agents, spawnable, compactor } = parent.children;
  const isCalled = (one: Agent): boolean => agents.includes(one) || !spawnable.includes(one);
  const called = [...startableAgents(parent).filter(isCalled), ...(compactor === null ? [] : [compactor])];
  const spawned = [...spawnable, withoutRequestTools(parent)].map((one) => asSpawned(one, parent));
  return [...called, ...spawned].filter((one) => one.name === name).map((one) => withinDepth(one, parent));
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
