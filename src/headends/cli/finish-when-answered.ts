import type { Cloister, MailReport, RunSession } from '#contracts';

/** Nobody is here to write to it: it answers what it was asked before, and ends. Never rejects. */
export const finishWhenAnswered = async (session: RunSession, cloister: Cloister): Promise<void> => {
  try {
    const mail = await cloister.mail(session.run);
    const { goal } = await cloister.show(session.run);
    const asked = [...(goal === '' ? [] : [undefined]), ...unanswered(mail)];
    await Promise.allSettled(asked.map((message) => session.answer(message)));
    session.finish();
  } catch {
    // It has ended meanwhile: the outcome says how.
  }
};

const unanswered = (mail: readonly MailReport[]): readonly string[] => {
  const answered = new Set(mail.map(({ correlation_id: of }) => of));
  return mail
    .filter(({ from, message_type: type, state }) => from === 'outside' && type === 'message' && state !== 'dead')
    .flatMap(({ id }) => (answered.has(id) ? [] : [id]));
};
