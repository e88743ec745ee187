// A dialog as clients of chat protocols send it: every request repeats all earlier messages.
import { CloisterError } from '#base';
import type { DialogMessage } from '#contracts';

/** The user's last message is the input; the messages before it are the history. `field`: the name of the dialog's field, for errors. */
export const splitDialog = (
  dialog: readonly DialogMessage[],
  field: string,
): { readonly input: string; readonly history: readonly DialogMessage[] } => {
  const last = dialog.at(-1);
  if (last === undefined) throw new CloisterError('request_invalid', `${field}: needs at least one message.`);
  if (last.by !== 'person')
    throw new CloisterError(
      'request_unsupported',
      `${field}: the last message must come from the user; prefilling an answer is not supported.`,
    );
  return { input: last.text, history: dialog.slice(0, -1).filter(({ text }) => text.trim() !== '') };
};
