// One row of mail: the hall with the message's line and text, and the room pieces below it.
import { formatDuration } from '#headends/run-view';
import { select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { hallY, headHeight, labelPlace, linesOf, mailRow, pieceTop, piecesAfter, rowHeight } from './mail-layout.ts';
import type { MailFrame, MailPiece } from './mail-layout.ts';
import type { MailColumn, MailMessage } from './mail-messages.ts';
import { useMailText } from './mail-texts.ts';

export const kindColour = ({ kind }: MailMessage): 'goal' | 'mail' | 'result' => {
  if (kind === 'goal') return 'goal';
  return kind === 'answer' || kind === 'result' ? 'result' : 'mail';
};

type MailHeadProps = {
  readonly columns: readonly MailColumn[];
  readonly frame: MailFrame;
  readonly messages: readonly MailMessage[];
};

export const MailHead = ({ columns, frame, messages }: MailHeadProps) => {
  const pieces = piecesAfter(-1, messages, columns, frame);
  const first = messages[0];
  const sender = first === undefined ? -1 : mailRow(first, columns).sender;
  return (
    <div class="mail-head" role="row" style={{ width: `${frame.width}px`, height: `${headHeight}px` }}>
      {columns.map(({ id, name, cell }, column) => (
        <div
          key={id}
          role="columnheader"
          class={cell === null ? 'mail-person' : 'mail-room'}
          title={name}
          style={{
            left: `${frame.middles[column]! - (cell === null ? 40 : frame.roomWidth / 2)}px`,
            width: `${cell === null ? 80 : frame.roomWidth}px`,
          }}
        >
          <span>{name}</span>
        </div>
      ))}
      <svg class="mail-svg" width={frame.width} height={headHeight} aria-hidden="true">
        <Doors pieces={pieces} top={0} />
        {sender < 0 ? null : (
          <g class={`hue-${kindColour(first!)}`}>
            <path class="mail-line" d={`M${frame.middles[sender]} ${headHeight - 20}V${headHeight}`} />
            <circle cx={frame.middles[sender]} cy={headHeight - 20} r="3.5" />
          </g>
        )}
      </svg>
    </div>
  );
};

type MailHallProps = MailHeadProps & {
  readonly message: MailMessage;
  readonly index: number;
  readonly startedAt: number;
  readonly isSelected: boolean;
  readonly store: RunStore;
};

export const MailHall = (props: MailHallProps) => {
  const { message, index, messages, columns, frame, startedAt, isSelected, store } = props;
  const row = mailRow(message, columns);
  const place = labelPlace(row.sender, frame);
  const read = useMailText(store, message);
  const text = read || `${message.kind}${message.topic === null ? '' : ` on #${message.topic}`}`;
  const label = {
    maxWidth: `${place.most}px`,
    ...(place.side === 'right' ? { left: `${place.x + 10}px` } : { right: `${frame.width - place.x + 10}px` }),
  };
  return (
    <div
      role="row"
      class={`mail-row ${isSelected ? 'is-selected' : ''}`}
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      style={{ width: `${frame.width}px`, height: `${rowHeight}px` }}
      onClick={() => select({ message: message.id, cell: undefined })}
    >
      <span role="cell" class="unseen">
        {describe(message, read)}
      </span>
      {frame.hasTimes ? (
        <span class="mail-time" aria-hidden="true">
          {formatOffset(message.at - startedAt)}
        </span>
      ) : null}
      <HallDrawing {...{ message, index, messages, columns, frame }} />
      <span class="mail-text" aria-hidden="true" style={label}>
        {text}
      </span>
    </div>
  );
};

type HallDrawingProps = Omit<MailHallProps, 'startedAt' | 'isSelected' | 'store'>;

const HallDrawing = ({ message, index, messages, columns, frame }: HallDrawingProps) => {
  const row = mailRow(message, columns);
  const top = headHeight + index * rowHeight;
  const pieces = piecesAfter(index, messages, columns, frame);
  const lines = linesOf(index, row, frame);
  const next = messages[index + 1];
  const tokens = next?.tokens ?? null;
  const sender = next === undefined ? undefined : pieces.find(({ doorBelow }) => doorBelow);
  const path = (some: readonly MailPiece[]): string =>
    some.map(({ x, y, width, height }) => `M${x + 2} ${y - top + 2}h${width - 4}v${height - 4}h${4 - width}z`).join('');
  const tip = pieceTop + 14;
  return (
    <svg class="mail-svg" width={frame.width} height={rowHeight} aria-hidden="true">
      <path class="mail-piece is-idle" d={path(pieces.filter(({ isLit }) => !isLit))} />
      <path class="mail-piece" d={path(pieces.filter(({ isLit }) => isLit))} />
      {columns[0]?.cell === null ? <circle class="mail-dot" cx={frame.middles[0]} cy={pieceTop + 14} r="1.5" /> : null}
      <Doors pieces={pieces} top={top} />
      {tokens === null || sender === undefined || frame.roomWidth < 130 ? null : (
        <text class="mail-tokens" x={sender.x + 12} y={sender.y - top + 18}>
          {tokens.input} → {tokens.output}
        </text>
      )}
      <g class={`hue-${kindColour(message)}`}>
        <path
          class="mail-line"
          d={lines.map(({ x1, y1, x2, y2 }) => `M${x1} ${y1 - top}L${x2} ${Math.min(y2 - top, tip - 8)}`).join('')}
        />
        {row.sender < 0 || index === 0 ? null : <circle cx={frame.middles[row.sender]} cy={-12} r="3.5" />}
        {row.reached.map((column) => (
          <path key={column} d={`M${frame.middles[column]} ${tip}l-5 -9h10z`} />
        ))}
      </g>
      {row.stopped.map(({ column, isDead }) => (
        <path
          key={column}
          class={isDead ? 'mail-dead' : 'mail-queued'}
          d={`M${frame.middles[column]} ${hallY - 5}l5 5l-5 5l-5 -5z`}
        />
      ))}
    </svg>
  );
};

/** Gaps in the upper and lower walls. */
const Doors = ({ pieces, top }: { readonly pieces: readonly MailPiece[]; readonly top: number }) => (
  <>
    {pieces.flatMap(({ x, y, width, height, column, doorAbove, doorBelow }) => {
      const left = x + width / 2 - 8;
      return [
        ...(doorAbove ? [<rect key={`a${column}`} class="door" x={left} y={y - top - 1} width="16" height="6" />] : []),
        ...(doorBelow
          ? [<rect key={`b${column}`} class="door" x={left} y={y + height - top - 5} width="16" height="6" />]
          : []),
      ];
    })}
  </>
);

const formatOffset = (ms: number): string => (ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : formatDuration(ms));

/** As it is read out. */
const describe = ({ sender, topic, readers, kind }: MailMessage, text: string | null): string => {
  const names = readers.map(({ name, state }) => (state === 'dead' ? `${name}, dead` : name)).join(', ');
  return `${kind} from ${sender}${topic === null ? '' : ` on ${topic}`} to ${names}: ${text ?? ''}`;
};
