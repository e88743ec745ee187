// A request that needs no socket.
export const postRequest = (path: string, token: string, body: unknown, signal?: AbortSignal): Request =>
  new Request(`http://127.0.0.1${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, host: '127.0.0.1', 'content-type': 'application/json' },
    ...(signal === undefined ? {} : { signal }),
  });

export const getRequest = (path: string, token: string): Request =>
  new Request(`http://127.0.0.1${path}`, { headers: { authorization: `Bearer ${token}`, host: '127.0.0.1' } });
