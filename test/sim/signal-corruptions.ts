// Corruptions of histories in which runs were signalled from other processes, which the judge of signals must detect.
import type { History } from '../../sim/index.ts';

/** An untyped copy, so that tests can change anything. */
type Loose = any;
type Corruption = { readonly to: (history: History) => boolean; readonly change: (history: Loose) => void };

const runOf = (history: Loose, { run: of }: Loose): Loose => history.runs.find(({ run }: Loose) => run === of);
const isEffect = ({ record, contents = [] }: Loose, id: string): boolean =>
  (record.type === 'ruling' && record.signal === id) ||
  (record.type === 'mail' && contents.some(({ content }: Loose) => content.includes(id)));
/** What a signal led to, by its run and id. The log names an answer by the id that its sender chose. */
const effectOf = (history: Loose, { run: of, id }: Loose): Loose => {
  const { command } = history.signals.find((one: Loose) => one.run === of && one.id === id) ?? {};
  const recorded = command?.do === 'answer' ? command.id : id;
  return runOf(history, { run: of })?.frames.find((frame: Loose) => isEffect(frame, recorded));
};

/** The removal of a signal that was carried out while its run went on. */
const removalOf = (history: Loose, does: string): Loose =>
  history.signalRemovals.find(({ run, id, onDisk }: Loose) => {
    const signal = history.signals.find((one: Loose) => one.run === run && one.id === id && one.command.do === does);
    const isOpen = runOf(history, { run })?.frames.every(
      ({ no, record }: Loose) => record.type !== 'close' || no >= onDisk,
    );
    const isCancelled = runOf(history, { run })?.frames.some(({ record }: Loose) => record.type === 'cancel');
    const effect = signal && effectOf(history, signal);
    // Others may refuse what they are sent.
    const isHeard = does !== 'send' || runOf(history, { run })?.frames[0].record.birth?.spawned !== undefined;
    return isOpen && !isCancelled && isHeard && effect !== undefined;
  });

const onRemoval = (does: string, change: (removal: Loose, history: Loose) => void): Corruption => ({
  to: (history) => removalOf(history, does) !== undefined && !(history as Loose).clockWasSet,
  change: (history) => change(removalOf(history, does), history),
});

const dropEffect = (removal: Loose, history: Loose): void => {
  const run = runOf(history, removal);
  const at = run.frames.indexOf(effectOf(history, removal));
  run.frames = run.frames.slice(0, at);
};

const repeatEffect = (removal: Loose, history: Loose): void => {
  const { frames } = runOf(history, removal);
  const effect = effectOf(history, removal);
  frames.splice(frames.indexOf(effect) + 1, 0, structuredClone(effect));
};

/** An answer through another process whose sender was told that it counts, to a question that was decided by one person. */
const takenAnswer = (history: Loose): Loose =>
  history.answers.find(({ elsewhere, told, run, answer }: Loose) => {
    const frames = runOf(history, { run })?.frames ?? [];
    return (
      elsewhere &&
      told?.state !== undefined &&
      frames.some((frame: Loose) => isEffect(frame, answer.id)) &&
      frames.every(({ record }: Loose) => record.type !== 'cancel')
    );
  });

export const signalCorruptions: Readonly<Record<string, readonly Corruption[]>> = {
  'signals take effect once, and stay until then': [
    onRemoval('answer', (removal, history) => {
      removal.onDisk = effectOf(history, removal).no;
    }),
    onRemoval('send', (removal, history) => {
      removal.onDisk = effectOf(history, removal).no;
    }),
    onRemoval('answer', dropEffect),
    onRemoval('answer', repeatEffect),
    onRemoval('send', repeatEffect),
    onRemoval('answer', (removal) => (removal.id = 'nobody')),
    {
      to: (history) =>
        removalOf(history, 'answer') !== undefined &&
        !history.diskFails &&
        history.processes.every(({ diedAt }) => diedAt === null),
      change: (history) => history.signalsLeft.push(removalOf(history, 'answer')),
    },
    {
      to: (history) =>
        !history.diskFails &&
        history.signals.some(
          ({ acknowledgedAt, command, run }) =>
            acknowledgedAt !== null &&
            command.do === 'answer' &&
            history.writings.some(
              (one) =>
                one.run === run &&
                one.ownedAt <= acknowledgedAt &&
                (one.releasedAt ?? 0) > acknowledgedAt + 3_000 &&
                history.processes[one.process - 1]!.diedAt === null,
            ),
        ),
      change: (history) => (history.signalRemovals = []),
    },
    {
      to: (history) => takenAnswer(history) !== undefined,
      change: (history) => {
        const { answer, run } = takenAnswer(history);
        const frames = runOf(history, { run }).frames;
        for (const one of history.answers) if (one.answer.id === answer.id) one.told = { code: 'answer_invalid' };
        for (const frame of frames)
          if (isEffect(frame, answer.id)) Object.assign(frame.record, { signal: 'x', by: 'x' });
        history.signalRemovals = [];
      },
    },
  ],
};
