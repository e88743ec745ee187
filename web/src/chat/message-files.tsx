// Files that came with the message of a run: pictures are shown, others are named.
import { useEffect, useState } from 'preact/hooks';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';

type StoredFile = { readonly mediaType: string; readonly name?: string; readonly sha256?: string };
type Shown = { readonly label: string; readonly url: string | null };

export const MessageFiles = ({ store: { run, view, version } }: { readonly store: RunStore }) => {
  void version.value;
  const [files, setFiles] = useState<readonly Shown[]>([]);
  const hasFiles = view.crossings.some(({ kind, from }) => kind === 'attachment' && from === 'outside');
  useEffect(() => {
    if (!hasFiles) return undefined;
    let urls: readonly Shown[] = [];
    let isWanted = true;
    const read = async (): Promise<void> => {
      urls = await readFiles(run);
      if (isWanted) setFiles(urls);
      else release(urls);
    };
    read().catch(() => undefined);
    return () => {
      isWanted = false;
      release(urls);
    };
  }, [run, hasFiles]);
  if (files.length === 0) return null;
  return (
    <span class="message-files">
      {files.map(({ label, url }) =>
        url === null ? (
          <span class="composer-chip">{label}</span>
        ) : (
          <img key={url} src={url} alt={label} title={label} />
        ),
      )}
    </span>
  );
};

const release = (files: readonly Shown[]): void => {
  for (const { url } of files) if (url !== null) URL.revokeObjectURL(url);
};

/** By their bytes: an address with the token in it would be kept in the history. */
const readFiles = async (run: string): Promise<readonly Shown[]> => {
  const path = `/runs/${encodeURIComponent(run)}`;
  const { messages } = await source.value.get<{
    messages: readonly { readonly attachments?: readonly StoredFile[] }[];
  }>(`${path}/messages`);
  const stored = messages.flatMap(({ attachments = [] }) => attachments);
  return Promise.all(
    stored.map(async ({ mediaType, name, sha256 }): Promise<Shown> => {
      const label = name ?? mediaType;
      if (sha256 === undefined || !/^image\/(?:png|jpeg|gif|webp)$/u.test(mediaType)) return { label, url: null };
      const bytes = await source.value.bytes(`${path}/attachments/${encodeURIComponent(sha256)}`).catch(() => null);
      return { label, url: bytes === null ? null : URL.createObjectURL(new Blob([bytes], { type: mediaType })) };
    }),
  );
};
