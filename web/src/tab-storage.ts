// What a tab keeps across a reload.

export const draftKey = 'cloister.draft';
export const outgoingKey = 'cloister.outgoing';
export const budgetKey = 'cloister.budget';
export const saidKey = 'cloister.said';
const callerKey = 'cloister.caller';

/** A message belongs to whoever wrote it: with the token of another caller, nothing of it is shown or sent. */
export const forgetOthersDrafts = (caller: string): void => {
  if (sessionStorage.getItem(callerKey) !== caller)
    for (const key of [draftKey, outgoingKey, budgetKey, saidKey]) sessionStorage.removeItem(key);
  sessionStorage.setItem(callerKey, caller);
};
