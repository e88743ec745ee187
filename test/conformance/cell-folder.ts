// What every cell folder adapter must do: call `conformWorkspace(name, open)` in the adapter's own test.
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { CellFolder, CellFolders } from '#contracts';

const run = 'run-1' as RunId;
const cell = 'cell-1' as CellId;

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
export const readText = async (workspace: CellFolder, path: string, from?: number, length?: number): Promise<string> =>
  textOf((await workspace.read(path, from, length)).bytes);

/** The failure that a call rejects with; the test fails if the call succeeds. */
export const failureOf = async (call: Promise<unknown>): Promise<CloisterError> => {
  const error: unknown = await call.then(
    () => new Error('It was not refused.'),
    (reason: unknown) => reason,
  );
  if (error instanceof CloisterError) return error;
  throw error;
};

/** Paths that every adapter rejects, each with text that the refusal must contain. */
export const hostilePaths: readonly (readonly [title: string, path: string, why: RegExp])[] = [
  ['nothing', '', /empty/u],
  ['a dot', '.', /Part 1 .*not a file name/u],
  ['two dots', '..', /Part 1 .*not a file name/u],
  ['three dots', '...', /only of dots/u],
  ['a step up', '../canary.txt', /Part 1 .*not a file name/u],
  ['many steps up', '../../../../etc/passwd', /Part 1 .*not a file name/u],
  ['a step up in the middle', 'a/../../canary.txt', /Part 2 .*not a file name/u],
  ['a step up that stays inside', 'a/../b', /Part 2 .*not a file name/u],
  ['a step up at the end', 'a/..', /Part 2 .*not a file name/u],
  ['a dot in the middle', 'a/./b', /Part 2 .*not a file name/u],
  ['a dot in front', './a', /Part 1 .*not a file name/u],
  ['the root', '/', /starts with a slash/u],
  ['an absolute path', '/etc/passwd', /starts with a slash/u],
  ['two slashes in front', '//etc/passwd', /starts with a slash/u],
  ['a detour through /proc', '/proc/self/root/etc/passwd', /starts with a slash/u],
  ['a file descriptor of the process', '/proc/self/fd/0', /starts with a slash/u],
  ['a device', '/dev/stdin', /starts with a slash/u],
  ['a slash at the end', 'a/', /Part 2 .*empty/u],
  ['two slashes in the middle', 'a//b', /Part 2 .*empty/u],
  ['a file URL', 'file:///etc/passwd', /Part 2 .*empty/u],
  ['a NUL at the end', 'a.txt\0', /Part 1 .*control/u],
  ['a NUL before another extension', '../canary.txt\0.png', /not a file name/u],
  ['a NUL in the middle', 'a\0/b', /Part 1 .*control/u],
  ['a line feed', 'a\nb', /control/u],
  ['a carriage return', 'a\rb', /control/u],
  ['a tab', 'a\tb', /control/u],
  ['an escape', 'a\u001b[2Jb', /control/u],
  ['a delete', 'a\u007fb', /control/u],
  ['a C1 control', 'a\u0085b', /control/u],
  ['a line separator', 'a\u2028b', /control/u],
  ['a backslash', 'a\\b', /backslash/u],
  ['steps up with backslashes', '..\\..\\canary.txt', /backslash/u],
  ['a drive', 'C:\\Windows\\win.ini', /backslash/u],
  ['a share', '\\\\host\\share', /backslash/u],
  ['a right-to-left override', 'a\u202etxt.exe', /direction/u],
  ['a right-to-left mark', '\u200fa', /direction/u],
  ['an Arabic letter mark', 'a\u061cb', /direction/u],
  ['an isolate', 'a\u2066b\u2069', /direction/u],
  ['a zero-width space', '.\u200b.', /zero-width/u],
  ['a zero-width joiner', 'a\u200db', /zero-width/u],
  ['a word joiner', 'a\u2060b', /zero-width/u],
  ['a byte-order mark', '\ufeff../a', /zero-width/u],
  ['a soft hyphen', 'a\u00adb', /zero-width/u],
  ['a variation selector', 'a\ufe0fb', /zero-width/u],
  ['a Hangul filler', '\u3164', /zero-width/u],
  ['an invisible tag', 'a\u{e0041}b', /zero-width/u],
  ['a lone high surrogate', 'a\ud800', /malformed/u],
  ['a lone low surrogate', '\udc00a', /malformed/u],
  ['a decomposed letter', 'cafe\u0301', /NFC/u],
  ['decomposed Hangul', '\u1112\u1161\u11ab', /NFC/u],
  ['the Kelvin sign', '\u212a', /NFC/u],
  ['the Angstrom sign', '\u212b', /NFC/u],
  ['fullwidth dots', '\uff0e\uff0e', /looks like/u],
  ['fullwidth dots and slash', '\uff0e\uff0e\uff0fcanary.txt', /looks like/u],
  ['a fullwidth slash', 'a\uff0fb', /looks like/u],
  ['a fullwidth backslash', 'a\uff3cb', /looks like/u],
  ['a two-dot leader', '\u2025', /looks like/u],
  ['one-dot leaders', '\u2024\u2024/canary.txt', /looks like/u],
  ['small full stops', '\ufe52\ufe52', /looks like/u],
  ['an ellipsis', '\u2026', /looks like/u],
  ['a fraction slash', '..\u2044canary.txt', /looks like/u],
  ['a division slash', '..\u2215canary.txt', /looks like/u],
  ['a big solidus', 'a\u29f8b', /looks like/u],
  ['two dots and a space', '.. ', /whitespace/u],
  ['a space and two dots', ' ..', /whitespace/u],
  ['a space', ' ', /whitespace/u],
  ['a no-break space at the end', 'a\u00a0', /whitespace/u],
  ['a name of 300 letters', 'a'.repeat(300), /Part 1 .*200 bytes/u],
  ['a name of 201 bytes', `${'é'.repeat(100)}a`, /Part 1 .*200 bytes/u],
  ['a long folder', `${'a'.repeat(201)}/b`, /Part 1 .*200 bytes/u],
  ['a path of 9 parts', Array.from({ length: 9 }, () => 'a').join('/'), /8 parts/u],
  ['a path of 1,000 parts', '../'.repeat(1000), /1000 bytes/u],
  ['a path of 1,001 bytes', `${'a/'.repeat(500)}b`, /1000 bytes/u],
  ['a path of a million letters', 'a'.repeat(1_000_000), /1000 bytes/u],
  ["the runtime's own name", '.cloister-0123456789ab', /runtime/u],
  ["the runtime's own name as a folder", 'a/.cloister-x/b', /Part 2 .*runtime/u],
];

const longestPath = Array.from({ length: 5 }, (_, index) => String(index).repeat(199)).join('/');

/** Unusual names that are valid. */
const ordinaryPaths: readonly string[] = [
  'report.md',
  '..a',
  'a..',
  '.hidden',
  'a b',
  '~',
  '%2e%2e',
  '$HOME',
  '-rf',
  '*',
  'C:',
  'café/日本語/한국어.txt',
  '😀',
  'é'.repeat(100),
  'a/b/c/d/e/f/g/h',
  '__proto__',
  'constructor/prototype',
  longestPath,
];

export const conformCellFolders = (name: string, open: () => Promise<CellFolders>): void => {
  const openCell = async (): Promise<CellFolder> => (await open()).open(run, cell);

  describe(`${name} keeps files`, () => {
    test('a written file reads back unchanged', async () => {
      const workspace = await openCell();
      await workspace.write('a/b.txt', bytesOf('héllo'));
      expect(await workspace.read('a/b.txt')).toEqual({ bytes: bytesOf('héllo'), size: 6 });
    });

    test('an empty file is stored as a file', async () => {
      const workspace = await openCell();
      await workspace.write('empty', new Uint8Array());
      expect(await workspace.read('empty')).toEqual({ bytes: new Uint8Array(), size: 0 });
      expect(await workspace.list()).toEqual([{ path: 'empty', bytes: 0 }]);
    });

    test('a second write replaces the whole file', async () => {
      const workspace = await openCell();
      await workspace.write('a', bytesOf('a long first text'));
      await workspace.write('a', bytesOf('short'));
      expect(await readText(workspace, 'a')).toBe('short');
      expect(await workspace.list()).toEqual([{ path: 'a', bytes: 5 }]);
    });

    test.each([
      [2, 3, '234'],
      [0, 4, '0123'],
      [8, 100, '89'],
      [10, 1, ''],
      [99, 1, ''],
      [-5, 2, '01'],
      [4, -1, ''],
      [4, 0, ''],
      [3, undefined, '3456789'],
      [undefined, 2, '01'],
      [1.9, 1.9, '1'],
      [Number.NaN, Number.NaN, ''],
      [0, Infinity, '0123456789'],
      [-Infinity, Infinity, '0123456789'],
      [Infinity, Infinity, ''],
    ])('from ten bytes, the slice at %s of length %s is %j', async (from, length, slice) => {
      const workspace = await openCell();
      await workspace.write('digits', bytesOf('0123456789'));
      const read = await workspace.read('digits', from, length);
      expect({ text: textOf(read.bytes), size: read.size }).toEqual({ text: slice, size: 10 });
    });

    test('files are listed in code-unit order, whatever the order of writing', async () => {
      const workspace = await openCell();
      const paths = ['b', 'a/z', 'Z', 'a.txt', 'é', 'a-b', '日', 'a/B', '10', '9', '\u{10000}', '\uffe5'];
      for (const path of paths) await workspace.write(path, bytesOf(path));
      const listed = await workspace.list();
      expect(listed.map(({ path }) => path)).toEqual([
        '10',
        '9',
        'Z',
        'a-b',
        'a.txt',
        'a/B',
        'a/z',
        'b',
        'é',
        '日',
        '\u{10000}',
        '\uffe5',
      ]);
    });

    test('a new cell has no files', async () => {
      const workspace = await openCell();
      expect(await workspace.list()).toEqual([]);
      expect((await failureOf(workspace.read('a'))).code).toBe('file_missing');
    });

    test('a missing file or folder is reported as missing, and the detail names it', async () => {
      const workspace = await openCell();
      await workspace.write('a/b', bytesOf('x'));
      const missing = await failureOf(workspace.read('a/c'));
      expect(missing.failure).toEqual({ code: 'file_missing', detail: '"a/c" does not exist.' });
      expect((await failureOf(workspace.read('c/d'))).code).toBe('file_missing');
    });

    test('paths that differ only in case are different files', async () => {
      const workspace = await openCell();
      await workspace.write('Readme', bytesOf('one'));
      expect((await failureOf(workspace.read('README'))).code).toBe('file_missing');
      await workspace.write('README', bytesOf('two'));
      expect([await readText(workspace, 'Readme'), await readText(workspace, 'README')]).toEqual(['one', 'two']);
    });

    test.each(ordinaryPaths)('%j is an ordinary path', async (path) => {
      const workspace = await openCell();
      await workspace.write(path, bytesOf(path));
      expect(await readText(workspace, path)).toBe(path);
      expect((await workspace.list()).map((file) => file.path)).toEqual([path]);
    });

    test('bytes changed after the call do not change the file', async () => {
      const workspace = await openCell();
      const bytes = bytesOf('before');
      const written = workspace.write('a', bytes);
      bytes.fill(0);
      await written;
      const first = await workspace.read('a');
      expect(textOf(first.bytes)).toBe('before');
      first.bytes.fill(0);
      expect(await readText(workspace, 'a')).toBe('before');
    });

    test('concurrent readers see one whole version', async () => {
      const workspace = await openCell();
      const versions = ['a', 'b', 'c'].map((letter) => letter.repeat(50_000));
      await workspace.write('file', bytesOf(versions[0]!));
      const writes = Array.from({ length: 30 }, (_, i) => workspace.write('file', bytesOf(versions[i % 3]!)));
      const reads = await Promise.all(Array.from({ length: 60 }, () => readText(workspace, 'file')));
      await Promise.all(writes);
      for (const text of reads) expect(versions).toContain(text);
      expect(await workspace.list()).toEqual([{ path: 'file', bytes: 50_000 }]);
    });
  });

  describe(`${name} keeps cells apart`, () => {
    test('another cell, or the same cell of another run, has its own files', async () => {
      const workspaces = await open();
      await workspaces.open(run, cell).write('a', bytesOf('mine'));
      expect(await workspaces.open(run, 'cell-2' as CellId).list()).toEqual([]);
      expect(await workspaces.open('run-2' as RunId, cell).list()).toEqual([]);
    });

    test('reopening a cell shows its files', async () => {
      const workspaces = await open();
      await workspaces.open(run, cell).write('a', bytesOf('mine'));
      expect(await readText(workspaces.open(run, cell), 'a')).toBe('mine');
    });

    test.each(['', '.', '..', '../cell-1', 'a/b', '/etc', 'a\0', 'a\n', 'é', 'a..b', 'a'.repeat(65)])(
      'a run or a cell cannot be named %j',
      async (odd) => {
        const workspaces = await open();
        const invalid = expect.objectContaining({ code: 'name_invalid' });
        expect(() => workspaces.open(odd as RunId, cell)).toThrow(invalid);
        expect(() => workspaces.open(run, odd as CellId)).toThrow(invalid);
      },
    );
  });

  describe(`${name} refuses`, () => {
    // invariants: path-has-one-spelling, path-refusal-says-why
    test.each(hostilePaths)('%s', async (_title, path, why) => {
      const workspace = await openCell();
      const failures = [await failureOf(workspace.write(path, bytesOf('x'))), await failureOf(workspace.read(path))];
      for (const { code, failure } of failures) {
        expect(code).toBe('file_refused');
        expect(failure.detail).toMatch(why);
        expect(failure.detail).toMatch(/^[^\p{Cc}\p{Cf}\p{Cs}]{1,200}$/u);
      }
      expect(await workspace.list()).toEqual([]);
    });

    test('using a file as a folder, or a folder as a file', async () => {
      const workspace = await openCell();
      await workspace.write('a/b', bytesOf('kept'));
      for (const path of ['a', 'a/b/c', 'a/b/c/d']) {
        expect((await failureOf(workspace.write(path, bytesOf('x')))).code).toBe('file_refused');
        expect((await failureOf(workspace.read(path))).code).toBe('file_refused');
      }
      expect(await workspace.list()).toEqual([{ path: 'a/b', bytes: 4 }]);
    });
  });
};
