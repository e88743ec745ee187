// The page of somebody else, with `useChat` as its documentation shows it. The address of the server is in the fragment.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createElement as h, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';

const { api, token, resumable, resume } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

const ToolPart = ({ part, answer }) =>
  h(
    'div',
    { className: 'tool', 'data-state': part.state },
    h('b', null, part.title ?? part.toolName),
    ` ${part.state}`,
    part.state === 'approval-requested' &&
      h(
        'span',
        null,
        h('button', { onClick: () => answer({ id: part.approval.id, approved: true }) }, 'Allow'),
        h('button', { onClick: () => answer({ id: part.approval.id, approved: false, reason: 'Not now.' }) }, 'Deny'),
      ),
    Array.isArray(part.output?.parts) && h(Message, { message: part.output, answer }),
  );

const Message = ({ message, answer }) =>
  h(
    'div',
    { className: message.role },
    message.parts.map((part, index) => {
      if (part.type === 'text') return h('p', { key: index }, part.text);
      if (part.type === 'dynamic-tool') return h(ToolPart, { key: index, part, answer });
      return null;
    }),
  );

const Chat = () => {
  const [text, setText] = useState('');
  const transport = useMemo(
    () =>
      new DefaultChatTransport({
        api,
        headers: { authorization: `Bearer ${token}` },
        body: resumable === undefined ? {} : { resumable: true },
      }),
    [],
  );
  const { messages, sendMessage, status, stop, error, addToolApprovalResponse, regenerate } = useChat({
    id: 'in-a-browser',
    transport,
    resume: resume !== undefined,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const send = (event) => {
    event.preventDefault();
    void sendMessage({ text });
    setText('');
  };
  return h(
    'main',
    null,
    messages.map((message) => h(Message, { key: message.id, message, answer: addToolApprovalResponse })),
    error && h('p', { role: 'alert' }, error.message),
    h('p', { id: 'status' }, status),
    h(
      'form',
      { onSubmit: send },
      h('input', { 'aria-label': 'Message', value: text, onChange: (event) => setText(event.target.value) }),
    ),
    h('button', { onClick: () => void stop() }, 'Stop'),
    h('button', { onClick: () => void regenerate() }, 'Again'),
  );
};

createRoot(document.querySelector('#root')).render(h(Chat));
