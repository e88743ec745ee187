// Whom one chats with and in which conversation, in the header: both can be changed there.
import { address, go } from '../address.ts';
import { agents, run } from '../state.ts';
import { beginsConversation, conversations, shownAgent, shownConversation } from './context.ts';

export const ChatCrumbs = () => {
  const agent = shownAgent.value;
  const id = address.value.run;
  if (agent === null) return null;
  return (
    <div class="crumbs">
      <span class="crumb-part">
        <AgentCrumb agent={agent} />
      </span>
      {isKeptFile || agents.value.length === 0 ? null : (
        <span class="crumb-part">
          <ConversationCrumb agent={agent} />
        </span>
      )}
      {id === undefined ? null : (
        <span class="crumb-part crumb-run">
          <code title={id}>{id.slice(0, 8)}</code>
        </span>
      )}
    </div>
  );
};

const AgentCrumb = ({ agent }: { readonly agent: string }) => {
  const known = agents.value;
  if (known.length === 0 || (known.length === 1 && known[0]!.name === agent)) return <strong>{agent}</strong>;
  return (
    <select
      class="crumb-select is-agent"
      aria-label="Agent"
      value={agent}
      onChange={({ currentTarget }) => go({ page: 'chat', agent: currentTarget.value })}
    >
      {known.some(({ name }) => name === agent) ? null : <option>{agent}</option>}
      {known.map(({ name, team }) => (
        <option key={name} value={name}>
          {team === true ? `${name} (team)` : name}
        </option>
      ))}
    </select>
  );
};

const newOne = '\u{0}new';
const none = '\u{0}none';

const ConversationCrumb = ({ agent }: { readonly agent: string }) => {
  const shown = shownConversation.value;
  const isAlone = shown === null && (run.value?.facts.value != null || !beginsConversation.value);
  const choose = (value: string): void => {
    beginsConversation.value = value !== none;
    go({ page: 'chat', agent, ...(value === newOne || value === none ? {} : { conversation: value }) });
  };
  const names = (conversations.value ?? []).map(({ name }) => name);
  return (
    <select
      class="crumb-select"
      aria-label="Conversation"
      value={shown ?? (isAlone ? none : newOne)}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      <option value={newOne}>New conversation</option>
      <option value={none}>No conversation</option>
      {shown === null || names.includes(shown) ? null : <option value={shown}>{shown}</option>}
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
};
