// Shown when the page cannot speak with its server: what is wrong, and what to do.
import { storeToken } from '../server-source.ts';
import type { SourceProblem } from '../source.ts';

export const SignIn = ({ error }: { readonly error: SourceProblem }) => {
  const enter = (event: Event): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget as HTMLFormElement).get('token');
    if (typeof token !== 'string' || token.trim() === '') return;
    storeToken(token.trim());
    location.reload();
  };
  const isExpired = error.status === 401;
  // What a server suggests then is for programs.
  const suggestion = isExpired ? 'Or paste a token.' : error.suggestion;
  return (
    <div class="first-visit">
      <h1>{isExpired ? 'This link has expired. Start studio again.' : error.message}</h1>
      {suggestion === '' ? null : <p>{suggestion}</p>}
      {isExpired || error.code === 'token_missing' ? (
        <form class="sign-in" onSubmit={enter}>
          <label>
            Token <input name="token" type="password" autocomplete="off" required />
          </label>
          <button type="submit" class="button primary">
            Open
          </button>
        </form>
      ) : (
        <button type="button" class="button primary" onClick={() => location.reload()}>
          Try again
        </button>
      )}
    </div>
  );
};
