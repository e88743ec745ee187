// One message: who heard it and when, whether the person saw it, and what nobody will read.
import { count, formatBytes, formatDuration } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { me } from '../state.ts';
import { Button } from '../ui/parts.tsx';
import { kindColour } from './mail-drawing.tsx';
import { deadWords, seenByPerson } from './mail-messages.ts';
import type { MailMessage, MailReader } from './mail-messages.ts';
import { useMailText } from './mail-texts.ts';
import { Part } from './task-detail.tsx';

type MailDetailProps = {
  readonly message: MailMessage;
  readonly messages: readonly MailMessage[];
  readonly store: RunStore;
  /** Null: nobody can write to this run. */
  readonly onWrite: ((to: string) => void) | null;
};

export const MailDetail = ({ message, messages, store, onWrite }: MailDetailProps) => {
  const text = useMailText(store, message);
  const { id, sender, topic, readers, kind, from } = message;
  const answered = messages.find((one) => one.id === message.correlation);
  return (
    <>
      <header class="detail-head">
        <h2>{kind === 'goal' ? 'Goal' : 'Message'}</h2>
        {kind === 'goal' ? null : <code>{id.slice(0, 10)}</code>}
        <span class="grow" />
        <button type="button" class="button small narrow-only" onClick={() => select({ message: undefined })}>
          Close
        </button>
      </header>
      <div class="detail-body">
        {text === null ? (
          <p class="muted">{me.value?.sees === 'contents' ? 'It has no text.' : 'Its text is not shown to you.'}</p>
        ) : (
          <blockquote class="mail-quote">“{text}”</blockquote>
        )}
        <p>
          <b>{sender}</b>{' '}
          <span class={topic === null ? `legend hue-${kindColour(message)}` : 'muted'}>
            {topic === null ? kind : 'on the topic'}
          </span>{' '}
          {topic === null ? null : <b class="hue-text hue-mail">#{topic}</b>}
        </p>
        {answered === undefined ? null : (
          <p class="muted">
            Answers{' '}
            <button type="button" class="plain link" onClick={() => select({ message: answered.id })}>
              {answered.sender}’s {answered.kind}
            </button>
          </p>
        )}
        <Readers message={message} readers={readers} />
        <p class="muted small">{seenByPerson({ ...message, text }, messages)}</p>
        <DeadLetters messages={messages} />
        <div class="detail-actions">
          {text === null ? null : <Button onClick={() => openTrail(store.run, message, text)}>Trail</Button>}
          {onWrite === null || from === 'outside' || store.view.cells.get(from)?.status !== null ? null : (
            <Button onClick={() => onWrite(from)}>Write to {sender}</Button>
          )}
        </div>
      </div>
    </>
  );
};

const Readers = ({ message, readers }: { readonly message: MailMessage; readonly readers: readonly MailReader[] }) => (
  <table class="list-table mail-readers">
    <thead>
      <tr>
        <th>Heard by</th>
        <th class="number">Bytes</th>
        <th class="number">Delivered</th>
        <th class="number">Read</th>
      </tr>
    </thead>
    <tbody>
      {readers.map(({ to, name, bytes, state, reason, deliveredAt, readAt }) => (
        <tr key={name} class={to !== null && to === address.value.cell ? 'is-selected' : ''}>
          <td>
            <b>{name}</b>
          </td>
          <td class="number">{bytes === null ? '' : count(bytes)}</td>
          {state === 'dead' ? (
            <td class="number hue-text hue-stop" colSpan={2}>
              never, {reason === null ? 'dead' : deadWords[reason]}
            </td>
          ) : (
            <>
              <td class="number muted">{after(message, deliveredAt)}</td>
              <td class="number">{to === 'outside' ? '' : after(message, readAt)}</td>
            </>
          )}
        </tr>
      ))}
    </tbody>
  </table>
);

const after = ({ at }: MailMessage, then: number | null): string =>
  then === null ? 'not yet' : formatDuration(Math.max(0, then - at));

const listedMax = 50;

const DeadLetters = ({ messages }: { readonly messages: readonly MailMessage[] }) => {
  const dead = messages.flatMap((message) =>
    message.readers.filter(({ state }) => state === 'dead').map((reader) => ({ message, reader })),
  );
  if (dead.length === 0) return null;
  return (
    <Part title={`Dead letters, ${count(dead.length)}`}>
      <ul class="rows card-list">
        {dead.slice(0, listedMax).map(({ message, reader }) => (
          <li key={`${message.id} ${reader.name}`}>
            <button type="button" class="line card-row" onClick={() => select({ message: message.id })}>
              <span class="legend hue-stop">{message.kind}</span>
              <span class="muted cut grow">
                {message.sender} to {reader.name}
              </span>
              <span class="muted">
                {reader.bytes === null ? '' : `${formatBytes(reader.bytes)}, `}
                {reader.reason === null ? 'dead' : deadWords[reader.reason]}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {dead.length > listedMax ? <p class="muted small">and {count(dead.length - listedMax)} more</p> : null}
    </Part>
  );
};

/** Shows where the text of a message came from, at the first room that read it. */
export const openTrail = (run: string, { readers }: MailMessage, text: string | null): void => {
  const reader = readers.find(({ to, state }) => to !== null && to !== 'outside' && state === 'read');
  if (reader?.to == null || text === null) return;
  go({ page: 'chat', run, cell: reader.to, find: text.slice(0, 200), xray: true });
};
