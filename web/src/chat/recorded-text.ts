// The words of a cell that this page was not sent while they were written: read from the log.
import { useEffect, useState } from 'preact/hooks';
import type { TranscriptCell } from '#contracts';
import type { CellView } from '#headends/run-view';
import type { RunStore } from '../run-store.ts';
import { me, source } from '../state.ts';
import { saidKey } from '../tab-storage.ts';
import { isTextMissing } from './turn-items.ts';
import type { RecordedText } from './turn-items.ts';

const none: ReadonlyMap<number, string> = new Map();

/** Who does not see contents has the answers only. */
export const seesContents = (): boolean => me.value?.sees === 'contents';

/** `isReading`: nothing is known yet, but will be soon. */
export const useRecordedText = (
  { run }: RunStore,
  cell: CellView | undefined,
): { readonly recorded: RecordedText; readonly isReading: boolean } => {
  const [texts, setTexts] = useState<ReadonlyMap<number, string> | null>(null);
  const stopped = useStoppedWords(run, cell);
  const recorded: RecordedText = (op) => stopped(op) ?? texts?.get(op);
  const isMissing = seesContents() && cell !== undefined && isTextMissing(cell, recorded);
  const ended = isMissing ? cell.requests.filter(({ endedAt }) => endedAt !== null).length : 0;
  useEffect(() => {
    if (ended === 0) return undefined;
    let isWanted = true;
    source.value.transcript(run, { cell: cell!.cell }).then(
      ({ cells }) => isWanted && setTexts(textsOf(cells[0])),
      () => isWanted && setTexts(none),
    );
    return () => {
      isWanted = false;
    };
  }, [run, cell?.cell, ended]);
  return { recorded, isReading: isMissing && texts === null };
};

/** The log has no words of an attempt that was stopped: the tab that saw them keeps the newest. */
const useStoppedWords = (run: string, cell: CellView | undefined): RecordedText => {
  const last = cell?.status === 'cancelled' ? cell.requests.at(-1) : undefined;
  const key = `${run} ${cell?.cell} ${last?.op} `;
  useEffect(() => {
    if (last?.ok === false && last.text) sessionStorage.setItem(saidKey, key + last.text);
  }, [key, last?.text]);
  return (op) => {
    const kept = op === last?.op && last.ok === false ? sessionStorage.getItem(saidKey) : null;
    return kept?.startsWith(key) === true ? kept.slice(key.length) : undefined;
  };
};

const textsOf = (cell: TranscriptCell | undefined): ReadonlyMap<number, string> =>
  new Map(
    cell?.entries
      .filter(({ ms }) => ms !== null)
      .map(({ op, said }) => [op, said.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')]),
  );
