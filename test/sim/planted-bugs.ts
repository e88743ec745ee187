// Bugs to plant in copies of the production code: each a small change that a hurried change could make. The simulation must
// catch every one within a fixed number of seeds. Nothing of them ships: they exist as text, and bundled while a test runs.

import { mailBugs } from './planted-mail-bugs.ts';
import { teamBugs } from './planted-team-bugs.ts';

export type Edit = { readonly file: string; readonly find: string; readonly put: string };
export type Bug = { readonly name: string; readonly edits: readonly Edit[] };

const account = 'src/core/cells/account.ts';
const stepRunner = 'src/core/cells/step-runner.ts';
const localContext = 'src/core/cells/local-context.ts';
const goOn = 'src/core/cells/go-on.ts';
const localRun = 'src/core/cells/local-run.ts';
const loadAccounts = 'src/core/cells/load-accounts.ts';
const replay = 'src/core/cells/replay.ts';
const rootRun = 'src/core/orchestration/root-run.ts';
const agentTool = 'src/core/orchestration/agent-tool.ts';
const askModel = 'src/core/session/ask-model.ts';
const openSource = 'src/core/session/open-source.ts';
const committer = 'src/adapters/stores/committer.ts';
const writer = 'src/adapters/stores/writer.ts';
const logStore = 'src/adapters/stores/log-store.ts';
const tables = 'src/adapters/stores/tables.ts';
const beginTurn = 'src/app/conversations/begin-turn.ts';
const bookState = 'src/app/conversations/book-state.ts';
const localCheckpoints = 'src/app/conversations/local-checkpoints.ts';

const bug = (name: string, file: string, find: string, put: string): Bug => ({ name, edits: [{ file, find, put }] });

export const bugs: readonly Bug[] = [
  // What is acknowledged must be there.
  bug(
    'a frame counts as durable before its batch was answered',
    logStore,
    'if (batch === undefined || batch.ack !== undefined) return undefined;',
    'if (batch !== undefined || batch === undefined) return undefined;',
  ),
  bug(
    'a batch is acknowledged though its commit failed',
    committer,
    'const ack = { failure: { code, detail }, refused: [], broken: [], transactions };',
    'void [code, detail]; const ack = { failure: null, refused: [], broken: [], transactions };',
  ),
  bug(
    'a failed batch does not fail the runs that had frames in it',
    writer,
    'for (const [run, detail] of failedRuns(batch, ack)) failed(run, detail);',
    'void [failed, failedRuns];',
  ),
  bug(
    'frames are appended behind a gap',
    tables,
    'if (detail === undefined) appendFrame(tables, item, tail, applied);',
    'if (detail === undefined || detail !== undefined) appendFrame(tables, item, tail, applied);',
  ),
  bug(
    'a run is taken from a process that lives',
    tables,
    'owner.instance !== self.instance && owners.lives(owner)',
    'owner.instance !== self.instance && owners.lives(owner) && false',
  ),

  // What has settled does not happen again, and what must not be repeated is not.
  bug(
    'a tool that may not be repeated runs again after a crash',
    goOn,
    "if (record.repeat === 'never' || operation.repeat === 'never')",
    'if (record.repeat === undefined)',
  ),
  bug(
    'tool calls that have settled run again after a crash',
    localContext,
    "if (settled === undefined && record.type === 'begin') goOn(this, started, record);",
    "if ((settled === undefined || record.name.startsWith('tool:')) && record.type === 'begin') goOn(this, started, record);",
  ),
  bug(
    'work starts before its intent is durable',
    stepRunner,
    "hold !== undefined || repeat !== 'free' ? this.#ports.log.durable() : undefined;",
    "hold !== undefined && repeat !== 'free' ? this.#ports.log.durable() : undefined;",
  ),
  bug(
    'the key of a call is another one after a crash',
    stepRunner,
    'return this.#owner.keyOf(this.#started.no);',
    'return `${this.#owner.keyOf(this.#started.no)}@${this.#workedFrom}`;',
  ),
  bug(
    'a call goes out though its step is over, because opening its source took long',
    openSource,
    "if (context.signal.aborted) throw new CloisterError('cancelled');",
    '',
  ),

  // Order and records.
  bug(
    'settlements are handed out in the order begun, not in the order recorded',
    replay,
    '(earliest === undefined || one.order < earliest.order)',
    'earliest === undefined',
  ),
  bug(
    'ledger entries ride in the frame after their effect',
    localRun,
    'const sealed = this.ledger.seal();',
    'const late = this as unknown as { late?: ReturnType<typeof this.ledger.seal> }; const sealed = late.late; late.late = this.ledger.seal();',
  ),
  bug(
    'a stopped cell leaves no trace of having been stopped',
    localContext,
    'return this.#halted === null ? undefined : { at: this.#haltedTime, failure: this.#halted };',
    'return undefined;',
  ),
  bug('a cancel is not recorded', rootRun, "this.#run.write(this.cell, this.#run.time(), { type: 'cancel' });", ''),
  bug(
    'a run ends twice in its log',
    rootRun,
    "if (recorded === undefined) this.#run.write(this.cell, at, { type: 'close', outcome });",
    "if (recorded === undefined) for (const _ of [1, 2]) this.#run.write(this.cell, at, { type: 'close', outcome });",
  ),
  bug(
    'a result crosses back though no grant allows it',
    'src/core/crossings/cross.ts',
    'if (!verdict.allowed) return { refused: verdict.reason };',
    '',
  ),

  // Money.
  bug('what an attempt cost is not counted', account, 'else account.#spend(cost);', ''),
  bug(
    'a hold is taken in the cell’s own account only',
    account,
    `  #take(amounts: Amounts): true {
    for (const account of this.#line) {`,
    `  #take(amounts: Amounts): true {
    for (const account of [this]) {`,
  ),
  bug('a hold is not given back', stepRunner, 'if (this.#held) this.#giveBack(cost);', 'void this.#giveBack;'),
  bug(
    'a hold whose use is not known counts as unused',
    account,
    'if (cost === null) account.#doubt(hold);',
    'if (cost === null) void account.#doubt;',
  ),
  bug(
    'holds that were under way at a crash count as unused',
    loadAccounts,
    'if (underWay.has(`${cell}/${record.op}`)) account?.load(null, record.hold);',
    'void underWay;',
  ),
  bug(
    'children are started past the number allowed',
    account,
    'if (account.caps.spawns !== undefined && account.#spawns + keep >= account.caps.spawns) return false;',
    'if (account.caps.spawns !== undefined && account.#spawns + keep > account.caps.spawns) return false;',
  ),

  // Stopping.
  bug(
    'a child that begins after the stop goes on',
    localContext,
    'if (this.#halted !== null) child.halt(this.#halted, this.#haltedAt, this.#haltedTime);',
    '',
  ),
  bug(
    'a time-out is left behind when its step settles',
    stepRunner,
    '    this.#stopTimer?.();\n    this.#slot?.give();',
    '    this.#slot?.give();',
  ),
  bug('a slot is not given back', stepRunner, '    this.#slot?.give();\n', ''),
  bug(
    'a cell ends before what it began has settled',
    rootRun,
    '    await this.#home.drained();\n    this.#over = true;',
    '    this.#over = true;',
  ),
  bug(
    'a child has no deadline',
    agentTool,
    'deadline: deadlineOf(agent.budget, cell.deadline, home.now),',
    'deadline: 0,',
  ),
  bug(
    'an answer that ended with an error is taken',
    askModel,
    "if (reply.finish === 'error')",
    "if (reply.finish === 'error' && false)",
  ),

  // Windows, and what cells are given.
  bug(
    'a child is given its caller’s dialog as well',
    'src/core/orchestration/share.ts',
    'sharedOf(session.window.lasting, agent.share);',
    "[...sharedOf(session.window.lasting, agent.share), ...session.window.view.flatMap(({ category, part }) => category === 'DIALOG' && 'message' in part ? [{ category: 'CONTEXT' as const, text: JSON.stringify(part.message.content) }] : [])];",
  ),
  bug(
    'a child is given what its definition does not ask for',
    'src/core/orchestration/share.ts',
    'if (agent.share.length === 0) return undefined;',
    "agent = { ...agent, share: agent.share.length === 0 ? [] : ['system', 'context'] };",
  ),
  bug(
    'a share is copied whole each time it is asked for again',
    rootRun,
    'const changed = share.now().filter((message) => !known.has(keyOf(message)));',
    'void [known, keyOf]; const changed = share.now();',
  ),
  bug(
    'what was given while the process lived is not there after a crash',
    'src/core/cells/arrivals.ts',
    '[...(recorded?.values() ?? none), ...(this.#since?.values() ?? none)]',
    '[...(this.#since?.values() ?? none)]',
  ),
  bug(
    'what is given is shown as it comes, not by its place in the log',
    'src/core/cells/arrivals.ts',
    "const before = when === 'at birth' ? bornIn + 1 : this.#known.nextFrame();",
    'void bornIn; const before = Infinity;',
  ),
  bug(
    'what is given is in no frame of its own',
    rootRun,
    "this.#home.arrivals.take(this.#run.write(this.cell, at, { type: 'give', to: this.cell }));",
    'void at;',
  ),
  bug(
    'an old output is dropped without its call',
    'src/core/memory/fit-window.ts',
    "window.replace(at, at, { rule: 'shorten@1', of: [{ from: 'segment', id }] }, 'TOOLS');",
    "window.drop(at, at, 'trim@1'); void id; break;",
  ),
  bug(
    'the window of a model is taken for larger than it is',
    'src/core/session/window-limit.ts',
    "let limit: WindowLimit | null = model.contextTokens ? { tokens: model.contextTokens, by: 'model' } : null;",
    "let limit: WindowLimit | null = model.contextTokens ? { tokens: model.contextTokens * 9, by: 'model' } : null;",
  ),

  // Conversations, checkpoints, and what goes on from them.
  bug(
    'a turn begins whether or not its page could be written',
    beginTurn,
    "await store.note({ type: 'turn', conversation: ref, agent: agent.name, run }, state.page);",
    "store.note({ type: 'turn', conversation: ref, agent: agent.name, run }, state.page).catch(() => undefined);",
  ),
  bug('an agent takes two turns at once', beginTurn, 'await held.hold(found, (node) =>', 'void held; void ((node) =>'),
  bug(
    'an interrupted turn is gone on with while the next one begins',
    'src/app/conversations/running.ts',
    "if (state === 'ended') continue;",
    "if (state === 'ended' || state === 'interrupted') continue;",
  ),
  bug('a conversation is set back under a turn', localCheckpoints, 'await held.hold(found, () => true);', 'void held;'),
  bug(
    'a page counts as written before it is',
    logStore,
    'const ack = await writer.add(page).done;',
    `if (page.after !== undefined) {
    writer.add(page);
    return page.after + 1;
  }
  const ack = await writer.add(page).done;`,
  ),
  bug(
    'a page is written though others came first',
    'src/adapters/stores/book.ts',
    "if (after !== undefined && after !== tail.no) return { key, refused: 'moved' };",
    '',
  ),
  bug(
    'what a restore set aside is still told',
    bookState,
    'const turns = turnsAt(from, node, draft.takenAt.get(from.id) ?? null);',
    'const turns = turnsAt(from, node, kept.newest);',
  ),
  bug(
    'a restore to the end of a turn changes nothing',
    bookState,
    'kept.newest = restoredLine(',
    'if (run !== null) kept.newest = restoredLine(',
  ),
  bug(
    'a branch goes on with what its origin says later',
    bookState,
    'addTurn(kept, { run, agent: from.agent, at, previous: null, from, frames: null });',
    'addTurn(kept, { run, agent: from.agent, at, previous: before?.newest ?? null, from, frames: null });',
  ),
  bug(
    'a branch forgets what was said before it',
    localCheckpoints,
    'const entries = said.length === 0 ? null : await store.keep(Buffer.from(JSON.stringify(said)));',
    'void said; const entries = null;',
  ),
  bug(
    'what was said is told in the order of the clock on the wall',
    'src/app/conversations/entries.ts',
    'const least = Math.max(begun, ends.get(agentIn(first)) ?? 0);',
    'const least = 0;',
  ),
  bug(
    'a restore keeps one record too few',
    localCheckpoints,
    'const kept = cutFrames(frames, frames.length, {',
    'const kept = cutFrames(frames, Math.max(1, frames.length - 1), {',
  ),
  bug(
    'a restore keeps one record too many',
    'src/app/conversations/find-checkpoint.ts',
    '.slice(0, frames);',
    '.slice(0, frames + 1);',
  ),
  bug(
    'a checkpoint is of two moments',
    'src/app/conversations/take-checkpoint.ts',
    `  await keeping.durable(run);
  const { frames, hash } = await store.cut(run);`,
    `  const { hash } = await store.cut(run);
  await keeping.durable(run);
  const { frames } = await store.cut(run);`,
  ),
  bug(
    'a run that goes on from a cut counts the calls of the other one',
    loadAccounts,
    "const cut = frames.findLastIndex(({ record }) => record.type === 'fork');",
    'const cut = -1;',
  ),
  bug(
    'a run that goes on from a cut begins without its ledger',
    'src/core/orchestration/cut-frames.ts',
    '...kept.map((frame): Frame => ({ ...frame, run }))',
    '...kept.map(({ links: _links, ...frame }): Frame => ({ ...frame, run }))',
  ),
  bug(
    'a run that goes on from a cut calls under the keys of the other one',
    'src/core/cells/amendments.ts',
    'return nth < 0 ? step : `${this.#forks[nth + 1]?.from ?? run}/${step}`;',
    'void [nth, run]; return step;',
  ),

  // Spawned agents and mail.
  ...mailBugs,

  // Teams.
  ...teamBugs,
];
