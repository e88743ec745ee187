// A dialog as clients of chat protocols send it: all that was said, each time.
import { CloisterError } from '#base';
import type { DialogMessage } from '#contracts';

/** What is asked now is what a person said last; the rest was said before. `field`: what the dialog is called. */
export const splitDialog = (
  dialog: readonly DialogMessage[],
  field: string,
): { readonly input: string; readonly history: readonly DialogMessage[] } => {
  const last = dialog.at(-1);
  if (last === undefined) throw new CloisterError('request_invalid', `${field}: there is no message.`);
  if (last.by !== 'person')
    throw new CloisterError(
      'request_unsupported',
      `${field}: the last message must be the user's; an answer cannot be begun by the client.`,
    );
  return { input: last.text, history: dialog.slice(0, -1).filter(({ text }) => text.trim() !== '') };
};
