// The checkpoints of each caller's runs.
//
//   checkpoint-belongs-to-caller. A checkpoint belongs to the caller of its run, and its conversation to the same one; for every
//       other caller it does not exist, unless it may watch that caller's runs, or runs the server.
//   checkpoint-id-no-path. Only ids of checkpoints that this workspace has get further; nothing of a request is read as a path.
//   branch-stays-with-caller. Whatever a caller branches to has that caller's name before its own.
import { CloisterError, omitUndefined } from '#base';
import { callerConversationName, callerPrefix } from '#contracts';
import type {
  Agent,
  BranchRequest,
  Budget,
  Caller,
  CallerCheckpoint,
  CallerCheckpoints,
  CallerRun,
  Checkpoint,
  CheckpointContinuation,
  CheckpointReport,
  Cloister,
  ConversationRef,
  RunSession,
} from '#contracts';
import { conversationAsSeen, ownerOf } from './caller-runs.ts';
import { continuedRequest } from './start-run.ts';
import type { StartRun } from './start-run.ts';
import type { TokenRegistry } from './token-registry.ts';

type CheckpointPorts = {
  readonly cloister: Pick<Cloister, 'checkpoints'>;
  readonly tokens: Pick<TokenRegistry, 'actingEntry'>;
  /** Throws `agent_unknown`. */
  readonly agent: (caller: Caller, name: string) => Agent;
  /** Rejects with `run_unknown`. */
  readonly find: (caller: Caller, run: string) => Promise<CallerRun>;
  /** In whose name the run of a checkpoint continues, if its own conversation is reset. */
  readonly actorFor: (caller: Caller, found: CallerRun) => Caller;
  readonly start: StartRun;
};

/** A checkpoint that a caller may read, and its run. */
type OwnCheckpoint = { readonly checkpoint: Checkpoint; readonly found: CallerRun };

type ContinuationStart = {
  readonly continues: boolean;
  readonly signal: AbortSignal | undefined;
  /** Its conversation is reset; otherwise it continues in another one. */
  readonly isReset?: boolean;
};

type Continuation = { readonly conversation: ConversationRef | null; readonly session: RunSession | null };

export class LocalCallerCheckpoints implements CallerCheckpoints {
  readonly #ports: CheckpointPorts;

  constructor(ports: CheckpointPorts) {
    this.#ports = ports;
  }

  async list(
    caller: Caller,
    { agent, run, most }: Parameters<CallerCheckpoints['list']>[1],
  ): Promise<readonly CallerCheckpoint[]> {
    const owner = ownerOf(caller);
    // probe: checkpoint-list-by-caller
    const all = await this.#ports.cloister.checkpoints.list(omitUndefined({ caller: owner }));
    return all
      .filter(
        (one) =>
          (agent === undefined || one.agent === agent) &&
          (run === undefined || one.run === run) &&
          isConversationOf(owner, one),
      )
      .slice(0, most)
      .map((one) => asSeen(one, caller));
  }

  async show(caller: Caller, id: string): ReturnType<CallerCheckpoints['show']> {
    const { checkpoint, ...report } = await this.#report(await this.#own(caller, id));
    return { ...report, checkpoint: asSeen(checkpoint, caller) };
  }

  async create(
    caller: Caller,
    run: string,
    { label }: NonNullable<Parameters<CallerCheckpoints['create']>[2]> = {},
  ): Promise<CallerCheckpoint> {
    this.#ports.tokens.actingEntry(caller);
    const { summary } = await this.#ports.find(caller, run);
    const { checkpoints } = this.#ports.cloister;
    const created = await checkpoints.create(summary.run, omitUndefined({ label }));
    await checkpoints.applyRetention();
    return asSeen(created, caller);
  }

  async diff(caller: Caller, one: string, other: string): ReturnType<CallerCheckpoints['diff']> {
    const [before, after] = [await this.#own(caller, one), await this.#own(caller, other)];
    const diff = await this.#ports.cloister.checkpoints.diff(before.checkpoint.id, after.checkpoint.id);
    return { ...diff, one: asSeen(diff.one, caller), other: asSeen(diff.other, caller) };
  }

  async restore(caller: Caller, id: string, signal?: AbortSignal): Promise<CheckpointContinuation> {
    const own = await this.#toContinue(caller, id);
    const { conversation } = own.checkpoint;
    const { continues } = await this.#report(own);
    // The conversation stays that of its owner, and so does the run that continues in it, within the budget of its owner.
    const owner = own.found.summary.caller;
    const budgetMax = this.#budgetOf(this.#ports.actorFor(caller, own.found));
    const whose = owner === null ? {} : { caller: owner };
    return this.#continue(caller, own, { continues, signal, isReset: true }, async ({ checkpoints }) => ({
      conversation,
      session: await checkpoints.restore(own.checkpoint.id, { ...whose, budgetMax }),
    }));
  }

  async branch(
    caller: Caller,
    id: string,
    { name, agent }: BranchRequest,
    signal?: AbortSignal,
  ): Promise<CheckpointContinuation> {
    const own = await this.#toContinue(caller, id);
    const budgetMax = this.#budgetOf(caller);
    if (agent !== undefined) this.#ports.agent(caller, agent);
    const options = {
      ...omitUndefined({ agent }),
      ...(name === undefined ? {} : { name: callerConversationName(caller.name, name) }),
      caller: caller.name,
      budgetMax,
    };
    const { checkpoint } = own;
    const isSameAgent = agent === undefined || agent === (checkpoint.conversation?.agent ?? checkpoint.agent);
    const continues = isSameAgent && (await this.#report(own)).continues;
    return this.#continue(caller, own, { continues, signal }, ({ checkpoints }) =>
      checkpoints.branch(checkpoint.id, options),
    );
  }

  /** Throws for a caller that may not act, or not use the agents of the checkpoint any more. */
  async #toContinue(caller: Caller, id: string): Promise<OwnCheckpoint> {
    this.#ports.tokens.actingEntry(caller);
    const own = await this.#own(caller, id);
    const { agent, conversation } = own.checkpoint;
    for (const name of new Set([agent, conversation?.agent ?? agent])) this.#ports.agent(caller, name);
    return own;
  }

  #budgetOf(caller: Caller): Budget {
    return this.#ports.tokens.actingEntry(caller).budget ?? {};
  }

  /** Whatever runs needs a slot; a conversation is reset or copied without one. */
  async #continue(
    caller: Caller,
    { checkpoint, found }: OwnCheckpoint,
    { continues, signal, isReset = false }: ContinuationStart,
    act: (cloister: Pick<Cloister, 'checkpoints'>) => Promise<Continuation>,
  ): Promise<CheckpointContinuation> {
    let continued: Continuation | undefined;
    const resume = async (cloister: Pick<Cloister, 'checkpoints'>): Promise<RunSession> => {
      continued = await act(cloister);
      if (continued.session === null) throw new CloisterError('defect', 'The run did not continue.');
      return continued.session;
    };
    const acting = isReset ? this.#ports.actorFor(caller, found) : caller;
    const run = continues ? await this.#ports.start(acting, continuedRequest(found), signal, { resume }) : null;
    continued ??= await act(this.#ports.cloister);
    const { conversation } = continued;
    const named = conversation === null ? null : conversationAsSeen(conversation, caller);
    return { checkpoint: checkpoint.id, conversation: named, run };
  }

  #report({ checkpoint: { id } }: OwnCheckpoint): Promise<CheckpointReport> {
    return this.#ports.cloister.checkpoints.show(id);
  }

  /** Rejects with `checkpoint_unknown`. */
  async #own(caller: Caller, id: string): Promise<OwnCheckpoint> {
    const checkpoint = (await this.#ports.cloister.checkpoints.list()).find((one) => one.id === id);
    if (checkpoint === undefined || !isConversationOf(ownerOf(caller), checkpoint)) throw unknown();
    try {
      return { checkpoint, found: await this.#ports.find(caller, checkpoint.run) };
    } catch (error) {
      if (error instanceof CloisterError && error.code === 'run_unknown') throw unknown();
      throw error;
    }
  }
}

/** Without the id, so that it does not tell whether somebody else has it. */
const unknown = (): CloisterError => new CloisterError('checkpoint_unknown');

/** `owner`: undefined if everything may be read. */
const isConversationOf = (owner: string | undefined, { conversation }: Checkpoint): boolean =>
  owner === undefined || conversation === null || conversation.name.startsWith(callerPrefix(owner));

const asSeen = (checkpoint: Checkpoint, caller: Caller): CallerCheckpoint => {
  const { id, agent, run, conversation, frames, hash, at, why, label } = checkpoint;
  const named = conversation === null ? null : conversationAsSeen(conversation, caller);
  return { id, agent, run, conversation: named, frames, hash, at, why, label };
};
