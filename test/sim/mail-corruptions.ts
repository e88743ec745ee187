// Corruptions of histories with mail, which the mail judges must detect.
import type { History } from '../../sim/index.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = { readonly to: (history: History) => boolean; readonly change: (history: Loose) => void };

const runsIn = (history: Loose): Loose[] => history.runs.filter((run: Loose) => run.agent.mail !== null);
const framesIn = (history: Loose): Loose[] => runsIn(history).flatMap((run: Loose) => run.frames);

/** A record that delivers mail from one agent to another. */
const sentIn = (history: Loose, kind = 'message'): Loose =>
  framesIn(history).find(
    ({ record, contents = [] }) =>
      record.type === 'post' &&
      record.name !== 'mail:answer' &&
      contents.some((one: Loose) => one.kind === kind && one.to !== 'outside'),
  );
const sent = (history: History): boolean => sentIn(history) !== undefined;
const published = (history: History): boolean => sentIn(history, 'broadcast') !== undefined;

const inHead =
  (was: RegExp, is: string) =>
  (history: Loose): void => {
    const frame = sentIn(history);
    for (const one of frame.contents) one.content = one.content.replace(was, is);
  };

/** A settled receive with mail that was shown later. */
const receivedIn = (history: Loose): Loose =>
  framesIn(history).find(
    ({ record, cell, no }) =>
      record.type === 'settle' &&
      record.value?.messages?.length > 0 &&
      framesIn(history).some((one) => one.cell === cell && one.no > no && shownIn(one)),
  );
const received = (history: History): boolean => receivedIn(history) !== undefined;

/** The segment of a request that shows mail. */
const shownIn = ({ attempt }: Loose): Loose =>
  attempt?.changes
    .flatMap((change: Loose) => change.add ?? [])
    .find(
      ({ origin }: Loose) =>
        (origin.rule === 'mail@1' || origin.rule === 'received@1') &&
        origin.of.some((source: Loose) => source.from === 'crossing'),
    );
const showingIn = (history: Loose): Loose => framesIn(history).find((frame) => shownIn(frame) !== undefined);
const shown = (history: History): boolean => showingIn(history) !== undefined;

/** A run with a spawned agent that has ended. */
const spawningIn = (history: Loose): Loose =>
  runsIn(history).find(({ frames }: Loose) => frames.some((frame: Loose) => isSpawnEnd(frame, frames)));
const isSpawnEnd = ({ record, contents }: Loose, frames: Loose[]): boolean =>
  record.ended !== undefined &&
  contents?.some(({ kind }: Loose) => kind === 'result') &&
  frames.some(({ record: one }: Loose) => one.birth?.cell === record.ended.cell && one.birth.spawned !== undefined);
const spawned = (history: History): boolean => spawningIn(history) !== undefined;
const byRules =
  (rules: Loose) =>
  (history: Loose): void =>
    void Object.assign(spawningIn(history).agent.mail.spawns, rules);

/** A session whose person took a message, heard everything, and confirmed it. */
const listeningIn = (history: Loose): Loose =>
  history.sessions.find((one: Loose) => one.heardAll && one.taken.length > 0 && one.outcome !== null);
const listening = (history: History): boolean => listeningIn(history) !== undefined;
const resumedSessionIn = (history: Loose): Loose =>
  history.sessions.find(({ agentsWhenBack }: Loose) => agentsWhenBack !== null);
const resumedAgents = (history: History): boolean => resumedSessionIn(history) !== undefined;
const closingIn = (history: Loose): Loose =>
  history.sessions.find(({ run, askedToFinish, process }: Loose) =>
    history.writings.some(
      (one: Loose) =>
        askedToFinish &&
        one.run === run &&
        one.process === process &&
        one.frames[0]?.record.birth?.spawned !== undefined &&
        one.frames.some((frame: Loose) => frame.cell === one.frames[0].cell && frame.record.value?.closing === true),
    ),
  );

export const mailCorruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'messages to the person are delivered when taken': [
    { to: listening, change: (history) => listeningIn(history).taken.push(listeningIn(history).taken[0]) },
    { to: listening, change: (history) => (listeningIn(history).taken[0].text += ' and more') },
    { to: listening, change: (history) => (listeningIn(history).taken[0].id = 'm-of-another') },
    { to: listening, change: (history) => listeningIn(history).taken.shift() },
    {
      to: (history) => listening(history) && !listeningIn(history).resumed,
      change: (history) => (listeningIn(history).taken[0].onDisk = 0),
    },
    {
      to: (history) => listening(history) && framesIn(history).some(({ record }) => record.type === 'delivered'),
      change: ({ sessions }) => {
        for (const one of sessions) for (const taken of one.taken ?? []) taken.after = 1e9;
      },
    },
  ],
  'a resumed session has its agents, and finishes only when asked': [
    { to: resumedAgents, change: (history) => (resumedSessionIn(history).agentsWhenBack.cells = []) },
    { to: resumedAgents, change: (history) => resumedSessionIn(history).agentsWhenBack.cells.push('stranger-1') },
    {
      to: (history) => closingIn(history) !== undefined,
      change: (history) => (closingIn(history).askedToFinish = false),
    },
  ],
  'messages cross once, with true names': [
    { to: sent, change: inHead(/"agent_id":"[^"]*"/u, '"agent_id":"the system"') },
    { to: sent, change: inHead(/"recipient_id":"[^"]*"/u, '"recipient_id":"another"') },
    { to: sent, change: inHead(/"chain":"[^"]*"/u, '"chain":"m-77"') },
    { to: sent, change: inHead(/"at":\d+/u, '"at":1') },
    { to: sent, change: inHead(/\n[\s\S]*/u, '\nother words') },
    { to: sent, change: (history) => sentIn(history).contents.push({ ...sentIn(history).contents[0] }) },
    { to: sent, change: (history) => (sentIn(history).contents = []) },
    { to: sent, change: (history) => (sentIn(history).contents[0].from = 'another') },
    { to: sent, change: (history) => (sentIn(history).record.about.args = '{"to":"another","message":""}') },
    { to: sent, change: ({ runs }) => runs.forEach(({ agent }: Loose) => agent.mail && (agent.mail.messages = [])) },
    { to: published, change: (history) => sentIn(history, 'broadcast').contents.pop() },
    { to: published, change: ({ runs }) => runs.forEach(({ agent }: Loose) => silence(agent)) },
  ],
  'messages are received once, in order': [
    { to: received, change: (history) => receivedIn(history).record.value.messages.push(77_777) },
    {
      to: received,
      change: (history) => {
        const { messages } = receivedIn(history).record.value;
        messages.push(messages[0]);
      },
    },
    {
      to: (history) => severalIn(history) !== undefined,
      change: (history) => severalIn(history).record.value.messages.reverse(),
    },
    { to: received, change: (history) => (receivedIn(history).at += 10_000) },
    {
      to: sent,
      change: (history) => {
        const frame = sentIn(history);
        const { frames } = runsIn(history).find((run) => run.frames.includes(frame));
        frames.splice(frames.indexOf(frame), 0, ...Array.from({ length: 101 }, () => structuredClone(frame)));
      },
    },
    {
      to: sent,
      change: (history) => (sentIn(history).record.value.dead = [{ to: 'lead0', reason: 'overflow' }]),
    },
    {
      to: received,
      change: (history) => {
        const [{ run, frames }] = runsIn(history).filter((one) => one.frames.length > 2);
        const full = {
          process: 1,
          run,
          bytes: 1,
          after: frames[0],
          to: frames[0].cell,
          code: 'mailbox_full',
          result: '',
        };
        history.outsideMail.push(full);
      },
    },
    { to: received, change: (history) => history.outsideMail.push({ code: 'defect', result: '' }) },
  ],
  'each message is shown once': [
    {
      to: shown,
      change: (history) => {
        const { changes } = showingIn(history).attempt;
        changes.push(structuredClone(changes.find((change: Loose) => change.add?.some(isOfMail))));
      },
    },
    { to: received, change: (history) => (receivedIn(history).record.value.messages = []) },
    { to: shown, change: (history) => (shownIn(showingIn(history)).origin.rule = 'goal@1') },
  ],
  'spawned agents respect limits and end': [
    { to: spawned, change: byRules({ children: 0 }) },
    { to: spawned, change: byRules({ perMinute: 0 }) },
    { to: spawned, change: byRules({ depth: 0 }) },
    { to: spawned, change: byRules({ agents: [], self: false, template: null }) },
    {
      to: spawned,
      change: (history) => {
        const { frames } = spawningIn(history);
        delete frames.find((frame: Loose) => isSpawnEnd(frame, frames)).record.ended;
      },
    },
    {
      to: spawned,
      change: (history) => {
        const { frames } = spawningIn(history);
        frames.find((frame: Loose) => isSpawnEnd(frame, frames)).contents = [];
      },
    },
  ],
  'spawned work is finished or named': [
    {
      to: (history) => unfinishedIn(history) !== undefined,
      change: (history) => (unfinishedIn(history).record.outcome.status = 'completed'),
    },
    {
      to: (history) => unfinishedIn(history) !== undefined,
      change: (history) => (unfinishedIn(history).record.outcome.missing = []),
    },
    {
      to: (history) => waitedIn(history) !== undefined,
      change: (history) => (waitedIn(history).record.name = 'wait:nobody'),
    },
    {
      to: (history) => wordsIn(history) !== undefined,
      change: (history) => (wordsIn(history).output = 'Other words.'),
    },
    {
      to: spawned,
      change: (history) => {
        const { frames } = spawningIn(history);
        const [{ content }] = frames.find((frame: Loose) => isSpawnEnd(frame, frames)).contents;
        const told = { ...JSON.parse(content), spawned: [{ agent: 'a', status: 'completed', output: 'Words.' }] };
        frames.find((frame: Loose) => isSpawnEnd(frame, frames)).contents[0].content = JSON.stringify(told);
      },
    },
  ],
};

/** The end of a run whose root names a spawned agent that did not finish. */
const unfinishedIn = (history: Loose): Loose =>
  framesIn(history).find(({ record }) => record.outcome?.spawned?.some(({ why }: Loose) => why !== null));
/** The wait of a session that then shut down agents. */
const waitedIn = (history: Loose): Loose =>
  history.runs
    .flatMap(({ frames }: Loose) =>
      frames.filter(
        ({ record, cell, no }: Loose) =>
          record.name === 'wait:spawned' &&
          frames.some((one: Loose) => one.no > no && one.cell === cell && one.record.value?.asked?.length > 0) &&
          frames.some((one: Loose) => one.cell === cell && one.record.outcome?.status === 'completed'),
      ),
    )
    .at(0);
/** What a spawned agent wrote, in the outcome of a run. */
const wordsIn = (history: Loose): Loose =>
  framesIn(history)
    .flatMap(({ record }) => record.outcome?.spawned ?? [])
    .find(({ output }: Loose) => output !== '');

const isOfMail = ({ origin }: Loose): boolean => origin.rule === 'mail@1' || origin.rule === 'received@1';

const silence = ({ mail }: Loose): void => {
  if (!mail) return;
  mail.say = [];
  for (const agent of mail.spawns?.agents ?? []) silence(agent);
};

/** A receive that got two messages from outside. */
const severalIn = (history: Loose): Loose =>
  framesIn(history).find(
    ({ record, cell }) =>
      record.type === 'settle' &&
      record.value?.messages?.filter((seq: number) =>
        framesIn(history).some(
          (one) =>
            one.record.type === 'mail' &&
            one.contents?.some((two: Loose) => two.kind === 'message' && two.cell === cell && two.seq === seq),
        ),
      ).length > 1,
  );
