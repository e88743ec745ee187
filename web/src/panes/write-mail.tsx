// Writes a message to a room of a run under way, or to everyone on a topic.
import { useEffect, useRef, useState } from 'preact/hooks';
import { source } from '../state.ts';
import { Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';

type LiveAgent = {
  readonly cell: string;
  readonly agent: string;
  readonly sub_agent_id: string;
  readonly subscriptions: readonly string[];
  readonly mailbox: boolean;
};

type WriteMailProps = {
  readonly run: string;
  /** The cell of the first choice; empty: the first agent. */
  readonly to: string;
  readonly isOpen: boolean;
  readonly onOpen?: () => void;
  readonly onClose: () => void;
};

export const WriteMail = ({ run, to, isOpen, onOpen, onClose }: WriteMailProps) => {
  if (!isOpen)
    return (
      <button type="button" class="button" onClick={onOpen}>
        Write to a room
      </button>
    );
  return <MailForm run={run} to={to} onClose={onClose} />;
};

const MailForm = ({ run, to, onClose }: Pick<WriteMailProps, 'run' | 'to' | 'onClose'>) => {
  const field = useRef<HTMLTextAreaElement>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setSending] = useState(false);
  const key = useRef(crypto.randomUUID());
  const path = `/runs/${encodeURIComponent(run)}`;
  const live = useLoaded(() => source.value.get<{ agents: readonly LiveAgent[] }>(`${path}/agents`), [run]);
  const agents = (live.value?.agents ?? []).filter(({ mailbox }) => mailbox);
  const topics = [...new Set(agents.flatMap(({ subscriptions }) => subscriptions))];
  useEffect(() => field.current?.focus(), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const [target, text] = [form.get('to') as string | null, form.get('text') as string];
    if (text.trim() === '') return;
    setSending(true);
    setError(null);
    const where = target?.startsWith('#') ? { topic: target.slice(1) } : !target ? {} : { to: target };
    try {
      await source.value.send('POST', `${path}/messages`, { text, ...where }, key.current);
      onClose();
    } catch (problem) {
      setError(problem as Error);
      setSending(false);
    }
  };
  return (
    <form class="mail-form" onSubmit={(event) => void send(event)} onKeyDown={closeOnEscape(onClose)}>
      <header class="detail-head">
        <h2>Write to a room</h2>
      </header>
      {error === null ? null : <Problem error={error} />}
      {live.error === null ? null : <Problem error={live.error} />}
      <div class="detail-body">
        <label>
          To
          <select name="to" defaultValue={agents.find(({ cell }) => cell === to)?.sub_agent_id} key={agents.length}>
            {agents.map(({ sub_agent_id: name, cell }) => (
              <option key={name} value={name} selected={cell === to}>
                {name}
              </option>
            ))}
            {topics.map((topic) => (
              <option key={`#${topic}`} value={`#${topic}`}>
                everyone on #{topic}
              </option>
            ))}
          </select>
        </label>
        <label>
          Message
          <textarea name="text" rows={5} ref={field} required />
        </label>
        <div class="detail-actions">
          <button type="submit" class="button primary" disabled={isSending}>
            Send
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </div>
        <p class="muted small">It crosses the wall as a message, and is in the ledger like every other one.</p>
      </div>
    </form>
  );
};

const closeOnEscape =
  (close: () => void) =>
  (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    close();
  };
