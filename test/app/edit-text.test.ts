// The user's editor: what it leaves is the text, and a failure says what happened.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { editText } from '../../src/app/edit-text.ts';

beforeEach(() => vi.stubEnv('VISUAL', ''));
afterEach(() => vi.unstubAllEnvs());

test.each([
  ['sed -i s/anna/ben/', { text: 'to ben' }],
  ['false', { problem: 'The editor `false` ended with exit code 1.' }],
  ['sh -c "kill -9 $$"', { problem: expect.stringContaining('was ended by SIGKILL') }],
  ['no-such-editor 2>/dev/null', { problem: expect.stringContaining('ended with exit code 127') }],
  ['', null],
])('%s', async (editor, result) => {
  vi.stubEnv('EDITOR', editor);
  expect(await editText('to anna')).toEqual(result);
});
