// The conversations of each caller, with their turns.
//
//   conversation-belongs-to-caller. A conversation belongs to the caller whose name is before its own and whose runs are its turns;
//       for every other caller it does not exist, unless it may watch that caller's runs, or runs the server. A turn that somebody
//       else took in it, such as the command line, is not shown to its caller; neither is what somebody else has branched from it.
import { CloisterError } from '#base';
import { callerConversationName, callerPrefix } from '#contracts';
import type {
  Caller,
  CallerCheckpoint,
  CallerCheckpoints,
  CallerConversation,
  CallerConversationReport,
  CallerConversations,
  CallerTurn,
  Cloister,
  ConversationRef,
  ConversationSummary,
  ConversationTurn,
  RunSummary,
} from '#contracts';
import { conversationAsSeen, ownerOf } from './caller-runs.ts';
import type { RunFactsReader } from './run-facts.ts';
import type { TokenRegistry } from './token-registry.ts';

type ConversationListPorts = {
  readonly cloister: Pick<Cloister, 'conversations' | 'runs'>;
  readonly tokens: Pick<TokenRegistry, 'actingEntry' | 'requireEntry'>;
  readonly checkpoints: Pick<CallerCheckpoints, 'list'>;
  readonly facts: RunFactsReader;
};

/** A conversation that a caller may read, with its turns that it may read. */
type OwnConversation = { readonly summary: ConversationSummary; readonly turns: readonly ConversationTurn[] };

const checkpointsMax = 1_000;

export class LocalCallerConversations implements CallerConversations {
  readonly #ports: ConversationListPorts;

  constructor(ports: ConversationListPorts) {
    this.#ports = ports;
  }

  async list(caller: Caller, { agent }: { readonly agent?: string | undefined } = {}) {
    const own = await this.#own(caller);
    return own
      .filter(({ summary }) => agent === undefined || summary.agent === agent || summary.attached.includes(agent))
      .map((one) => asListed(one, caller));
  }

  async show(caller: Caller, ref: ConversationRef, most: number): Promise<CallerConversationReport> {
    const own = await this.#own(caller);
    const found = find(own, ref, caller);
    const listed = asListed(found, caller);
    const all = await this.#ports.checkpoints.list(caller, { most: checkpointsMax });
    const turns = [...inheritedTurns(found, own, all), ...found.turns.map((turn) => ({ turn }))];
    const shown = turns.slice(-most);
    const turnList: CallerTurn[] = [];
    for (const { turn, ...inherited } of shown) turnList.push({ ...(await this.#turn(turn)), ...inherited });
    const checkpoints = checkpointsOf(listed, all);
    const branches = this.#branches(checkpoints, own, caller);
    return { ...listed, turnList, more: shown.length < turns.length, checkpoints, branches };
  }

  async delete(caller: Caller, ref: ConversationRef, options: { readonly force?: boolean }): Promise<void> {
    this.#ports.tokens.actingEntry(caller);
    const own = await this.#own(caller);
    const found = find(own, ref, caller);
    const { agent, name } = found.summary;
    const { conversations } = this.#ports.cloister;
    if (ownerOf(caller) === undefined) return conversations.delete({ agent, name }, options);
    // Decided here, from what this caller sees: otherwise a refusal would name what others have branched from it.
    const users = options.force === true ? [] : await this.#users(found, own, caller);
    if (users.length > 0) throw new CloisterError('conversation_shared', `${users.join('; ')}.`);
    try {
      await conversations.delete({ agent, name }, { force: true });
    } catch (error) {
      // Gone meanwhile.
      throw error instanceof CloisterError && error.code === 'conversation_unknown' ? unknown(ref) : error;
    }
  }

  /** Who else uses a conversation, as far as its caller is told. */
  async #users(found: OwnConversation, own: readonly OwnConversation[], caller: Caller): Promise<readonly string[]> {
    const { agent, attached } = found.summary;
    const speakers = [...new Set(found.turns.map((turn) => turn.agent))];
    const others = speakers.filter((one) => one !== agent && !attached.includes(one));
    const all = await this.#ports.checkpoints.list(caller, { most: checkpointsMax });
    const branches = this.#branches(checkpointsOf(asListed(found, caller), all), own, caller);
    const parts = {
      attached,
      'took turns': others,
      branches: branches.map((one) => `"${one.name}" of "${one.agent}"`),
    };
    return Object.entries(parts).flatMap(([how, names]) => (names.length === 0 ? [] : [`${how}: ${names.join(', ')}`]));
  }

  #branches(
    checkpoints: readonly CallerCheckpoint[],
    own: readonly OwnConversation[],
    caller: Caller,
  ): CallerConversationReport['branches'] {
    const ids = new Set(checkpoints.map(({ id }) => id));
    return own.flatMap(({ summary }) =>
      summary.branchedFrom !== null && ids.has(summary.branchedFrom)
        ? [{ ...conversationAsSeen(summary, caller), checkpoint: summary.branchedFrom }]
        : [],
    );
  }

  /** Newest first. */
  async #own(caller: Caller): Promise<readonly OwnConversation[]> {
    const { cloister, tokens } = this.#ports;
    tokens.requireEntry(caller);
    const owner = ownerOf(caller);
    const turns = new Map((await cloister.conversations.turns()).map((one) => [keyOf(one), one.turns]));
    const all = await cloister.conversations.list();
    if (owner === undefined) return all.map((summary) => ({ summary, turns: turns.get(keyOf(summary)) ?? [] }));
    // probe: conversation-runs-of-caller
    const runs = new Set((await cloister.runs({ caller: owner })).map(({ run }) => run));
    // probe: conversations-of-caller
    const named = all.filter(({ name }) => name.startsWith(callerPrefix(owner)));
    const checkpoints = await this.#ports.checkpoints.list(caller, { most: checkpointsMax });
    return named.flatMap((summary) => {
      const own = (turns.get(keyOf(summary)) ?? []).flatMap((turn) => {
        const versions = turn.versions.filter((run) => runs.has(run));
        // After a crash, a new version can be in the conversation although its run never began.
        const run = versions.at(-1);
        return run === undefined ? [] : [{ ...turn, run, versions }];
      });
      // A branch has no turn before somebody speaks in it.
      const isOwn =
        own.length > 0 || (summary.turns === 0 && checkpoints.some(({ id }) => id === summary.branchedFrom));
      return isOwn ? [{ summary, turns: own }] : [];
    });
  }

  async #turn({ run, agent, at, versions }: ConversationTurn): Promise<CallerTurn> {
    const { cloister, facts } = this.#ports;
    const [summary] = await cloister.runs({ run });
    // Its first record is not on disk yet.
    if (summary === undefined)
      return {
        run,
        agent,
        goal: '',
        startedAt: at,
        endedAt: null,
        spent: null,
        status: 'running',
        output: '',
        versions,
      };
    const { goal, startedAt, endedAt, spent } = summary;
    return { run, agent, goal, startedAt, endedAt, spent, ...(await this.#outcome(summary, facts)), versions };
  }

  async #outcome(summary: RunSummary, facts: RunFactsReader) {
    return summary.state === 'damaged' ? ({ status: 'damaged', output: '' } as const) : facts.outcome(summary);
  }
}

const checkpointsOf = (ref: ConversationRef, all: readonly CallerCheckpoint[]): readonly CallerCheckpoint[] =>
  all.filter(
    ({ conversation }) => conversation !== null && conversation.agent === ref.agent && conversation.name === ref.name,
  );

type ShownTurn = { readonly turn: ConversationTurn; readonly inherited?: true };

/** What a branch begins with: the turns of the conversation it comes from, up to the checkpoint; also if that is a branch itself. */
const inheritedTurns = (
  { summary: { branchedFrom } }: OwnConversation,
  own: readonly OwnConversation[],
  checkpoints: readonly CallerCheckpoint[],
): readonly ShownTurn[] => {
  const checkpoint = branchedFrom === null ? undefined : checkpoints.find(({ id }) => id === branchedFrom);
  if (checkpoint === undefined) return [];
  const origin = own.find(({ turns }) =>
    turns.some(({ run, versions }) => run === checkpoint.run || versions.includes(checkpoint.run)),
  );
  if (origin === undefined || origin.summary.branchedFrom === branchedFrom) return [];
  const last = origin.turns.findIndex(
    ({ run, versions }) => run === checkpoint.run || versions.includes(checkpoint.run),
  );
  const before = origin.turns.slice(0, last + 1).map((turn) => ({ turn, inherited: true as const }));
  return [...inheritedTurns(origin, own, checkpoints), ...before];
};

const keyOf = ({ agent, name }: ConversationRef): string => JSON.stringify([agent, name]);

const asListed = ({ summary, turns }: OwnConversation, caller: Caller): CallerConversation => ({
  ...conversationAsSeen(summary, caller),
  turns: turns.length,
  updatedAt: summary.newestAt,
  attached: summary.attached,
});

/** Of two that an operator calls the same, its own. Throws `conversation_unknown`, in the same words for what others have. */
const find = (own: readonly OwnConversation[], { agent, name }: ConversationRef, caller: Caller): OwnConversation => {
  const whole = callerNameIn(name, caller);
  const found =
    own.find(({ summary }) => summary.agent === agent && summary.name === whole) ??
    (ownerOf(caller) === undefined
      ? own.find(({ summary }) => summary.agent === agent && summary.name === name)
      : undefined);
  if (found === undefined) throw unknown({ agent, name });
  return found;
};

const unknown = ({ name }: ConversationRef): CloisterError =>
  new CloisterError('conversation_unknown', `"${name.slice(0, 100)}".`);

/** Null: no conversation of this caller can have this name. */
const callerNameIn = (name: string, caller: Caller): string | null => {
  try {
    return callerConversationName(ownerOf(caller) ?? caller.name, name);
  } catch {
    return null;
  }
};
