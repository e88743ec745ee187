// Where messages are written: the text, its files, and what the next message may spend.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '#base';
import type { AgentFacts } from '../source.ts';
import { agents, mayAct, me, run } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { Problem } from '../ui/parts.tsx';
import { busy, finishRun, stopped, stopRun } from './actions.ts';
import { MoreOptions, readFiles } from './composer-options.tsx';
import type { ChosenFile } from './composer-options.tsx';
import { beginsConversation, conversations, shownAgent, shownConversation } from './context.ts';
import { budgetKey, draftKey } from '../tab-storage.ts';
import { draft, outgoing, send, sendProblem } from './outbox.ts';
import { budgetOf, conversationName, hourMinute, jsonObjectProblem, readAmount } from './words.ts';

export const Composer = () => {
  const agent = agents.value.find(({ name }) => name === shownAgent.value);
  if (isKeptFile) return <p class="composer-note">A copy of one run. Nothing can be started here.</p>;
  if (me.value?.watchOnly === true) return <p class="composer-note">This link may look only.</p>;
  if (agents.value.length === 0 || !mayAct.value)
    return <p class="composer-note">Looking only. Give studio an agent file to chat with it.</p>;
  if (agent === undefined)
    return <p class="composer-note">{shownAgent.value} is not among the agents here, so it cannot be asked.</p>;
  return <ComposerForm key={agent.name} agent={agent} />;
};

/** How the shown run stands towards the next message. */
const shownRun = () => {
  const store = run.value;
  if (store === null) return { id: null, isWorking: false, isResident: false };
  void store.version.value;
  const { view, facts, run: id } = store;
  const root = view.cells.values().next().value;
  const isOver = root === undefined || root.status !== null || facts.value?.status === 'interrupted';
  const isResident = !isOver && [...view.mail.values()].some(({ kind, to }) => kind === 'answer' && to === 'outside');
  return { id, isWorking: !isOver && !(isResident && root.idle), isResident };
};

/** Whether the shown run waits for a person. */
const isAsking = (): boolean => [...(run.value?.view.questions.values() ?? [])].some(({ state }) => state === null);

const storedBudget = (): { tokens: string; usd: string } => {
  const [tokens = '', usd = ''] = (sessionStorage.getItem(budgetKey) ?? '').split('|');
  return { tokens, usd };
};

const ComposerForm = ({ agent }: { readonly agent: AgentFacts }) => {
  const { id, isWorking, isResident } = shownRun();
  const [budget, setBudget] = useState(storedBudget);
  const [files, setFiles] = useState<readonly ChosenFile[]>([]);
  const [stays, setStays] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const takesJson = agent.input?.format === 'json';
  const tokens = readAmount(budget.tokens, 'tokens', me.value?.budget?.tokens);
  const usd = readAmount(budget.usd, 'usd', me.value?.budget?.usd);
  const isSending = outgoing.value !== null;
  const changeBudget = (changed: Partial<typeof budget>): void => {
    const next = { ...budget, ...changed };
    setBudget(next);
    sessionStorage.setItem(budgetKey, `${next.tokens}|${next.usd}`);
  };
  const submit = (): void => {
    const text = draft.value.trim();
    const found = (takesJson ? jsonObjectProblem(text) : null) ?? tokens.problem ?? usd.problem;
    setProblem(text === '' ? null : found);
    if (text === '' || found !== null || isSending) return;
    const to = isResident ? id : null;
    const cap = budgetOf(tokens.value, usd.value);
    const message = to === null ? newRun({ agent, text, stays, files, cap }) : { conversation: null, body: { text } };
    send({ key: crypto.randomUUID(), text, agent: agent.name, to, ...message });
    setDraft('');
    setFiles([]);
  };
  useKeys(
    { s: { about: 'stop', hint: true, run: () => void stopRun(id!) } },
    isWorking && id !== null && !stopped.value.has(id),
  );
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {sendProblem.value === null ? null : <Problem error={sendProblem.value} />}
      <MessageField
        agent={agent}
        isWorking={isWorking}
        isResident={isResident}
        onSubmit={submit}
        onFiles={(more) => setFiles([...files, ...more])}
      />
      {problem === null ? null : (
        <p class="composer-problem is-stop" role="alert">
          {problem}
        </p>
      )}
      {files.length === 0 ? null : <FileChips files={files} onChange={setFiles} />}
      <div class="composer-row">
        {isResident ? <span class="muted composer-stays">Runs until you finish it.</span> : null}
        {isResident || (isWorking && draft.value === '') ? null : (
          <>
            <BudgetFields budget={budget} onChange={changeBudget} />
            <MoreOptions stays={stays} onStays={setStays} onFiles={(more) => setFiles([...files, ...more])} />
          </>
        )}
        <span class="grow" />
        <SendButtons id={id} isWorking={isWorking} isResident={isResident} isSending={isSending} />
      </div>
    </form>
  );
};

type NewRun = {
  readonly agent: AgentFacts;
  readonly text: string;
  readonly stays: boolean;
  readonly files: readonly ChosenFile[];
  readonly cap: ReturnType<typeof budgetOf>;
};

const newRun = ({ agent, text, stays, files, cap }: NewRun): { conversation: string | null; body: JsonObject } => {
  const begun = beginsConversation.value ? newConversationName(text) : null;
  const conversation = stays ? null : (shownConversation.value ?? begun);
  return {
    conversation,
    body: {
      input: agent.input?.format === 'json' ? (JSON.parse(text) as JsonObject) : text,
      wait: false,
      ...(conversation === null ? {} : { conversation }),
      ...(cap === undefined ? {} : { budget: cap }),
      ...(files.length === 0 ? {} : { attachments: files }),
      ...(stays ? { resident: true } : {}),
    },
  };
};

/** A name that is not known to be free gets the time: a message must not end up in another conversation. */
const newConversationName = (text: string): string =>
  conversations.value === null
    ? `${conversationName(text, [])}-${hourMinute(Date.now()).replace(':', '')}`
    : conversationName(
        text,
        conversations.value.map(({ name }) => name),
      );

const setDraft = (text: string): void => {
  draft.value = text;
  sessionStorage.setItem(draftKey, text);
};

type FieldProps = {
  readonly agent: AgentFacts;
  readonly isWorking: boolean;
  readonly isResident: boolean;
  readonly onSubmit: () => void;
  readonly onFiles: (files: readonly ChosenFile[]) => void;
};

const MessageField = ({ agent: { name, input }, isWorking, isResident, onSubmit, onFiles }: FieldProps) => {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (draft.peek() === '') draft.value = sessionStorage.getItem(draftKey) ?? '';
    // Whoever looks at a run uses keys. A keyboard that covers the page is not opened for anybody.
    const isFree = run.peek() === null && document.activeElement === document.body;
    if (isFree && !matchMedia('(pointer: coarse)').matches) field.current?.focus();
  }, []);
  const takesJson = input?.format === 'json';
  const waits = isWorking && shownConversation.value !== null;
  const state = isAsking() ? 'waits for an answer' : 'is working';
  const words = isResident
    ? `Write to ${name}…`
    : waits
      ? `${name} ${state}. Your next message waits its turn.`
      : isWorking
        ? `${name} ${state}.`
        : takesJson
          ? `A JSON object for ${name}: { … }`
          : `Ask ${name}…`;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    const isMeant = event.ctrlKey || event.metaKey;
    if (!isMeant && (takesJson || matchMedia('(pointer: coarse)').matches)) return;
    event.preventDefault();
    onSubmit();
  };
  const onPaste = (event: ClipboardEvent): void => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length === 0) return;
    event.preventDefault();
    void readFiles(pasted).then(onFiles);
  };
  return (
    <textarea
      ref={field}
      class={takesJson ? 'is-json' : ''}
      aria-label={`Message to ${name}`}
      placeholder={words}
      rows={Math.min(8, Math.max(takesJson ? 3 : 1, draft.value.split('\n').length))}
      value={draft.value}
      onInput={({ currentTarget }) => setDraft(currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={onPaste}
    />
  );
};

type BudgetFieldsProps = {
  readonly budget: { readonly tokens: string; readonly usd: string };
  readonly onChange: (changed: { readonly tokens?: string; readonly usd?: string }) => void;
};

const BudgetFields = ({ budget: { tokens, usd }, onChange }: BudgetFieldsProps) => (
  <>
    <label class="composer-chip" title="Tokens that the next message may use, with everything it starts">
      <span class="muted">Budget</span>{' '}
      <input
        inputMode="numeric"
        aria-label="Tokens for the next message"
        placeholder="no limit"
        size={Math.max(tokens === '' ? 8 : 3, tokens.length)}
        value={tokens}
        onInput={({ currentTarget }) => onChange({ tokens: currentTarget.value })}
      />
      {tokens === '' ? null : ' tokens'}
    </label>
    <label class="composer-chip" title="Dollars that the next message may cost">
      $
      <input
        inputMode="decimal"
        aria-label="Dollars for the next message"
        placeholder="–"
        size={Math.max(2, usd.length)}
        value={usd}
        onInput={({ currentTarget }) => onChange({ usd: currentTarget.value })}
      />
    </label>
  </>
);

type FileChipsProps = {
  readonly files: readonly ChosenFile[];
  readonly onChange: (files: readonly ChosenFile[]) => void;
};

const FileChips = ({ files, onChange }: FileChipsProps) => (
  <div class="composer-files">
    {files.map((file) => (
      <button
        key={file.name}
        type="button"
        class="composer-chip"
        aria-label={`Remove ${file.name}`}
        onClick={() => onChange(files.filter((one) => one !== file))}
      >
        {file.name} ×
      </button>
    ))}
  </div>
);

type SendButtonsProps = {
  readonly id: string | null;
  readonly isWorking: boolean;
  readonly isResident: boolean;
  readonly isSending: boolean;
};

const SendButtons = ({ id, isWorking, isResident, isSending }: SendButtonsProps) => {
  const isStopping = id !== null && stopped.value.has(id);
  return (
    <>
      {isResident && !isWorking ? (
        <button type="button" class="button" disabled={busy.value !== null} onClick={() => void finishRun(id!)}>
          Finish
        </button>
      ) : null}
      {isWorking ? (
        <button type="button" class="button" disabled={isStopping} onClick={() => void stopRun(id!)}>
          {isStopping ? 'Stopping…' : 'Stop'}
        </button>
      ) : null}
      {isWorking && draft.value === '' ? null : (
        <button type="submit" class="button primary" disabled={isSending}>
          Send
        </button>
      )}
    </>
  );
};
