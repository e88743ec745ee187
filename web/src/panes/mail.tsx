// Mail between rooms: who wrote to whom, when, and who heard it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { address, select } from '../address.ts';
import type { PaneProps } from '../shell/workbench.tsx';
import { announcement, mayAct } from '../state.ts';
import { nearest, useKeys } from '../ui/keys.ts';
import { Busy, Empty } from '../ui/parts.tsx';
import { useNarrow, useWidth } from '../ui/use-size.ts';
import { VirtualList } from '../ui/virtual-list.tsx';
import { MailDetail, openTrail } from './mail-detail.tsx';
import { MailHead, MailHall } from './mail-drawing.tsx';
import { headHeight, mailFrame, rowHeight } from './mail-layout.ts';
import { mailColumns, mailMessages, mailSentence } from './mail-messages.ts';
import type { MailMessage } from './mail-messages.ts';
import { useMailText } from './mail-texts.ts';
import { WriteMail } from './write-mail.tsx';

export const Mail = ({ store }: PaneProps) => {
  void store.version.value;
  const { view, run } = store;
  const states = [...view.mail.values()].reduce((sum, one) => sum + one.states.length, 0);
  const output = store.facts.value?.output || null;
  const messages = useMemo(() => mailMessages(view, output), [run, view.mail.size, states, output, store.state.value]);
  const [writesTo, setWritesTo] = useState<string | null>(null);
  useEffect(() => {
    if (messages.length > 0) announcement.value = mailSentence(messages).join(' ');
  }, [view.mail.size]);
  const isLive = store.state.value === 'live';
  const canWrite = mayAct.value && isLive;
  useKeys({ m: { about: 'write to a room', hint: true, run: () => setWritesTo('') } }, canWrite);
  if (messages.length === 0)
    return store.state.value === 'loading' ? (
      <Busy />
    ) : (
      <Empty title="These agents sent no messages. Who may is in messages: and topics:.">
        {canWrite ? (
          <WriteMail
            run={run}
            to=""
            onClose={() => setWritesTo(null)}
            isOpen={writesTo !== null}
            onOpen={() => setWritesTo('')}
          />
        ) : null}
      </Empty>
    );
  const selected = messages.find(({ id }) => id === address.value.message) ?? messages[0]!;
  const [total, rest] = mailSentence(messages);
  return (
    <div class="split split-360 mail">
      <div class="split-main">
        <div class="line">
          <div class="sentence">
            <h1>{total}</h1> <span>{rest}</span>
          </div>
          <span class="mail-legend">
            <span class="legend hue-goal">goal</span>
            <span class="legend hue-mail">message</span>
            <span class="legend hue-result">answer</span>
          </span>
        </div>
        <MailDrawing messages={messages} selected={selected} store={store} />
      </div>
      <aside
        class={`split-side detail ${address.value.message === undefined && writesTo === null ? '' : 'is-open'}`}
        aria-label="Selected message"
      >
        {writesTo === null ? (
          <MailDetail {...{ message: selected, messages, store }} onWrite={canWrite ? setWritesTo : null} />
        ) : (
          <WriteMail run={run} to={writesTo} onClose={() => setWritesTo(null)} isOpen />
        )}
      </aside>
    </div>
  );
};

type MailDrawingProps = {
  readonly messages: readonly MailMessage[];
  readonly selected: MailMessage;
  readonly store: PaneProps['store'];
};

const MailDrawing = ({ messages, selected, store }: MailDrawingProps) => {
  const { view, run } = store;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isNarrow = useNarrow();
  const columns = useMemo(() => mailColumns(view, messages), [messages, view.cells.size]);
  const frame = mailFrame(columns, width, isNarrow);
  const at = messages.indexOf(selected);
  const move = (step: number): void => select({ message: nearest(messages, at + step)!.id, cell: undefined });
  const text = useMailText(store, selected);
  const readers = selected.readers.flatMap(({ to }) => (to === null || to === 'outside' ? [] : [to]));
  const nextReader = (step: number): void => {
    const now = readers.findIndex((cell) => cell === address.value.cell);
    const next = readers.at((Math.max(now, step < 0 ? 0 : -1) + step) % Math.max(1, readers.length));
    if (next !== undefined) select({ cell: next });
  };
  const dead = messages.filter((one) => one.readers.some(({ state }) => state === 'dead'));
  const nextDead = (): void => {
    const next = dead.find((one) => messages.indexOf(one) > at) ?? dead[0];
    if (next !== undefined) select({ message: next.id });
  };
  useKeys({
    ArrowUp: { about: 'message', hint: true, run: () => move(-1) },
    ArrowDown: { about: 'message', hint: true, run: () => move(1) },
    ArrowLeft: { about: 'reader', hint: true, run: () => nextReader(-1) },
    ArrowRight: { about: 'reader', hint: true, run: () => nextReader(1) },
    t: { about: 'trail', hint: true, run: () => openTrail(run, selected, text) },
    Escape: { about: 'back', run: () => select({ message: undefined }) },
    d: { about: 'dead letters', hint: true, run: nextDead },
  });
  const startedAt = messages[0]?.at ?? 0;
  return (
    <div
      class="mail-drawing"
      ref={box}
      role="table"
      aria-label="Messages, oldest first"
      aria-rowcount={messages.length}
    >
      {width === 0 ? null : (
        <VirtualList
          rows={messages}
          rowHeight={rowHeight}
          selected={address.value.message === undefined ? -1 : at}
          label="Messages"
          head={<MailHead {...{ columns, frame, messages }} />}
          headHeight={headHeight}
        >
          {(message, index) => (
            <MailHall
              key={message.id}
              {...{ message, index, messages, columns, frame, startedAt, store }}
              isSelected={message === selected}
            />
          )}
        </VirtualList>
      )}
    </div>
  );
};
