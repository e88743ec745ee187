// A reader of server-sent events, written only from the specification (WHATWG HTML, "Parsing an event stream").

export type ReadEvent = { readonly type: string; readonly data: string; readonly lastEventId: string };

export const parseEvents = (bytes: Uint8Array): readonly ReadEvent[] => {
  // UTF-8 decode: one byte order mark at the start is removed, and invalid UTF-8 is replaced.
  const text = new TextDecoder('utf-8').decode(bytes);
  const events: ReadEvent[] = [];
  let [data, type, id, lastEventId] = ['', '', '', ''];
  const dispatch = (): void => {
    lastEventId = id;
    if (data !== '') events.push({ type: type === '' ? 'message' : type, data: data.slice(0, -1), lastEventId });
    [data, type] = ['', ''];
  };
  // An unterminated line is ignored, and so is an event without an empty line after it.
  const lines = text.split(/\r\n|\n|\r/u).slice(0, -1);
  for (const line of lines) {
    if (line === '') {
      dispatch();
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    const value = rest.startsWith(' ') ? rest.slice(1) : rest;
    if (field === 'event') type = value;
    else if (field === 'data') data += `${value}\n`;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
  return events;
};
