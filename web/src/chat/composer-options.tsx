// What a message can have besides its text: files, and that its agent stays for more.
import { useRef } from 'preact/hooks';

/** As the server takes it: `data` is a `data:` URL. */
export type ChosenFile = { readonly name: string; readonly mediaType: string; readonly data: string };

export const readFiles = (files: readonly File[]): Promise<readonly ChosenFile[]> => Promise.all(files.map(readFile));

const readFile = async (file: File): Promise<ChosenFile> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener('load', () => resolve(reader.result as string));
  reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)));
  reader.readAsDataURL(file);
  return { name: file.name, mediaType: file.type === '' ? 'text/plain' : file.type, data: await promise };
};

type MoreOptionsProps = {
  readonly stays: boolean;
  readonly onStays: (stays: boolean) => void;
  readonly onFiles: (files: readonly ChosenFile[]) => void;
};

export const MoreOptions = ({ stays, onStays, onFiles }: MoreOptionsProps) => {
  const box = useRef<HTMLDetailsElement>(null);
  const choose = async ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): Promise<void> => {
    const chosen = await readFiles([...(currentTarget.files ?? [])]);
    currentTarget.value = '';
    box.current!.open = false;
    onFiles(chosen);
  };
  return (
    <details
      ref={box}
      class="composer-more"
      onKeyDown={(event) => {
        if (event.key === 'Escape') box.current!.open = false;
      }}
    >
      <summary class="composer-chip" aria-label="More options" title="More options">
        {stays ? 'Stays' : '+'}
      </summary>
      <div class="composer-menu">
        <label class="button small">
          Attach files…
          <input
            class="unseen"
            type="file"
            multiple
            accept="image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*"
            onChange={(event) => void choose(event)}
          />
        </label>
        <label>
          <input type="checkbox" checked={stays} onChange={() => onStays(!stays)} /> Keep it running for more messages
        </label>
      </div>
    </details>
  );
};
