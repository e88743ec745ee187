import type { Cloister, MailReport, RunSession } from '#contracts';

/** Lets a long-lived session answer what it was already asked, then ends it: no user is there to write more. Never rejects. */
export const finishWhenAnswered = async (session: RunSession, cloister: Cloister): Promise<void> => {
  try {
    const mail = await cloister.mail(session.run);
    const { goal } = await cloister.show(session.run);
    const asked = [...(goal === '' ? [] : [undefined]), ...unanswered(mail)];
    await Promise.allSettled(asked.map((message) => session.answer(message, { confirm: false })));
    session.finish();
  } catch {
    // The session has ended in the meantime; the outcome says how.
  }
};

const unanswered = (mail: readonly MailReport[]): readonly string[] => {
  const answered = new Set(mail.map(({ correlation_id: of }) => of));
  return mail
    .filter(({ from, message_type: type, state }) => from === 'outside' && type === 'message' && state !== 'dead')
    .flatMap(({ id }) => (answered.has(id) ? [] : [id]));
};
