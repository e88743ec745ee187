// Everything but the chat: one file, loaded when the first of them is shown.
export { Agents } from './agents/agents.tsx';
export { Audit } from './panes/audit.tsx';
export { Inspector } from './xray/inspector.tsx';
export { Mail } from './panes/mail.tsx';
export { QuestionCard } from './questions/question-card.tsx';
export { Questions } from './questions/questions.tsx';
export { Rooms } from './rooms/rooms.tsx';
export { Runs } from './runs/runs.tsx';
export { Summary } from './panes/summary.tsx';
export { Tasks } from './panes/tasks.tsx';
export { TranscriptPane } from './panes/transcript.tsx';
export { Tree } from './panes/tree.tsx';
export { WhatIf } from './what-if/what-if.tsx';
export { Windows } from './panes/windows.tsx';
export { XrayPage } from './xray/xray-page.tsx';
