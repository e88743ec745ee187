// The turn that is shown: the message, what its agents say and do, questions, and how it ended.
import { useEffect } from 'preact/hooks';
import { formatDuration, money, plural, workedMs } from '#headends/run-view';
import type { CellView, QuestionView } from '#headends/run-view';
import { questionEnd } from '../questions/question-words.ts';
import type { RunStore } from '../run-store.ts';
import { agents, announcement, mayAct, me, questions } from '../state.ts';
import { Problem, Status, statusLooks } from '../ui/parts.tsx';
import { later } from '../ui/later.tsx';
import { RetryNotice } from '../ui/retry-notice.tsx';
import { actionProblem, busy, resumeRun, stopped } from './actions.ts';
import { MessageFiles } from './message-files.tsx';
import { useRecordedText } from './recorded-text.ts';
import { Rows, SaidText } from './rows.tsx';
import { TurnFigures } from './turn-figures.tsx';
import { itemKey, standingStill, turnItems, withAnswer } from './turn-items.ts';
import type { TurnItem } from './turn-items.ts';
import { hourMinute, toolLabel, totalUsd } from './words.ts';

type TurnProps = { readonly store: RunStore };
/** The tries of this turn, if the conversation knows them. */
type VersionProps = { readonly versions?: readonly string[] | undefined };

const shownItems = 200;

const QuestionCard = later('QuestionCard');

export const Turn = ({ store, versions }: TurnProps & VersionProps) => {
  void store.version.value;
  const { view, facts, state } = store;
  const root = view.cells.values().next().value;
  const { recorded, isReading } = useRecordedText(store, root);
  const status = turnStatus(store, root);
  const agent = root?.agent ?? facts.value?.agent ?? '';
  useEffect(() => {
    if (status !== null && state.value !== 'loading') announcement.value = `${agent}: ${statusLooks(status).words}`;
  }, [status]);
  if (root === undefined && state.value === 'lost') return <Problem error={store.problem.value!} />;
  if (root === undefined) return facts.value === null ? null : <PersonMessage text={facts.value.goal} />;
  const items = turnItems(view, root, recorded);
  // Words that come later would move those below them.
  const isEarly = isReading && root.status !== null;
  const all = root.status === null ? items : withAnswer(items, facts.value?.output ?? '', root.endedAt ?? 0);
  const goal = facts.value?.goal ?? root.goal;
  return (
    <section class="turn" aria-label={`${agent}, ${goal.slice(0, 80)}`}>
      {goal === '' ? null : (
        <PersonMessage text={goal}>
          <MessageFiles store={store} />
        </PersonMessage>
      )}
      <AgentHead agent={agent} at={root.startedAt} />
      {all.length > shownItems ? (
        <p class="muted">{all.length - shownItems} earlier entries are in the transcript.</p>
      ) : null}
      {(isEarly ? [] : all.slice(-shownItems)).map((item) => (
        <Item key={itemKey(item)} store={store} root={root} item={item} />
      ))}
      {isEarly ? null : <TurnEnd store={store} root={root} status={status ?? 'running'} versions={versions} />}
    </section>
  );
};

/** As the log has it, or the server says. Null: not known yet. */
const turnStatus = ({ view, facts }: RunStore, root: CellView | undefined): string | null => {
  if (root?.status != null) return root.status;
  if ([...view.questions.values()].some(({ state }) => state === null)) return 'waiting';
  const said = facts.value?.status;
  return root === undefined ? null : said === 'interrupted' ? said : root.idle ? 'idle' : 'running';
};

export const PersonMessage = ({
  text,
  children,
}: {
  readonly text: string;
  readonly children?: preact.ComponentChildren;
}) => (
  <div class="person-message">
    <span class="unseen">You: </span>
    {text}
    {children}
  </div>
);

export const AgentHead = ({ agent, at }: { readonly agent: string; readonly at: number }) => (
  <h2 class="agent-head">
    {agent} <time dateTime={new Date(at).toISOString()}>{hourMinute(at)}</time>
  </h2>
);

const Item = ({ store, root, item }: TurnProps & { readonly root: CellView; readonly item: TurnItem }) => {
  const format = agents.value.find(({ name }) => name === root.agent)?.output?.format;
  switch (item.type) {
    case 'rows':
      return <Rows store={store} rows={item.rows} />;
    case 'text':
      return <SaidText item={item} format={format} />;
    case 'question':
      return <TurnQuestion store={store} question={item.question} />;
    case 'mail':
      if (item.isMine) return <PersonMessage text={item.mail.text ?? ''} />;
      return (
        <>
          {item.mail.unasked ? <p class="muted">{item.mail.sender ?? root.agent}, unasked</p> : null}
          <SaidText
            item={{ ...item, type: 'text', op: 0, text: item.mail.text ?? '', isLive: false, isCut: false }}
            format={format}
          />
        </>
      );
  }
};

/** Those that wait are answered here; of others, how they ended. */
const TurnQuestion = ({ store, question }: TurnProps & { readonly question: QuestionView }) => {
  void store.version.value;
  const { asked, state, rulings, cell } = question;
  const asker = store.view.cells.get(cell);
  const waiting = questions.value.find(({ id }) => id === question.question);
  const answers = rulings.map(({ by, verdict }) => ({ by, allow: verdict === 'allow' }));
  if (state === null && waiting !== undefined)
    return <QuestionCard question={waiting} about={askedIn(asker, question)} />;
  const what = asked.why === 'agent' ? 'a question' : toolLabel(asked.tool);
  if (state === null)
    return (
      <p class="question-past">
        <Status status="waiting" words={`${asker?.agent ?? 'An agent'} waits for a person: ${what}`} />
      </p>
    );
  const reason = rulings.findLast((one) => one.reason !== null)?.reason;
  return (
    <p class="question-past">
      <span class={`mark mark-${state === 'allowed' ? 'done' : 'stopped'}`} aria-hidden="true" />
      <span>
        {asker?.agent}: {what}. {questionEnd(state, answers)}
        {rulings.some(({ args }) => args !== undefined) ? ', with changed arguments' : ''}
        {reason == null ? '.' : `: “${reason}”`}
      </span>
    </p>
  );
};

const askedIn = (asker: CellView | undefined, { asked }: QuestionView): string | undefined => {
  if (asker === undefined) return undefined;
  const request = asker.requests.filter(({ op }) => op < asked.op).length;
  const tool = asker.calls.findLast(({ op }) => op < asked.op)?.tool;
  return `Asked in request ${request}${tool === undefined ? '' : `, after ${toolLabel(tool)}`}.`;
};

type TurnEndProps = TurnProps & { readonly root: CellView; readonly status: string };

const TurnEnd = ({ store, root, status, versions }: TurnEndProps & VersionProps) => {
  void store.version.value;
  const { run, facts } = store;
  const failed = actionProblem.value;
  return (
    <div class="turn-end">
      <EndWords store={store} root={root} status={status} />
      {root.status === null ? null : (
        <TurnFigures
          run={run}
          agent={root.agent}
          store={store}
          versions={versions}
          words={[formatDuration(workedMs(root, 0)), money(totalUsd(store.view))]}
          isRetryable={
            facts.value?.caller === undefined || facts.value.caller === me.value?.name || me.value?.operator === true
          }
        />
      )}
      {failed?.run === run ? <Problem error={failed.error} /> : null}
      {store.retryAt.value === null || store.problem.value === null ? null : <RetryNotice at={store.retryAt.value} />}
    </div>
  );
};

const EndWords = ({ store, root, status }: TurnEndProps) => {
  void store.version.value;
  const { facts, run, view } = store;
  const error = facts.value?.error;
  const { missing = [] } = facts.value ?? {};
  switch (status) {
    case 'completed':
    case 'idle':
      return null;
    case 'running':
      return stopped.value.has(run) ? (
        <Status status="waiting" words="Stopping…" />
      ) : (
        <Working isSilent={root.text === '' && root.children.length === 0} />
      );
    case 'waiting':
      return stopped.value.has(run) ? (
        <Status status="waiting" words="Stopping…" />
      ) : (
        <p class="muted">{stillWords(view)}</p>
      );
    case 'cancelled':
      return (
        <Status status="cancelled" words={stopped.value.has(run) || mayAct.value ? 'Stopped by you' : 'Stopped'} />
      );
    case 'partial':
      return (
        <Status
          status="partial"
          words={
            missing.length === 0
              ? 'Partial'
              : `Partial, ${plural(missing.length, 'child', 'children')} missing: ${missing.join(', ')}`
          }
        />
      );
    case 'interrupted':
      return (
        <div class="notice turn-notice">
          <span>This run was interrupted. Nothing is lost.</span>
          {mayAct.value ? (
            <button
              type="button"
              class="button small"
              disabled={busy.value !== null}
              onClick={() => void resumeRun(store)}
            >
              Continue it
            </button>
          ) : null}
        </div>
      );
    default:
      return (
        <div class="problem turn-notice" role="alert">
          <Status status={status} />{' '}
          <span>{error == null ? (root.failure ?? '') : `${error.message} ${error.suggestion}`}</span>
          <code>{error?.code ?? root.error?.code}</code>
        </div>
      );
  }
};

/** Until its first words come. */
const Working = ({ isSilent }: { readonly isSilent: boolean }) =>
  isSilent ? (
    <p class="muted turn-working">
      <Status status="running" />
    </p>
  ) : null;

const stillWords = (view: RunStore['view']): string => {
  const { still, working } = standingStill(view);
  const names = (all: readonly string[]): string =>
    all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)!}`;
  return [
    working.length === 0 ? '' : `${names(working)} ${working.length === 1 ? 'works' : 'work'} on. `,
    still.length === 0 ? '' : `Budget and time stand still for ${names(still)}.`,
  ].join('');
};
