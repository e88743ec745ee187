// Which models can be asked with the files in view, and which files are left out for them.
//
//   earlier-file-never-blocks. A file of an earlier message that the model does not take, or that there is no room for, is
//       replaced by a note. A file of the goal is never left out.
import type { Failure } from '#base';
import type { Model, Segment } from '#contracts';
import { bytesToTokens } from '#core/memory';
import type { ContextWindow } from '#core/memory';
import { fileReferences, isGoalFile, isMadeBy, leftOutReason, unsupportedType } from '#core/rules';
import { modelName } from './model-name.ts';
import type { Session } from './state.ts';
import { fileTokens, windowLimit, promptRoom } from './window-limit.ts';

type UsableModels = { readonly models: readonly Model[]; readonly failure: Failure };

/** Those that take all files in view; if there are none, those that take the files of the goal. `failure`: why there are none at all. */
export const usableModels = (window: ContextWindow, models: readonly Model[]): UsableModels => {
  const missing: Failure = { code: 'model_missing' };
  if (window.files.length === 0) return { models, failure: missing };
  const takeAll = models.filter((model) => unsupportedType(model, window.files) === undefined);
  const goalFiles = window.view.filter(({ origin }) => isGoalFile(origin)).flatMap(({ part }) => fileReferences(part));
  const usable =
    takeAll.length > 0 ? takeAll : models.filter((model) => unsupportedType(model, goalFiles) === undefined);
  const [first] = models;
  if (usable.length > 0 || first === undefined) return { models: usable, failure: missing };
  const detail = `${modelName(first)} does not take ${unsupportedType(first, goalFiles)}.`;
  return { models: usable, failure: { code: 'attachment_refused', detail } };
};

/** Before each attempt: makes the view one that the model takes, as far as files of earlier messages are concerned. */
export const leaveOutFiles = (session: Session, model: Model): void => {
  const { window } = session;
  if (window.files.length === 0) return;
  const replaceFirst = (why: number, isMeant: (segment: Segment) => boolean): boolean => {
    const index = window.view.findIndex((segment) => isEarlierFile(segment) && isMeant(segment));
    if (index < 0) return false;
    const { of, with: [entry = 0, place = 0] = [] } = window.view[index]!.origin;
    window.replace(index, index, { rule: 'attachment@1', of, with: [entry, place, why] }, 'DIALOG');
    return true;
  };
  const isUnsupported = ({ part }: Segment): boolean => unsupportedType(model, fileReferences(part)) !== undefined;
  while (replaceFirst(leftOutReason.notTaken, isUnsupported));
  const room = promptRoom(session, model, windowLimit(session, model));
  while (bytesToTokens(window.bytes, room) + fileTokens(window) > room.tokens)
    if (!replaceFirst(leftOutReason.noRoom, () => true)) return;
};

const isEarlierFile = ({ origin, part }: Segment): boolean =>
  isMadeBy(origin.rule, 'attachment') && !isGoalFile(origin) && fileReferences(part).length > 0;
